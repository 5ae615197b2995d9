"""Sounds of the two checks before the tasks, made here: counting tones, and which of three tones is quietest.

**Sound.** Two to five tones; who counts them right hears them.

**Headphones** (Woods et al. 2017, stimuli of our own). Three tones of 200 Hz, 0.8 s each: one as it is, one 6 dB
quieter, one with its right channel in antiphase. With headphones the quieter one is the quietest. Over loudspeakers the
antiphase tone cancels in the air and seems quietest. A try has trials in which each place holds the quieter tone
equally often, in random order.
"""

from collections.abc import Sequence

import numpy as np

from s2s_assets.audio import Clip, encode_flac
from s2s_assets.study import Floats, generator

RATE_HZ = 24_000
TRIALS = 6
NEEDED = 5
"""Right trials that pass: by guessing one try in fifty-six does."""
TONES = (2, 3, 4, 5)
_LEVEL = 0.12
_QUIETER = 10 ** (-6 / 20)
_CHECK_HZ = 200.0
_TONE_S, _GAP_S = 0.8, 0.4
_RAMP_S = 0.05
_NOTES_HZ = (392.0, 440.0, 523.25, 587.33, 659.25)
_KINDS = ("same", "quieter", "antiphase")


def tones_due(sitting: str, attempt: int) -> int:
    """How many tones an attempt of a sitting plays."""
    return int(generator("sound check", sitting, attempt).choice(TONES))


def sound_check(tones: int) -> bytes:
    """That many tones after one another, as FLAC."""
    gap = np.zeros(round(0.3 * RATE_HZ))
    parts = [part for hz in _NOTES_HZ[:tones] for part in (_tone(hz, 0.4), gap)]
    return _stereo(np.concatenate(parts), np.concatenate(parts))


def trials_due(sitting: str, attempt: int) -> list[tuple[str, ...]]:
    """The order of the three tones in each trial of a sitting's attempt."""
    rng = generator("headphone check", sitting, attempt)
    places = rng.permutation(np.arange(TRIALS) % len(_KINDS))
    trials = []
    for place in places:
        others = [str(kind) for kind in rng.permutation(["same", "antiphase"])]
        trials.append((*others[:place], "quieter", *others[place:]))
    return trials


def right_answer(trial: Sequence[str]) -> int:
    """The place of the quietest tone by headphones, from 1."""
    return trial.index("quieter") + 1


def headphone_check(trial: Sequence[str]) -> bytes:
    """The three tones of a trial, as FLAC."""
    gap = np.zeros(round(_GAP_S * RATE_HZ))
    tone = _tone(_CHECK_HZ, _TONE_S)
    left = {"same": tone, "quieter": tone * _QUIETER, "antiphase": tone}
    right = {**left, "antiphase": -tone}
    sides = [np.concatenate([part for kind in trial for part in (side[kind], gap)]) for side in (left, right)]
    return _stereo(*sides)


def _tone(hz: float, duration_s: float) -> Floats:
    """A sine with raised-cosine ends."""
    t = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    ramp = np.clip(np.minimum(t, duration_s - t) / _RAMP_S, 0.0, 1.0)
    return np.asarray(_LEVEL * np.sin(2 * np.pi * hz * t) * (0.5 - 0.5 * np.cos(np.pi * ramp)))


def _stereo(left: Floats, right: Floats) -> bytes:
    return encode_flac(Clip(np.stack([left, right], axis=1), RATE_HZ), 16)
