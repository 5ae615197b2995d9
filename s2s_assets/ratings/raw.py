"""A ratings file as text cells with the number of the line they stand in, whatever its form.

Packed with gzip or not. CSV: encoding from the byte order mark, else UTF-16 where every other byte at the start is zero,
else UTF-8, else Windows-1252 (Latin-1 for bytes that it lacks); delimiter from the header, the one that yields the
most columns that are looked for. JSON lines: one object a line. Parquet: by its magic number; columns that are no text
keep their type, as do columns of JSON lines that nobody looks for. `row` is the line of the file (CSV header = 1), in Parquet the row from 1.
"""

import codecs
import csv
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from s2s_assets.study import RatingsError

ROW = "file_row"
"""Column that holds where a row stands in the file."""
WHY = "\x1freason"
"""Column of reasons while rows are judged; no file has one of this name."""
_EXACT = 2**53
"""Up to here a float holds every integer."""
_GZIP = b"\x1f\x8b"
_DELIMITERS = ",;\t|"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class RejectedRow:
    """A row that does not count, and why."""

    row: int
    reason: str


@dataclass(frozen=True)
class RawTable:
    """What a file holds, before any meaning."""

    frame: pl.DataFrame
    """`file_row` and the file's columns."""
    rejected: tuple[RejectedRow, ...]
    """Rows that could not be read at all."""


def read_raw(path: Path, wanted: frozenset[str]) -> RawTable:
    """Read a file's rows.

    Args:
        path: a CSV, JSON lines or Parquet file, told apart by content.
        wanted: names of columns by which a CSV delimiter is recognised.

    Raises:
        RatingsError: no such file, nothing in it, or not one of these forms.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RatingsError(f"{path}: cannot be read ({error.strerror}); give a CSV, JSONL or Parquet file") from error
    if data[:2] == _GZIP:
        data = _unpacked(path, data)
    if data[:4] == b"PAR1":
        table = RawTable(_parquet(path, data, wanted), ())
    else:
        text = _decoded(path, data)
        first = text.lstrip()[:1]
        if first == "[":
            raise RatingsError(f"{path}: a JSON list; give JSON lines, one object a line")
        table = _json_lines(text, wanted) if first == "{" else _csv(path, text, wanted)
    if table.frame.is_empty() and not table.rejected:
        raise RatingsError(f"{path}: no rows; expected one answer a row")
    return table


def _unpacked(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise RatingsError(f"{path}: not a readable gzip file ({error}); pack it again, or give it unpacked") from error


def _decoded(path: Path, data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None) or _unmarked(data)
    for name in (encoding, "cp1252", "latin-1"):
        try:
            text = data.decode(name)
            break
        except UnicodeDecodeError:
            continue
    if not text.strip():
        raise RatingsError(f"{path}: the file is empty; expected one answer a row")
    if "\0" in text:
        raise RatingsError(f"{path}: neither text nor Parquet; give a CSV, JSONL or Parquet file")
    return text


def _unmarked(data: bytes) -> str:
    """UTF-16 without a mark by its zero bytes, else UTF-8."""
    start = data[:4]
    if len(start) == 4 and start[1] == start[3] == 0 != start[0]:
        return "utf-16-le"
    return "utf-16-be" if len(start) == 4 and start[0] == start[2] == 0 != start[1] else "utf-8"


def _parquet(path: Path, data: bytes, wanted: frozenset[str]) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError as error:
        raise RatingsError(f"{path}: not a readable Parquet file ({error})") from error
    for name in sorted(wanted & set(frame.columns)):
        frame = frame.with_columns(_plain(path, frame[name]))
    return frame.drop(ROW, strict=False).with_row_index(ROW, offset=1).cast({ROW: pl.Int64})


def _plain(path: Path, column: pl.Series) -> pl.Series:
    refused = RatingsError(f"{path}: column {column.name} holds {column.dtype}: expected text or numbers")
    if column.dtype.is_nested():
        raise refused
    if column.dtype != pl.Binary:
        return column
    try:
        return column.cast(pl.String)  # some writers leave text unmarked
    except pl.exceptions.ComputeError as error:
        raise refused from error


def _json_lines(text: str, wanted: frozenset[str]) -> RawTable:
    rows: list[int] = []
    objects: list[dict[str, Any]] = []
    rejected = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            if "\\ud" in line.lower():
                json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text
        except UnicodeEncodeError:
            rejected.append(RejectedRow(number, "not Unicode text: it holds half of a surrogate pair"))
            continue
        except ValueError as error:
            rejected.append(RejectedRow(number, f"not JSON: {error}"))
            continue
        except RecursionError:
            rejected.append(RejectedRow(number, "not JSON that can be read: nested too deeply"))
            continue
        if isinstance(found, dict):
            rows.append(number)
            objects.append(found)
        else:
            rejected.append(RejectedRow(number, f"a JSON object was expected, not {type(found).__name__}"))
    names = dict.fromkeys(name for o in objects for name in o if name != ROW)
    cells = {name: [o.get(name) for o in objects] for name in names}
    columns = {name: as_text(values) if name in wanted else as_column(values) for name, values in cells.items()}
    return RawTable(pl.DataFrame({ROW: pl.Series(rows, dtype=pl.Int64), **columns}), tuple(rejected))


def as_cell(value: Any) -> str | None:
    """A JSON value as text."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def as_text(values: Sequence[Any]) -> pl.Series:
    """JSON values as texts."""
    return pl.Series([as_cell(value) for value in values], dtype=pl.String)


@dataclass
class Kinds:
    """Kinds of JSON values seen in a column, which decide its type."""

    seen: set[type] = field(default_factory=set)
    largest: int = 0

    def note(self, value: Any) -> None:
        """See one more value; a missing one says nothing."""
        if value is None:
            return
        self.seen.add(type(value))
        if isinstance(value, int):
            self.largest = max(self.largest, abs(value))

    @property
    def dtype(self) -> type[pl.DataType]:
        """Number or boolean where all values are, else text."""
        if self.seen == {bool}:
            return pl.Boolean
        if self.seen == {int} and self.largest < 2**63:
            return pl.Int64
        return pl.Float64 if float in self.seen and self.seen <= {int, float} and self.largest <= _EXACT else pl.String


def as_column(values: Sequence[Any]) -> pl.Series:
    """JSON values as numbers or booleans where all of them are, else as texts."""
    kinds = Kinds()
    for value in values:
        kinds.note(value)
    return typed_column(values, kinds.dtype)


def typed_column(values: Sequence[Any], dtype: type[pl.DataType]) -> pl.Series:
    """JSON values as a column of a type that `Kinds` found."""
    return as_text(values) if dtype == pl.String else pl.Series(values, dtype=dtype, strict=False)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, set aside with `file_` before it where it is taken."""
    while name in taken:
        name = f"file_{name}"
    return name


def _csv(path: Path, text: str, wanted: frozenset[str]) -> RawTable:
    delimiter = max(_DELIMITERS, key=lambda d: _recognised(text, d, wanted))
    records = _records(path, text, delimiter)
    _, header = next(records)
    names = [name.strip() or f"column_{k}" for k, name in enumerate(header, 1)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise RatingsError(f"{path}: line 1: column {', '.join(twice)} is there twice; rename one")
    rows, cells, rejected = [], [], []
    for number, record in records:
        if any(record[len(names) :]) or len(record) < len(names):
            rejected.append(RejectedRow(number, f"{len(record)} fields where the header has {len(names)}"))
        else:
            rows.append(number)
            cells.append(record[: len(names)])
    by_column = list(zip(*cells, strict=True)) or [()] * len(names)
    columns = {n: pl.Series(c, dtype=pl.String) for n, c in zip(names, by_column, strict=True) if n != ROW}
    return RawTable(pl.DataFrame({ROW: pl.Series(rows, dtype=pl.Int64), **columns}), tuple(rejected))


def _recognised(text: str, delimiter: str, wanted: frozenset[str]) -> tuple[int, int]:
    header = next(csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter))
    return len({name.strip() for name in header} & wanted), len(header)


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line they begin in; blank lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    width, begins = 0, 1
    try:
        for record in reader:
            begins, line = reader.line_num + 1, begins
            if not record:
                continue
            width = width or len(record)
            if reader.line_num > line and len(record) != width:
                raise RatingsError(f"{path}: line {line}: a quotation mark is opened and never closed; close it")
            yield line, record
    except csv.Error as error:
        raise RatingsError(f"{path}: line {reader.line_num}: {error}") from error
