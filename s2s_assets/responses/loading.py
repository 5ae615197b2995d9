"""A prompt's samples at a protocol's rate, resampled once on this machine.

What a collection sends is kept by content below `HOME/prompts/RATE`: the hash of the samples, then the samples. A file
whose hash does not hold, such as one that a power cut has emptied, is made anew.
"""

import hashlib
import os
from pathlib import Path

from s2s_assets.audio import decode
from s2s_assets.responses.records import Prompt
from s2s_assets.responses.table import Wanted
from s2s_assets.storage import StudyStore

_HASH_BYTES = 32


class PromptCache:
    """Prompts of one store at one rate; safe to use from many threads and processes.

    Args:
        home: state folder of this machine.
        store: where the normalized audio is.
        rate_hz: the protocol's rate.
    """

    def __init__(self, home: Path, store: StudyStore, rate_hz: int) -> None:
        self._store = store
        self._rate_hz = rate_hz
        self._folder = home / "prompts" / str(rate_hz)
        self._folder.mkdir(parents=True, exist_ok=True)

    def load(self, want: Wanted) -> Prompt:
        """The prompt's normalized audio as one channel of 16-bit samples.

        Raises:
            StoreError: the audio is not in the store.
        """
        path = self._folder / f"{want.audio_blob.partition('.')[0]}.pcm"
        kept = self._kept(path)
        if kept is not None:
            return kept
        prompt = Prompt.of(decode(self._store.get_blob(want.audio_blob), want.prompt), self._rate_hz)
        scratch = path.with_suffix(f".{os.getpid()}-{id(prompt)}")
        scratch.write_bytes(hashlib.sha256(prompt.pcm).digest() + prompt.pcm)
        scratch.replace(path)
        return prompt

    def _kept(self, path: Path) -> Prompt | None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        pcm = data[_HASH_BYTES:]
        return Prompt(pcm, self._rate_hz) if hashlib.sha256(pcm).digest() == data[:_HASH_BYTES] else None
