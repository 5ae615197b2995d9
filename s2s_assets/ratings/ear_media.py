"""What a rater's browser gets to hear: every clip in one form, whoever made it and whenever.

    stored audio → one channel → 24 kHz → (spoilt, for controls) → FLAC of 16 bits

Stored responses are alike already, but for the version of the encoder that wrote them, which tells when a response
was made and so, of a model that was added later, which. Every clip is therefore encoded anew by the same program. FLAC
plays in all browsers of the last years, holds no more than the samples, and at the loudness of speech 16 bits are beyond
hearing. Files are kept in a folder by the hash of what they are made from.

`spoilt` is a control's worse twin: 4 kHz band, 40-fold overdrive, then as loud as before. No honest pair of ears takes
it for the cleaner one.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from s2s_assets.audio import Clip, decode, encode_flac, mono, normalize, resample
from s2s_assets.storage import StudyStore
from s2s_assets.study import AudioTarget, digest

Treatment = Literal["plain", "spoilt"]
EAR_RATE_HZ = 24_000
METHOD_VERSION = "ear-1"
_NARROW_HZ = 8_000
_OVERDRIVE = 40.0
_SLACK_DB = 6.0


def for_ears(audio: bytes, name: str, treatment: Treatment, target: AudioTarget) -> bytes:
    """A stored clip as raters get it.

    Args:
        audio: A file of any known format.
        name: What messages call it.
        treatment: Whether it is spoilt on purpose.
        target: Loudness of what is spoilt.

    Raises:
        AudioError: it cannot be decoded or, to be spoilt, measured.
    """
    clip = resample(mono(decode(audio, name)), EAR_RATE_HZ)
    return encode_flac(_spoilt(clip, target) if treatment == "spoilt" else clip, 16)


def _spoilt(clip: Clip, target: AudioTarget) -> Clip:
    narrow = resample(resample(clip, _NARROW_HZ), EAR_RATE_HZ)
    driven = replace(narrow, samples=np.tanh(narrow.samples * _OVERDRIVE) * 10 ** (-_SLACK_DB / 20))
    level = normalize(driven, target.target_lufs, target.ceiling_dbtp, trim=False).clip
    # resampling may shift the length by a sample: the twins are equally long
    samples = np.zeros_like(clip.samples)
    kept = min(len(samples), len(level.samples))
    samples[:kept] = level.samples[:kept]
    return replace(clip, samples=samples)


class EarMedia:
    """Files for raters' browsers, made when first asked for."""

    def __init__(self, store: StudyStore, folder: Path, target: AudioTarget) -> None:
        self._store = store
        self._folder = folder
        self._target = target
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, blob: str, treatment: Treatment) -> Path:
        """The file of a blob under a treatment.

        Raises:
            ObjectNotFoundError: the store has no such blob.
            AudioError: it cannot be decoded.
        """
        name = digest([METHOD_VERSION, blob, treatment, self._target.model_dump(mode="json")])
        return kept(
            self._folder / f"{name}.flac",
            lambda: for_ears(self._store.get_blob(blob), blob, treatment, self._target),
        )


def kept(path: Path, make: Callable[[], bytes]) -> Path:
    """A file that is made the first time that it is asked for, whole or not at all."""
    if not path.exists():
        made = make()
        part = path.with_suffix(f".{secrets.token_hex(4)}.part")
        part.write_bytes(made)
        os.replace(part, path)  # noqa: PTH105 - whole or not at all
    return path
