"""Recognition for the demo: PocketSphinx with the English model that its wheel brings.

It takes about a tenth of real time on a present-day core and up to half on an old one, and every system under test hears
the same prompts. So each prompt is recognised once: the text is kept under the hash of the PCM, in memory and on disk.
A real recogniser with real mistakes: about a quarter of the words of a telephone-like recording are wrong.
"""

import asyncio
import functools
from pathlib import Path

import numpy as np
import soxr
from pocketsphinx import Decoder

from s2s_assets.demo.answers import RATE_HZ
from s2s_assets.demo.workers import one_process
from s2s_assets.study import sha256_hex

MODEL_RATE_HZ = 16_000


class Recognizer:
    """Text of speech, each prompt recognised once."""

    def __init__(self, cache: Path) -> None:
        """`cache`: folder for the texts, made when it is needed."""
        self.recognised = 0
        """Prompts that went through the engine; the others came from the cache."""
        self._cache = cache
        self._pool = one_process()
        self._texts: dict[str, asyncio.Task[str]] = {}

    async def text_of(self, pcm: bytes) -> str:
        """Words of s16le mono speech at 24 kHz, lower case without punctuation; empty where none was heard."""
        key = sha256_hex(pcm)
        if key not in self._texts:
            self._texts[key] = asyncio.create_task(self._text(key, pcm))
        return await self._texts[key]

    def warm_up(self) -> None:
        """Start the engine's process and load its model, without waiting for it."""
        self._pool.submit(_decoder)

    def close(self) -> None:
        """Stop the engine's process."""
        self._pool.shutdown(cancel_futures=True)

    async def _text(self, key: str, pcm: bytes) -> str:
        path = self._cache / f"{key}.txt"
        if path.is_file():
            return path.read_text(encoding="utf-8")
        self.recognised += 1
        text = await asyncio.get_running_loop().run_in_executor(self._pool, recognize, pcm)
        self._cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
        return text


def recognize(pcm: bytes) -> str:
    """Recognise s16le mono speech at 24 kHz in this process."""
    heard = np.frombuffer(pcm, "<i2")
    if not len(heard):
        return ""
    decoder = _decoder()
    # Means and noise levels would go on from the prompt before, and the text would depend on the order of the prompts.
    decoder.reinit_feat()
    decoder.start_utt()
    decoder.process_raw(soxr.resample(heard, RATE_HZ, MODEL_RATE_HZ).tobytes(), full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return str(best.hypstr) if best else ""


@functools.cache
def _decoder() -> Decoder:
    # Half the frames scored and fewer hypotheses: twice as fast, about as many words right.
    return Decoder(samprate=MODEL_RATE_HZ, loglevel="FATAL", ds=2, maxhmmpf=3000, maxwpf=5, pl_window=5)
