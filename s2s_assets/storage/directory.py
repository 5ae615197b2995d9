"""A blob store in a local directory: keys are paths below it.

An object is written beside its place, flushed to the disk, and then either linked to its name (a hard link fails where
the name is taken, which is the write-once promise) or moved over it (which is atomic).
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from s2s_assets.storage.blobs import BINARY, check_key
from s2s_assets.study import ObjectNotFoundError, StoreError

_SCRATCH = ".scratch"
"""Half-written objects; no key begins with a dot."""


class DirectoryStore:
    """Objects as files below `root`; content types are not kept."""

    def __init__(self, root: Path) -> None:
        self.url = f"file:{root}"
        self._root = root.absolute()
        self._scratch = self._root / _SCRATCH
        with self._reported("open", str(root)):
            self._scratch.mkdir(parents=True, exist_ok=True)

    def put_new(self, key: str, data: bytes, content_type: str = BINARY) -> bool:
        """Write an object unless its key is taken; False if it was."""
        path = self._path(key)
        if path.is_file():
            return False
        with self._reported("write", key), self._written(data) as scratch:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.hardlink_to(scratch)
            except FileExistsError:
                if path.is_file():
                    return False
                raise
            _flush_folder(path.parent)
            return True

    def replace(self, key: str, data: bytes, content_type: str = BINARY) -> None:
        """Write an object over its key."""
        path = self._path(key)
        with self._reported("replace", key), self._written(data) as scratch:
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch.replace(path)
            _flush_folder(path.parent)

    def get(self, key: str) -> bytes:
        """An object's bytes."""
        path = self._path(key)
        with self._reported("read", key):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise ObjectNotFoundError(f"store {self.url}: no object {key!r}") from None

    def exists(self, key: str) -> bool:
        """Whether a file has this key."""
        return self._path(key).is_file()

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a text, in byte order."""
        # the deepest folder that the prefix names in full; what follows the last "/" is a beginning of a name
        top = self._path(prefix.rpartition("/")[0]) if "/" in prefix else self._root
        found = (
            f"{folder.relative_to(self._root).as_posix()}/{name}".removeprefix("./")
            for folder, folders, names in _walk(top)
            for name in names
            if self._scratch not in (folder, *folder.parents)
        )
        yield from sorted(key for key in found if key.startswith(prefix))

    def _path(self, key: str) -> Path:
        check_key(key)
        return self._root / key

    @contextmanager
    def _written(self, data: bytes) -> Iterator[Path]:
        """The bytes in a flushed file of its own, which is gone afterwards."""
        scratch = self._scratch / uuid.uuid4().hex
        try:
            with scratch.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield scratch
        finally:
            scratch.unlink(missing_ok=True)

    @contextmanager
    def _reported(self, action: str, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"store {self.url}: cannot {action} {key!r}: {error.strerror}; the folder must be writable, have room, "
                "and lie on a file system with hard links"
            ) from error


def _walk(top: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    return ((Path(folder), folders, names) for folder, folders, names in os.walk(top))


def _flush_folder(folder: Path) -> None:
    """A new name survives a power loss once its folder is flushed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
