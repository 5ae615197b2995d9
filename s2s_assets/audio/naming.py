"""Names of output files: the same for the same call, one for each input, and never a source."""

import os
from collections.abc import Iterable
from pathlib import Path

from s2s_assets.study import InputError


class OutputNames:
    """Hands out paths in a folder: the source's stem, numbered from 2 where that name is already given or is a source."""

    def __init__(self, folder: Path, suffix: str, sources: Iterable[Path]):
        self._folder = folder
        self._suffix = suffix
        self._sources = {identity for source in sources if (identity := _identity(source))}
        self._given: set[str] = set()

    def next_for(self, source: Path) -> Path:
        """A path for the normalized form of a source; file systems that fold case are allowed for."""
        number = 1
        while True:
            name = f"{source.stem}{'' if number == 1 else f'-{number}'}.{self._suffix}"
            path = self._folder / name
            if name.casefold() not in self._given and _identity(path) not in self._sources:
                self._given.add(name.casefold())
                return path
            number += 1


def make_folder(folder: Path) -> None:
    """Make a folder for outputs.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: expected a folder that can be written to; {error.strerror}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all.

    Raises:
        InputError: the folder cannot be written to.
    """
    partial = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written; {error.strerror}. Choose another --out") from error


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from any other, links followed; None where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
