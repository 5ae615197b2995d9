"""Levels over frames of 10 ms: silence at the ends, noise floor, level of the active part.

A frame's power is its variance (the mean is removed, so a constant offset is silence), of the loudest channel. Levels
are in dBFS: 10 log10 of the power, where a full-scale sine has -3.01.

*Silence*: frames below -50 dBFS, counted in from each end, the trailing ones from the very last sample. A *pause* is such
frames between two louder ones.
*Noise floor*: the 5th percentile of the frames, digital silence (no variance at all) left out. Closely trimmed speech has
little more than a twentieth of pauses, so a higher percentile would read speech; a clip without pauses gives the level of
its quietest parts.
*Speech level*: the mean power of the active frames. As in ITU-T P.56 method B a frame is active if it is less than
15.9 dB below the level of the active ones; of the sets of loudest frames that fulfil this the largest is taken. P.56's
smoothed envelope and hangover are left out: short gaps between words do not count as active here.
"""

import numpy as np

from s2s_assets.audio.clip import Samples
from s2s_assets.study import Floats

FRAME_MS = 10
SILENCE_DBFS = -50.0
NOISE_PERCENTILE = 5.0
ACTIVE_MARGIN_DB = 15.9


def decibels(power: float) -> float:
    """10 log10 of a positive power."""
    return float(10 * np.log10(power))


def frame_powers(samples: Samples, rate_hz: int) -> Floats:
    """Power of every whole 10 ms frame from the start, of its loudest channel; shape (frames of 10 ms,)."""
    length = _frame_length(rate_hz)
    count = len(samples) // length
    frames = samples[: count * length].reshape(count, length, samples.shape[1])
    return np.asarray(frames.var(axis=1).max(axis=1), dtype=np.float64)


def loudest_frame_dbfs(samples: Samples, rate_hz: int) -> float:
    """Level of the loudest 10 ms of a clip (of the whole, where it is shorter); -inf for digital silence."""
    shorter = len(samples) < _frame_length(rate_hz)
    loudest = float((samples.var(axis=0) if shorter else frame_powers(samples, rate_hz)).max())
    return decibels(loudest) if loudest > 0 else float("-inf")


def silent_ends(samples: Samples, rate_hz: int) -> tuple[int, int]:
    """Samples of silence at the start and at the end; both are the whole length where nothing is louder."""
    ends = []
    for direction in (1, -1):
        loud = np.flatnonzero(frame_powers(samples[::direction], rate_hz) >= 10 ** (SILENCE_DBFS / 10))
        ends.append(int(loud[0]) * _frame_length(rate_hz) if len(loud) else len(samples))
    return ends[0], ends[1]


def longest_pause_s(samples: Samples, rate_hz: int) -> float:
    """Longest run of silent frames between two louder ones, in seconds; 0 where there is none."""
    loud = np.flatnonzero(frame_powers(samples, rate_hz) >= 10 ** (SILENCE_DBFS / 10))
    longest = int(np.diff(loud).max()) - 1 if len(loud) > 1 else 0
    return longest * _frame_length(rate_hz) / rate_hz


def noise_floor_dbfs(powers: Floats) -> float | None:
    """Noise floor of a clip with these frame powers; None where all is digital silence."""
    sounding = powers[powers > 0]
    return decibels(float(np.percentile(sounding, NOISE_PERCENTILE))) if len(sounding) else None


def speech_level_dbfs(powers: Floats) -> float | None:
    """Level of the active part of a clip with these frame powers; None where all is digital silence."""
    loudest_first = np.sort(powers[powers > 0])[::-1]
    if not len(loudest_first):
        return None
    mean = np.cumsum(loudest_first) / np.arange(1, len(loudest_first) + 1)
    active = np.flatnonzero(mean <= loudest_first * 10 ** (ACTIVE_MARGIN_DB / 10))
    return decibels(float(mean[active[-1]]))


def _frame_length(rate_hz: int) -> int:
    return max(1, round(rate_hz * FRAME_MS / 1000))
