"""What a reviewer hears and sees of a recording, made when first asked for and kept by the hash of its bytes.

The sound is the recording as it was delivered, at its own rate, not what raters hear: only the container is FLAC, which
every browser plays. More than two channels are mixed to one.
"""

from collections.abc import Callable
from pathlib import Path

from s2s_assets.audio import Clip, Measures, decode, encode_flac, mono
from s2s_assets.ratings.ear_media import kept
from s2s_assets.ratings.recording_chart import recording_chart, spectrogram_png
from s2s_assets.storage import StudyStore
from s2s_assets.study import digest

METHOD_VERSION = "review-1"


class ReviewMedia:
    """Files for reviewers' browsers."""

    def __init__(self, store: StudyStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def sound(self, blob: str) -> Path:
        """A recording as FLAC.

        Raises:
            StoreError: the store has no such blob.
            AudioError: it cannot be decoded.
        """
        return self._kept(["sound", blob], "flac", lambda: _playable(self._clip(blob)))

    def spectrogram(self, blob: str) -> Path:
        """Its spectrogram as PNG.

        Raises:
            StoreError: the store has no such blob.
            AudioError: it cannot be decoded.
        """
        return self._kept(["spectrogram", blob], "png", lambda: spectrogram_png(self._clip(blob)))

    def chart(self, blob: str, name: str, measures: Measures | None, spectrogram: str) -> str:
        """Its wave and the spectrogram of an address as SVG; `name` is the recording's, `measures` are what it has.

        Raises:
            StoreError: the store has no such blob.
            AudioError: it cannot be decoded.
        """
        about = ["chart", blob, name, spectrogram]
        path = self._kept(about, "svg", lambda: recording_chart(self._clip(blob), measures, name, spectrogram).encode())
        return path.read_text("utf-8")

    def _clip(self, blob: str) -> Clip:
        return decode(self._store.get_blob(blob), blob)

    def _kept(self, about: list[str], suffix: str, make: Callable[[], bytes]) -> Path:
        return kept(self._folder / f"{digest([METHOD_VERSION, *about])}.{suffix}", make)


def _playable(clip: Clip) -> bytes:
    return encode_flac(clip if clip.channels <= 2 else mono(clip))
