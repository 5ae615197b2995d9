"""What the demo's systems do to their own speech, so that they differ in quality and not only in name.

Every function takes and returns mono samples at 24 kHz, full scale ±1, shape (frames,).
"""

import numpy as np
import soxr
from scipy.signal import butter, sosfilt

from s2s_assets.demo.answers import RATE_HZ
from s2s_assets.demo.synth import Samples

_TELEPHONE_HZ = (300.0, 3400.0)
_TELEPHONE_RATE_HZ = 8_000
_MU = 255.0
_CUT_S = 0.35
_DRIVE = 9.0
_STEPS = 24
_NOISE_DBFS = -42.0


def telephone(samples: Samples) -> Samples:
    """300 to 3400 Hz, 8 kHz, 8-bit μ-law: y = sign(x)·ln(1 + 255·|x|)/ln 256, rounded to 256 steps, and back."""
    band = butter(4, _TELEPHONE_HZ, "bandpass", fs=RATE_HZ, output="sos")
    narrow = soxr.resample(sosfilt(band, samples), RATE_HZ, _TELEPHONE_RATE_HZ)
    coded = np.round(127 * np.sign(narrow) * np.log1p(_MU * np.abs(narrow)) / np.log1p(_MU)) / 127
    heard = np.sign(coded) * np.expm1(np.abs(coded) * np.log1p(_MU)) / _MU
    return np.asarray(soxr.resample(heard, _TELEPHONE_RATE_HZ, RATE_HZ))


def cut_ending(samples: Samples) -> Samples:
    """Stops 0.35 s before the speech does."""
    loud = np.flatnonzero(np.abs(samples) > 0.02)
    end = int(loud[-1]) + 1 if len(loud) else len(samples)
    return samples[: max(end - int(_CUT_S * RATE_HZ), end // 2)]


def overdrive(samples: Samples) -> Samples:
    """Driven into saturation and rounded to 24 steps each way: harsh and grainy."""
    return np.asarray(np.round(np.tanh(_DRIVE * samples) * _STEPS) / _STEPS * 0.6)


def hiss(samples: Samples) -> Samples:
    """White noise of -42 dBFS, the same for the same length."""
    noise = np.random.default_rng(len(samples)).standard_normal(len(samples))
    return np.asarray(samples + noise * 10 ** (_NOISE_DBFS / 20))
