"""Raw PCM as the wire protocols carry it, and resampling to a protocol's rate."""

import hashlib
from dataclasses import replace

import numpy as np
import soxr

from s2s_assets.audio.clip import Clip, Samples

_HASHED_AT_ONCE = 1 << 14


def pcm16(samples: Samples) -> bytes:
    """Interleaved little-endian 16-bit PCM; rounded, samples beyond full scale held at the largest code."""
    codes = samples * 2**15
    np.rint(codes, out=codes)
    return np.clip(codes, -(2**15), 2**15 - 1, out=codes).astype("<i2").tobytes()


def from_pcm16(data: bytes, rate_hz: int, channels: int = 1) -> Clip:
    """Read interleaved little-endian 16-bit PCM.

    A last frame that is not whole is left out, with the warning `partial_frame`.
    """
    whole = len(data) - len(data) % (2 * channels)
    samples = np.frombuffer(data[:whole], dtype="<i2").astype(np.float64).reshape(-1, channels) / 2**15
    return Clip(samples, rate_hz, ("partial_frame",) if whole < len(data) else ())


def pcm16_sha256(data: bytes) -> str:
    """`pcm_sha256` of one channel of whole 16-bit samples, sooner: floats are made of a few samples at a time."""
    codes, digest = np.frombuffer(data, dtype="<i2"), hashlib.sha256()
    for start in range(0, len(codes), _HASHED_AT_ONCE):
        digest.update((codes[start : start + _HASHED_AT_ONCE] / 2.0**15).astype("<f8", copy=False).data)
    return digest.hexdigest()


def resample(clip: Clip, rate_hz: int) -> Clip:
    """The clip at another rate (soxr, very high quality); the clip itself where the rate is already right.

    Band-limited interpolation may overshoot ±1 by a little where the source touches it.
    """
    if clip.rate_hz == rate_hz:
        return clip
    samples = soxr.resample(clip.samples, clip.rate_hz, rate_hz, quality="VHQ")
    return replace(clip, samples=np.asarray(samples, dtype=np.float64).reshape(-1, clip.channels), rate_hz=rate_hz)
