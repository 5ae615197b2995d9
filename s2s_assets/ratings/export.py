"""All answers as one file, which `s2s rank` and `s2s ratings import` read: CSV, JSONL or Parquet by its name.

Excluded answers go along, with author and reason, and so do the other columns of imported files (`others`). CSV is guarded against spreadsheets (`storage.guarded`), which the
import takes back; the other two forms hold every text as it is.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from s2s_assets.ratings.others import EXPORTED, with_others
from s2s_assets.ratings.replies import mos_table
from s2s_assets.ratings.settled import Settled
from s2s_assets.ratings.snapshot import snapshot
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.storage import guarded
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
    _form_of(path)
    frame = snapshot(store, Settled("", now, 0), scripts).frame.select(EXPORTED)
    return _export(with_others(store, frame), path)


def export_mos(store: RatingsStore, path: Path) -> int:
    """Write every single-response score, one a row; the columns are `replies.MOS`.

    Returns:
        The number of rows.

    Raises:
        RatingsError: as `export_ratings`.
    """
    return _export(mos_table(store), path)


def _form_of(path: Path) -> str:
    form = path.suffix.lower()
    if form not in FORMS:
        raise RatingsError(f"{path}: {form or 'no ending'!r}: expected a name that ends in {', '.join(FORMS)}")
    return form


def _export(frame: pl.DataFrame, path: Path) -> int:
    try:
        _replace(frame, path, _form_of(path))
    except OSError as error:
        raise RatingsError(f"{path}: cannot be written ({error.strerror or error}); name another file") from error
    return frame.height


def _replace(frame: pl.DataFrame, path: Path, form: str) -> None:
    """Write beside the path and move there, so that nobody finds half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{os.getpid()}{form}")
    try:
        _write(frame, unfinished, form)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write(frame: pl.DataFrame, path: Path, form: str) -> None:
    told = pl.col("submitted_at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
    if form == ".parquet":
        frame.write_parquet(path)
    elif form == ".jsonl":
        frame.with_columns(told).write_ndjson(path)
    else:
        _safe(frame.with_columns(told)).write_csv(path)


def _safe(frame: pl.DataFrame) -> pl.DataFrame:
    """Guarded, but for negative numbers in other columns: from a CSV file they came as text, and no formula begins so."""
    safe = guarded(frame)
    own = [k for k, (name, kind) in enumerate(frame.schema.items()) if kind == pl.String and name not in EXPORTED]
    pairs = [(frame.to_series(k), safe.to_series(k)) for k in own]
    return safe.with_columns(after.zip_with(~_are_numbers(before), before) for before, after in pairs)


def _are_numbers(texts: pl.Series) -> pl.Series:
    return texts.str.contains(_NEGATIVE).fill_null(value=False)
