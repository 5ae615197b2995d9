"""A ratings file as text cells with the number of the line they stand in, whatever its form, some rows at a time.

Packed with gzip or not. CSV: encoding from the byte order mark, else UTF-16 where every other byte at the start is zero,
else UTF-8, else Windows-1252 (Latin-1 for bytes that it lacks); delimiter from the header, the one that yields the
most columns that are looked for. JSON lines: one object a line. Parquet: by its magic number; columns that are no text
keep their type, as do columns of JSON lines that nobody looks for. `row` is the line of the file (CSV header = 1), in Parquet the row from 1.
"""

import contextlib
import csv
import itertools
import json
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from s2s_assets.ratings.source import Source, SourceText
from s2s_assets.study import RatingsError

ROW = "file_row"
"""Column that holds where a row stands in the file."""
WHY = "\x1freason"
"""Column of reasons while rows are judged; no file has one of this name."""
_EXACT = 2**53
"""Up to here a float holds every integer."""
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class RejectedRow:
    """A row that does not count, and why."""

    row: int
    reason: str


@dataclass(frozen=True)
class RawTable:
    """Some of a file's rows, before any meaning."""

    frame: pl.DataFrame
    """`file_row` and the file's columns."""
    rejected: tuple[RejectedRow, ...]
    """Rows that could not be read at all."""


@dataclass(frozen=True)
class RawFile:
    """A file that can be read as often as wanted, each time from its start and in the same pieces."""

    names: tuple[str, ...]
    """Its columns."""
    _tables: Callable[[], Iterator[RawTable]]

    def tables(self) -> Iterator[RawTable]:
        """Its rows, some at a time."""
        return self._tables()


def open_raw(path: Path, wanted: frozenset[str], at_once: int = 50_000) -> RawFile:
    """Look through a file.

    Args:
        path: a CSV, JSON lines or Parquet file, told apart by content.
        wanted: names of columns by which a CSV delimiter is recognised.
        at_once: rows that are read together.

    Raises:
        RatingsError: no such file, nothing in it, or not one of these forms. Reading its rows raises it too, where a
            quotation mark is never closed.
    """
    source = Source(path)
    if source.start(4) == b"PAR1":
        return _parquet(source, wanted, at_once)
    text = source.text()
    if text.first == "[":
        raise RatingsError(f"{path}: a JSON list; give JSON lines, one object a line")
    return _json_lines(text, wanted, at_once) if text.first == "{" else _csv(text, wanted, at_once)


def _parquet(source: Source, wanted: frozenset[str], at_once: int) -> RawFile:
    path = source.path
    try:
        lazy = pl.scan_parquet(source.seekable())
        names, n = lazy.collect_schema().names(), int(lazy.select(pl.len()).collect().item())
    except pl.exceptions.PolarsError as error:
        raise RatingsError(f"{path}: not a readable Parquet file ({error})") from error
    if n == 0:
        raise RatingsError(f"{path}: no rows; expected one answer a row")

    def tables() -> Iterator[RawTable]:
        for start in range(0, n, at_once):
            try:
                frame = lazy.slice(start, at_once).collect()
            except pl.exceptions.PolarsError as error:
                raise RatingsError(f"{path}: not a readable Parquet file ({error})") from error
            plain = frame.with_columns(_plain(path, frame[name]) for name in sorted(wanted & set(names)))
            rows = plain.drop(ROW, strict=False).with_row_index(ROW, offset=start + 1)
            yield RawTable(rows.cast({ROW: pl.Int64}), ())

    return RawFile(tuple(name for name in names if name != ROW), tables)


def _plain(path: Path, column: pl.Series) -> pl.Series:
    refused = RatingsError(f"{path}: column {column.name} holds {column.dtype}: expected text or numbers")
    if column.dtype.is_nested() or column.dtype == pl.Duration:
        raise refused
    if column.dtype != pl.Binary:
        return column
    try:
        return column.cast(pl.String)  # some writers leave text unmarked
    except pl.exceptions.ComputeError as error:
        raise refused from error


def _json_lines(text: SourceText, wanted: frozenset[str], at_once: int) -> RawFile:
    """Types of columns that nobody looks for are those that all of the file's values have."""
    kinds: dict[str, Kinds] = {}
    rows = 0
    for _, found in _objects(text):
        rows += 1
        if isinstance(found, dict):
            for name, value in found.items():
                kinds.setdefault(name, Kinds()).note(value)
    if rows == 0:
        raise RatingsError(f"{text.path}: no rows; expected one answer a row")
    types = {name: pl.String if name in wanted else k.dtype for name, k in kinds.items() if name != ROW}

    def tables() -> Iterator[RawTable]:
        objects = _objects(text)
        while some := list(itertools.islice(objects, at_once)):
            some = [(row, _flat(found, wanted)) for row, found in some]
            good = [(row, found) for row, found in some if isinstance(found, dict)]
            cells = {n: typed_column([found.get(n) for _, found in good], kind) for n, kind in types.items()}
            frame = pl.DataFrame({ROW: pl.Series([row for row, _ in good], dtype=pl.Int64), **cells})
            yield RawTable(frame, tuple(RejectedRow(row, str(why)) for row, why in some if not isinstance(why, dict)))

    return RawFile(tuple(types), tables)


def _objects(text: SourceText) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Each line's number and object, or why it has none; blank lines are none."""
    with text.open(newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _object(line)


def _object(line: str) -> dict[str, Any] | str:
    try:
        found = json.loads(line)
        if "\\ud" in line.lower():
            json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except UnicodeEncodeError:
        return "not Unicode text: it holds half of a surrogate pair"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except ValueError as error:  # a number of too many digits
        return f"not JSON: {error}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    return found if isinstance(found, dict) else f"a JSON object was expected, not {type(found).__name__}"


def _flat(found: dict[str, Any] | str, wanted: frozenset[str]) -> dict[str, Any] | str:
    """The object, or why it is none of ours: a list or an object where a text or a number is looked for."""
    if isinstance(found, str):
        return found
    nested = next((n for n in found if n in wanted and isinstance(found[n], list | dict)), None)
    if nested is None:
        return found
    kind = "list" if isinstance(found[nested], list) else "object"
    return f"{nested} is a JSON {kind}: expected text or a number"


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


def _csv(text: SourceText, wanted: frozenset[str], at_once: int) -> RawFile:
    delimiter = max(_DELIMITERS, key=lambda d: _recognised(text, d, wanted))
    with contextlib.closing(_records(text, delimiter)) as records:
        _, header = next(records)
        if next(records, None) is None:
            raise RatingsError(f"{text.path}: no rows; expected one answer a row")
    names = [name.strip() or f"column_{k}" for k, name in enumerate(header, 1)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise RatingsError(f"{text.path}: line 1: column {', '.join(twice)} is there twice; rename one")

    def tables() -> Iterator[RawTable]:
        records = itertools.islice(_records(text, delimiter), 1, None)
        while some := list(itertools.islice(records, at_once)):
            yield _table(names, some)

    return RawFile(tuple(name for name in names if name != ROW), tables)


def _table(names: Sequence[str], records: Sequence[tuple[int, list[str]]]) -> RawTable:
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


def _recognised(text: SourceText, delimiter: str, wanted: frozenset[str]) -> tuple[int, int]:
    with contextlib.closing(_records(text, delimiter)) as records:
        _, header = next(records)
    return len({name.strip() for name in header} & wanted), len(header)


def _records(text: SourceText, delimiter: str) -> Generator[tuple[int, list[str]], None, None]:
    """Records with the line they begin in; blank lines are none."""
    with text.open(newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        width, begins = 0, 1
        try:
            for record in reader:
                begins, line = reader.line_num + 1, begins
                if not record:
                    continue
                width = width or len(record)
                if reader.line_num > line and len(record) != width:
                    raise RatingsError(
                        f"{text.path}: line {line}: a quotation mark is opened and never closed; close it"
                    )
                yield line, record
        except csv.Error as error:
            raise RatingsError(f"{text.path}: line {reader.line_num}: {error}") from error
