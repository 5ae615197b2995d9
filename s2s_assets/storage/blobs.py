"""What a blob store promises, and how one is opened from its URL.

Every object but the few that are replaced is written once: of many writers of one key exactly one wins, and the others
learn that they lost. Nothing in the package works without that promise, so it is tried when a store is opened.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from s2s_assets.study import InputError, StoreError

BINARY = "application/octet-stream"
PROBE_KEY = "=write-once-probe"
"""Written by the probe; no study id holds a `=`, so it is nobody's key."""

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


def open_store(url: str) -> BlobStore:
    """Open `file:PATH` or `s3://BUCKET/PREFIX` and try that it keeps the write-once promise.

    Raises:
        InputError: a URL of neither form.
        StoreError: the store cannot be reached, or accepts a second write to one key.
    """
    scheme, _, rest = url.partition(":")
    store: BlobStore
    if scheme == "file" and rest:
        from s2s_assets.storage.directory import DirectoryStore

        store = DirectoryStore(Path(rest.removeprefix("//")))
    elif scheme == "s3":
        from s2s_assets.storage.s3 import S3Store

        store = S3Store.from_url(url)
    else:
        raise InputError(f"store of scheme {scheme[:20]!r}: expected file:PATH or s3://BUCKET/PREFIX (set S2S_STORE)")
    _probe(store)
    return store


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


def _probe(store: BlobStore) -> None:
    """Write one key until it is refused, at most twice; a store that has been probed before costs one request."""
    if store.put_new(PROBE_KEY, b"write once\n", "text/plain") and store.put_new(
        PROBE_KEY, b"write twice\n", "text/plain"
    ):
        raise StoreError(
            f"store {store.url}: it accepted a second write to one key (If-None-Match is ignored), so results could "
            "overwrite one another; use a store that honours conditional writes, such as AWS S3 or SeaweedFS"
        )
