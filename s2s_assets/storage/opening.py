"""A blob store opened from its URL, and tried.

Nothing in the package works without the write-once promise, so a store that does not keep it is refused at the start.
"""

from pathlib import Path

from s2s_assets.storage.blobs import BlobStore
from s2s_assets.storage.directory import DirectoryStore
from s2s_assets.study import InputError, StoreError

PROBE_KEY = "=write-once-probe"
"""Written by the probe; no study id holds a `=`, so it is nobody's key."""


def open_store(url: str) -> BlobStore:
    """Open `file:PATH` or `s3://BUCKET/PREFIX` and try that it keeps the write-once promise.

    Raises:
        InputError: a URL of neither form.
        StoreError: the store cannot be reached, or accepts a second write to one key.
    """
    scheme, _, rest = url.partition(":")
    store: BlobStore
    if scheme == "file" and rest:
        store = DirectoryStore(Path(rest.removeprefix("//")))
    elif scheme == "s3":
        from s2s_assets.storage.s3 import S3Store  # boto3 is slow to import, and most stores are directories

        store = S3Store.from_url(url)
    else:
        raise InputError(f"store of scheme {scheme[:20]!r}: expected file:PATH or s3://BUCKET/PREFIX (set S2S_STORE)")
    _probe(store)
    return store


def _probe(store: BlobStore) -> None:
    """Write one key until it is refused, at most twice; a store that has been probed before costs one request."""
    if store.put_new(PROBE_KEY, b"write once\n", "text/plain") and store.put_new(
        PROBE_KEY, b"write twice\n", "text/plain"
    ):
        raise StoreError(
            f"store {store.url}: it accepted a second write to one key (If-None-Match is ignored), so results could "
            "overwrite one another; use a store that honours conditional writes, such as AWS S3 or SeaweedFS"
        )
