"""The bytes of a file as text, read as often as wanted and never all at once; packed with gzip or not.

Encoding: from the byte order mark, else UTF-16 where every other byte at the start is zero, else UTF-8, else
Windows-1252 (Latin-1 for bytes that it lacks), whichever the whole file can be read in.
"""

import codecs
import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from s2s_assets.study import RatingsError

_GZIP = b"\x1f\x8b"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PIECE = 1_000_000


@dataclass(frozen=True)
class Source:
    """A file that may be packed.

    Raises:
        RatingsError: from every method, where the file cannot be read or is not readable gzip.
    """

    path: Path

    def start(self, n: int) -> bytes:
        """The first bytes of what is in it."""
        with self.open() as file:
            return file.read(n)

    def seekable(self) -> Path | io.BytesIO:
        """What can be read from any place: the file, or all that is packed in it."""
        if not self._packed():
            return self.path
        with self.open() as file:
            return io.BytesIO(file.read())

    def text(self) -> "SourceText":
        """The file as text, in the first encoding that fits all of it.

        Raises:
            RatingsError: nothing in it, or no text.
        """
        for encoding in (self._encoding(), "cp1252", "latin-1"):
            try:
                first = self._looked_through(encoding)
            except UnicodeDecodeError:
                continue
            if not first:
                raise RatingsError(f"{self.path}: the file is empty; expected one answer a row")
            return SourceText(self, encoding, first)
        raise AssertionError("every byte is a character of Latin-1")

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes from the start, unpacked."""
        if not self._packed():
            with self.path.open("rb") as file:
                yield file
            return
        try:
            with gzip.open(self.path) as unpacked:
                yield cast("BinaryIO", unpacked)
        except (OSError, EOFError, zlib.error) as error:
            raise RatingsError(
                f"{self.path}: not a readable gzip file ({error}); pack it again, or give it unpacked"
            ) from error

    def _encoding(self) -> str:
        start = self.start(4)
        marked = next((name for mark, name in _MARKS if start.startswith(mark)), None)
        if marked is not None:
            return marked
        if len(start) == 4 and start[1] == start[3] == 0 != start[0]:
            return "utf-16-le"
        return "utf-16-be" if len(start) == 4 and start[0] == start[2] == 0 != start[1] else "utf-8"

    def _looked_through(self, encoding: str) -> str:
        """The first character that is no space; empty where there is none."""
        first = ""
        with self.open() as file, io.TextIOWrapper(file, encoding, newline="") as text:
            while piece := text.read(_PIECE):
                first = first or piece.lstrip()[:1]
                if "\0" in piece:
                    raise RatingsError(f"{self.path}: neither text nor Parquet; give a CSV, JSONL or Parquet file")
        return first

    def _packed(self) -> bool:
        try:
            with self.path.open("rb") as file:
                return file.read(2) == _GZIP
        except OSError as error:
            raise RatingsError(
                f"{self.path}: cannot be read ({error.strerror}); give a CSV, JSONL or Parquet file"
            ) from error


@dataclass(frozen=True)
class SourceText:
    """A file's text."""

    source: Source
    encoding: str
    first: str
    """Its first character that is no space."""

    @property
    def path(self) -> Path:
        """Of the file."""
        return self.source.path

    @contextlib.contextmanager
    def open(self, newline: str) -> Iterator[TextIO]:
        """The text from its start; `newline` as `io.TextIOWrapper` takes it."""
        with self.source.open() as file, io.TextIOWrapper(file, self.encoding, newline=newline) as text:
            yield text
