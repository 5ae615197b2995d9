"""All answers as one file, which `s2s rank` and `s2s ratings import` read: CSV, JSONL or Parquet by its name.

Excluded answers go along, with author and reason, and so do the other columns of imported files (`others`). CSV is guarded
against spreadsheets (`storage.guarded`), which the import takes back; the other two forms hold every text as it is.
Answers are written some at a time, so a file may be larger than the memory.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from s2s_assets.ratings.others import EXPORTED, OtherColumns
from s2s_assets.ratings.replies import mos_table
from s2s_assets.ratings.snapshot import FullAnswers, slices
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.ratings.stored import StoredAnswers, stored_answers
from s2s_assets.storage import guarded, in_pieces
from s2s_assets.study import RatingsError, Script

FORMS = (".csv", ".jsonl", ".parquet")
_NEGATIVE = r"^-\d+(\.\d+)?([eE][+-]?\d+)?$"


def export_ratings(store: RatingsStore, path: Path, scripts: Sequence[Script], now: datetime) -> int:
    """Write every answer that the database holds at `now`, one a row, sorted by rating_id.

    Returns:
        The number of rows.

    Raises:
        RatingsError: the file's name ends in none of .csv, .jsonl, .parquet, or it cannot be written.
    """
    form = _form_of(path)
    stored = stored_answers(store, now, extra=True)
    _export(_Export(stored, scripts), path, form)
    return stored.answers.height


def export_mos(store: RatingsStore, path: Path) -> int:
    """Write every single-response score, one a row; the columns are `replies.MOS`.

    Returns:
        The number of rows.

    Raises:
        RatingsError: as `export_ratings`.
    """
    form, frame = _form_of(path), mos_table(store)
    _export([frame], path, form)
    return frame.height


def _form_of(path: Path) -> str:
    form = path.suffix.lower()
    if form not in FORMS:
        raise RatingsError(f"{path}: {form or 'no ending'!r}: expected a name that ends in {', '.join(FORMS)}")
    return form


def _export(parts: Iterable[pl.DataFrame], path: Path, form: str) -> None:
    try:
        _replace(parts, path, form)
    except OSError as error:
        raise RatingsError(f"{path}: cannot be written ({error.strerror or error}); name another file") from error


class _Export:
    """The rows of an export, some at a time and as often as wanted; there is always a part, if an empty one."""

    def __init__(self, stored: StoredAnswers, scripts: Sequence[Script]) -> None:
        self._stored, self._full = stored, FullAnswers(stored, scripts)
        self._attributes: list[Mapping[str, Any]] = [json.loads(text) for text in stored.raters["attributes"]]
        present = stored.answers["rater_row"].unique()
        self._others = OtherColumns(stored.answers["extra"], [self._attributes[k] for k in present], EXPORTED)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        for some in slices(self._stored.answers):
            attributes = [self._attributes[k] for k in some["rater_row"]]
            rows = self._full.rows(some).select(EXPORTED)
            yield rows.hstack(self._others.of(some["extra"], attributes))


def _replace(parts: Iterable[pl.DataFrame], path: Path, form: str) -> None:
    """Write beside the path and move there, so that nobody finds half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{os.getpid()}{form}")
    try:
        _write_parquet(parts, unfinished) if form == ".parquet" else _write_text(parts, unfinished, form)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_parquet(parts: Iterable[pl.DataFrame], path: Path) -> None:
    in_pieces(next(iter(parts)).schema, lambda: iter(parts)).sink_parquet(path)


def _write_text(parts: Iterable[pl.DataFrame], path: Path, form: str) -> None:
    told = pl.col("submitted_at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
    with path.open("wb") as file:
        for number, part in enumerate(parts):
            if form == ".jsonl":
                part.with_columns(told).write_ndjson(file)
            else:
                _safe(part.with_columns(told)).write_csv(file, include_header=number == 0)


def _safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Guarded, but for negative numbers in other columns: from a CSV file they came as text, and no formula begins so."""
    safe = guarded(frame)
    own = [k for k, (name, kind) in enumerate(frame.schema.items()) if kind == pl.String and name not in EXPORTED]
    pairs = [(frame.to_series(k), safe.to_series(k)) for k in own]
    return safe.with_columns(after.zip_with(~_are_numbers(before), before) for before, after in pairs)


def _are_numbers(texts: pl.Series) -> pl.Series:
    return texts.str.contains(_NEGATIVE).fill_null(value=False)
