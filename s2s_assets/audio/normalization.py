"""Loudness normalization: trim the silent ends, apply one gain, round to 24 bits. Nothing else is done to the audio.

    y[n] = round₂₄(g · x[n + start]),    g = 10^(G/20),    G = min(target - L, ceiling - P),

L the integrated loudness in LUFS and P the true peak in dBTP of the trimmed part. Where the ceiling decides, the clip
stays softer than the target and says `ceiling_limited`. L depends a little on the gain, because a block that was below
the absolute gate of -70 LUFS may be above it afterwards; so G is refined until the loudness of the scaled blocks is the
target. The result is measured again from the rounded samples.
"""

from dataclasses import dataclass, replace

import numpy as np

from s2s_assets.audio.clip import Clip
from s2s_assets.audio.encoding import quantize
from s2s_assets.audio.levels import decibels
from s2s_assets.audio.loudness import block_powers, gated_loudness
from s2s_assets.audio.measures import Measures, measure
from s2s_assets.audio.trim import kept_part
from s2s_assets.audio.true_peak import true_peak
from s2s_assets.study import AudioError, Floats

METHOD_VERSION = "normalize-1"
"""Changes whenever the same recording would come out as other samples."""
CEILING_LIMITED = "ceiling_limited"
_TOLERANCE_DB = 1e-6
_REFINEMENTS = 10


@dataclass(frozen=True)
class Normalized:
    """A normalized clip and what was done to get it."""

    clip: Clip
    """Samples exactly as a 24-bit file holds them."""
    gain_db: float
    trimmed_start_s: float
    trimmed_end_s: float
    before: Measures
    after: Measures
    warnings: tuple[str, ...]


def normalize(clip: Clip, target_lufs: float = -23.0, ceiling_dbtp: float = -1.0, trim: bool = True) -> Normalized:
    """Trim and scale a clip to a loudness under a true-peak ceiling.

    Args:
        clip: Recording or response of any rate and 1 to 5 channels.
        target_lufs: Integrated loudness aimed at.
        ceiling_dbtp: True peak that is never exceeded.
        trim: Whether silence beyond 0.2 s at each end is cut off.

    Raises:
        AudioError: what cannot be measured; see `measure`.
    """
    before = measure(clip)
    kept = kept_part(clip.samples, clip.rate_hz) if trim else slice(0, len(clip.samples))
    part = clip.samples[kept]
    loudness_gain_db = _gain_to(block_powers(part, clip.rate_hz), target_lufs)
    ceiling_gain_db = ceiling_dbtp - decibels(true_peak(part) ** 2)
    limited = loudness_gain_db > ceiling_gain_db + _TOLERANCE_DB
    gain_db = min(loudness_gain_db, ceiling_gain_db)
    result = replace(clip, samples=quantize(part * 10 ** (gain_db / 20)), warnings=())
    return Normalized(
        clip=result,
        gain_db=gain_db,
        trimmed_start_s=kept.start / clip.rate_hz,
        trimmed_end_s=(len(clip.samples) - kept.stop) / clip.rate_hz,
        before=before,
        after=_measure_result(result),
        warnings=before.warnings + ((CEILING_LIMITED,) if limited else ()),
    )


def _gain_to(powers: Floats, target_lufs: float) -> float:
    """Gain in dB that brings blocks of these powers to a loudness, the absolute gate taken into account."""
    found = gated_loudness(powers)
    if found is None:
        raise AudioError("too quiet once its silent ends are trimmed")
    gain_db, tried = target_lufs - found, []
    for _ in range(_REFINEMENTS):
        loudness = gated_loudness(powers * 10 ** (gain_db / 10))
        error_db = target_lufs - loudness if loudness is not None else np.inf
        tried.append((abs(error_db), gain_db))
        if not _TOLERANCE_DB < abs(error_db) < np.inf:
            break
        gain_db += error_db
    return min(tried)[1]


def _measure_result(clip: Clip) -> Measures:
    try:
        return measure(clip)
    except AudioError as error:
        raise AudioError(f"cannot be brought near the target under this ceiling: the result is {error}") from error
