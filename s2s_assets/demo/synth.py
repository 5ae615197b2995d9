"""Synthesis for the demo: eSpeak NG through ctypes, from the library and data of the `espeakng-loader` wheel.

eSpeak NG is GPL-3: this module loads the library only while `synthesize` runs, and `Synthesizer` runs that in a process
of its own. The same words in the same voice give the same samples, in every process.
"""

import _ctypes
import asyncio
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import espeakng_loader
import numpy as np
import soxr
from numpy.typing import NDArray

from s2s_assets.demo.answers import RATE_HZ
from s2s_assets.demo.workers import one_process

Samples = NDArray[np.float64]
"""Mono samples at 24 kHz, full scale ±1, shape (frames,)."""

# From espeak_ng's speak_lib.h.
_OUTPUT_SYNCHRONOUS, _POSITION_CHARACTER, _CHARS_UTF8 = 2, 1, 1
_RATE, _VOLUME, _PITCH, _RANGE = 1, 2, 3, 4
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_VOLUME_PERCENT = 70


@dataclass(frozen=True)
class Speaker:
    """A voice and how it speaks."""

    variant: str
    """Name of an eSpeak NG voice variant."""
    words_per_minute: int = 165
    pitch: int = 50
    """0 to 99; 50 is the variant's own."""
    pitch_range: int = 50
    """0 (one flat pitch) to 99."""


class Synthesizer:
    """Speech, made in a process of its own."""

    def __init__(self) -> None:
        self._pool = one_process()

    async def speak(self, text: str, speaker: Speaker) -> Samples:
        """Speech of a text."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, synthesize, text, speaker)

    def warm_up(self) -> None:
        """Start the engine's process and load its library, without waiting for it."""
        self._pool.submit(synthesize, "ready", Speaker("Annie"))

    def close(self) -> None:
        """Stop the engine's process."""
        self._pool.shutdown(cancel_futures=True)


def synthesize(text: str, speaker: Speaker) -> Samples:
    """Speak a text in this process.

    Raises:
        ValueError: there is no such voice.
    """
    data = Path(espeakng_loader.get_data_path())
    # The library itself answers an unknown variant with the plain voice and no error.
    if not (data / "voices" / "!v" / speaker.variant).is_file():
        raise ValueError(f"eSpeak NG has no voice variant {speaker.variant!r}")
    with _library() as library:
        rate_hz = int(library.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, str(data).encode(), 0))
        if rate_hz <= 0:
            raise ValueError(f"eSpeak NG does not start from {data}: error {rate_hz}")
        _set_speaker(library, speaker)
        samples = np.frombuffer(_spoken(library, text), "<i2") / 32768.0
    return np.asarray(soxr.resample(samples, rate_hz, RATE_HZ), dtype=np.float64)


@contextmanager
def _library() -> Iterator[ctypes.CDLL]:
    # Loaded anew for each text: flutter and noise go on from where the last text left them, even after a restart of the
    # engine, and the same words would never sound the same. It takes 3 ms.
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    library.espeak_Synth.argtypes = [
        *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int),
        *(ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p),
    ]
    try:
        yield library
    finally:
        library.espeak_Terminate()
        _ctypes.dlclose(library._handle)  # noqa: SLF001 - ctypes has no public way to unload


def _set_speaker(library: ctypes.CDLL, speaker: Speaker) -> None:
    library.espeak_SetVoiceByName(f"en-us+{speaker.variant}".encode())
    for parameter, value in (
        (_RATE, speaker.words_per_minute),
        (_VOLUME, _VOLUME_PERCENT),
        (_PITCH, speaker.pitch),
        (_RANGE, speaker.pitch_range),
    ):
        library.espeak_SetParameter(parameter, value, 0)


def _spoken(library: ctypes.CDLL, text: str) -> bytes:
    chunks: list[bytes] = []

    def collect(wave: int | None, frames: int, _: int | None) -> int:
        if wave and frames > 0:
            chunks.append(ctypes.string_at(wave, 2 * frames))
        return 0

    callback = _CALLBACK(collect)
    library.espeak_SetSynthCallback(callback)
    words = text.encode()
    library.espeak_Synth(words, len(words) + 1, 0, _POSITION_CHARACTER, 0, _CHARS_UTF8, None, None)
    library.espeak_Synchronize()
    return b"".join(chunks)
