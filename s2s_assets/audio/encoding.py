"""Samples to files: PCM of 16 or 24 bits in FLAC or WAV, the same bytes every time."""

from typing import Literal

import numpy as np
import numpy.typing as npt
import soundfile as sf

from s2s_assets.audio.clip import Clip, Samples
from s2s_assets.audio.unnamed import unnamed_file

Container = Literal["flac", "wav"]
Codes = npt.NDArray[np.int16] | npt.NDArray[np.int32]


def quantize(samples: Samples, bits: int = 24) -> Samples:
    """Round to the nearest code of `bits` bits, no dither; what lies beyond the largest code is held there.

    Decoding an encoded clip gives exactly these values.
    """
    top = 2 ** (bits - 1)
    return np.asarray(np.clip(np.rint(samples * top), -top, top - 1) / top, dtype=np.float64)


def encode(clip: Clip, container: Container, bits: int = 24) -> bytes:
    """A FLAC or WAV file of the clip with its own rate and channels, 16 or 24 bits; nothing of time or place in it."""
    codes = (quantize(clip.samples, bits) * 2**31).astype(np.int32)
    return _written(codes, clip.rate_hz, container, bits)


def encode_flac_pcm16(data: bytes, rate_hz: int) -> bytes:
    """The FLAC file of one channel of little-endian 16-bit PCM: the bytes that `encode_flac` makes of it, sooner."""
    return _written(np.frombuffer(data, "<i2"), rate_hz, "flac", 16)


def encode_flac(clip: Clip, bits: int = 24) -> bytes:
    """A FLAC file of the clip; see `encode`."""
    return encode(clip, "flac", bits)


def _written(codes: Codes, rate_hz: int, container: Container, bits: int) -> bytes:
    with unnamed_file() as file:
        sf.write(file.fileno(), codes, rate_hz, format=container.upper(), subtype=f"PCM_{bits}", closefd=False)
        file.seek(0)
        return file.read()
