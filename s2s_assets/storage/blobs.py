"""What a blob store promises.

Every object but the few that are replaced is written once: of many writers of one key exactly one wins, and the others
learn that they lost.
"""

import re
from collections.abc import Iterator
from typing import Protocol

from s2s_assets.study import StoreError

BINARY = "application/octet-stream"
_CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "flac": "audio/flac",
    "gz": "application/gzip",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "mp3": "audio/mpeg",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "svg": "image/svg+xml",
    "wav": "audio/wav",
}
_SEGMENT = re.compile(r"[A-Za-z0-9_+=-][A-Za-z0-9._+=-]{0,254}")


class BlobStore(Protocol):
    """Objects by key; safe to use from many threads.

    A key is segments of `[A-Za-z0-9._+=-]` joined by `/`, none with a leading dot: the same key is legal in a directory
    and in S3, and cannot leave the store. Every method raises `StoreError` for what the store refuses or cannot do.
    """

    url: str
    """As given, without secrets."""

    def put_new(self, key: str, data: bytes, content_type: str = BINARY) -> bool:
        """Write an object unless its key is taken; False if it was, and then nothing is changed."""
        ...

    def get(self, key: str) -> bytes:
        """An object's bytes.

        Raises:
            ObjectNotFoundError: no object has this key.
        """
        ...

    def exists(self, key: str) -> bool:
        """Whether an object has this key."""
        ...

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a text, in byte order."""
        ...

    def replace(self, key: str, data: bytes, content_type: str = BINARY) -> None:
        """Write an object whether its key is taken or not; readers see the old bytes or the new ones."""
        ...


def check_key(key: str) -> None:
    """Refuse a key that not every store can hold, or that could leave the store.

    Raises:
        StoreError: an empty segment, a leading dot, a character outside the alphabet, or more than 1000 bytes.
    """
    if len(key) > 1000 or not all(_SEGMENT.fullmatch(segment) for segment in key.split("/")):
        raise StoreError(
            f"object key {key[:200]!r}: expected segments of letters, digits and . _ + = - joined by /, "
            "each of 1 to 255 characters without a leading dot"
        )


def content_type(key: str) -> str:
    """The content type that a key's ending means; bytes without meaning where it is unknown."""
    return _CONTENT_TYPES.get(key.rpartition(".")[2], BINARY)
