"""Raw PCM as the wire protocols carry it, and resampling to a protocol's rate."""

from dataclasses import replace

import numpy as np
import soxr

from s2s_assets.audio.clip import Clip, Samples


def pcm16(samples: Samples) -> bytes:
    """Interleaved little-endian 16-bit PCM; rounded, samples beyond full scale held at the largest code."""
    return np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype("<i2").tobytes()


def from_pcm16(data: bytes, rate_hz: int, channels: int = 1) -> Clip:
    """Read interleaved little-endian 16-bit PCM.

    A last frame that is not whole is left out, with the warning `partial_frame`.
    """
    whole = len(data) - len(data) % (2 * channels)
    samples = np.frombuffer(data[:whole], dtype="<i2").astype(np.float64).reshape(-1, channels) / 2**15
    return Clip(samples, rate_hz, ("partial_frame",) if whole < len(data) else ())


def resample(clip: Clip, rate_hz: int) -> Clip:
    """The clip at another rate (soxr, very high quality); the clip itself where the rate is already right.

    Band-limited interpolation may overshoot ±1 by a little where the source touches it.
    """
    if clip.rate_hz == rate_hz:
        return clip
    samples = soxr.resample(clip.samples, clip.rate_hz, rate_hz, quality="VHQ")
    return replace(clip, samples=np.asarray(samples, dtype=np.float64).reshape(-1, clip.channels), rate_hz=rate_hz)
