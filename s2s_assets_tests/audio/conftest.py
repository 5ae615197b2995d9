"""Signals whose measures are known, and WAV files whose headers can be made to lie."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Signal = Callable[..., np.ndarray]


def _tone(
    level_db: float, seconds: float, rate_hz: int = 24000, hz: float = 1000.0, degrees: float = 0.0
) -> np.ndarray:
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    return (10 ** (level_db / 20) * np.sin(2 * np.pi * hz * at + np.deg2rad(degrees)))[:, None]


def _babble(seconds: float, rate_hz: int = 24000, seed: int = 1, level_db: float = -26.0) -> np.ndarray:
    """Speech-like: harmonics of a gliding pitch, in syllables."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    phase = 2 * np.pi * np.cumsum(130 + 30 * np.sin(2 * np.pi * 0.7 * at + seed)) / rate_hz
    voiced = sum(np.sin(k * phase + seed * k * k) / k for k in range(1, 18))
    x = voiced * np.clip(np.sin(2 * np.pi * 2.1 * at + seed), 0.02, 1)
    return (x * 10 ** (level_db / 20) / np.sqrt(np.square(x).mean()))[:, None]


def _wav(
    samples: np.ndarray,
    rate_hz: int = 24000,
    bits: int = 16,
    *,
    floats: bool = False,
    extensible: bool = False,
    size: int | None = None,
    claimed_rate_hz: int | None = None,
    tail: bytes = b"",
) -> bytes:
    """A WAV file; `size` and `claimed_rate_hz` are what its header says in place of the truth."""
    if floats:
        payload = samples.astype(f"<f{bits // 8}").tobytes()
    else:
        codes = np.clip(np.rint(samples * 2 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1).astype("<i4")
        if bits == 8:
            codes = codes + 128
        payload = np.ascontiguousarray(codes.reshape(-1, 1)).view("u1")[:, : bits // 8].tobytes()
    channels, width, tag = samples.shape[1], bits // 8, 3 if floats else 1
    rate = rate_hz if claimed_rate_hz is None else claimed_rate_hz
    kind = 0xFFFE if extensible else tag
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * channels * width, channels * width, bits)
    if extensible:
        guid = b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71"
        form += struct.pack("<HHIH14s", 22, bits, 0, tag, guid)
    claimed = len(payload) if size is None else size
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", claimed) + payload + tail
    return b"RIFF" + struct.pack("<I", len(body) if size is None else min(size + 36, 0xFFFFFFFF)) + body


@pytest.fixture(scope="session")
def tone() -> Signal:
    """Makes a sine of a peak level in dBFS, shape (frames, 1)."""
    return _tone


@pytest.fixture(scope="session")
def babble() -> Signal:
    """Makes a speech-like signal of an RMS level in dBFS, shape (frames, 1)."""
    return _babble


@pytest.fixture(scope="session")
def wav() -> Callable[..., bytes]:
    """Makes a WAV file of samples of shape (frames, channels)."""
    return _wav


@pytest.fixture(scope="session")
def speech() -> Path:
    """Folder of human speech."""
    return Path(__file__).parent.parent / "data" / "speech"
