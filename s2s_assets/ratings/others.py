"""A ratings file's other columns: whatever the contract does not name goes in with its answer and comes out again.

Columns named `rater_…` say something of the rater and become the rater's attributes; a value that differs from what is
known of the rater stays with its answer. All others stay with their answers. Text, numbers and booleans are kept as they
are, anything else as text (lists and objects as JSON, bytes that are no text as hex digits); an empty cell and a number
that is none (NaN) are missing. A NUL, which CSV cannot hold, costs an answer's own column no more than that character.

On the way out each is a column of its own, in the order of their names. One column has one type: numbers or booleans
where all its values are, else text. A name that is taken gets `file_` before it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from sqlalchemy import select

from s2s_assets.ratings.files import NEEDED, OPTIONAL
from s2s_assets.ratings.raw import ROW, as_cell, as_column, free_name
from s2s_assets.ratings.schema import answer, rater
from s2s_assets.ratings.store import RatingsStore

OF_RATER = "rater_"
FROM_EXPORTS = ("source", "simulated", "elapsed_ms", "excluded_by", "excluded_reason")
"""Columns beyond the contract's that the import reads."""
_READ = frozenset({ROW, *NEEDED, *OPTIONAL, *FROM_EXPORTS})
EXPORTED = (
    "rating_id", "prompt", "rater", "rubric", "config_a", "config_b", "score", "first", "submitted_at", "response_a",
    "response_b", "category", "level", "acoustic", "pair", "screen_value", "source", "simulated", "elapsed_ms",
    "excluded_by", "excluded_reason",
)  # fmt: skip
"""Columns that every export has, in this order; a file that has them all is one."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PLAIN = (pl.String, pl.Boolean, pl.Null)


def with_names_to_keep(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with other columns that every form can hold: no control character or outer space in a name, no name twice.

    What an export computes of an answer (`pair`, `screen_value`) is left out of a frame that is one.
    """
    if set(EXPORTED) <= set(frame.columns):
        frame = frame.drop(set(EXPORTED) - _READ)
    others = [name for name in frame.columns if name not in _READ]
    taken, names = set(_READ), {}
    for name in others:
        names[name] = free_name(_CONTROL.sub(" ", name).strip() or "column", taken)
        taken.add(names[name])
    told = frame.rename(names).with_columns(_told(frame[old]).alias(new) for old, new in names.items())
    kept = [new for new in names.values() if told.schema[new] == pl.String and not new.startswith(OF_RATER)]
    return told.with_columns(pl.col(kept).str.replace_all("\0", "\ufffd", literal=True))


def _told(column: pl.Series) -> pl.Series:
    """What JSON holds as it is, and all else as text; null for no number."""
    if column.dtype in _PLAIN or column.dtype.is_integer():
        return column
    if column.dtype.is_float() or column.dtype.is_decimal():
        number = pl.col(column.name)
        return column.cast(pl.Float64).to_frame().select(pl.when(number.is_finite()).then(number)).to_series()
    return pl.Series([_as_text(value) for value in column.to_list()], dtype=pl.String)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return _decoded(value)
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def _decoded(data: bytes) -> str:
    """Text that some writers leave unmarked, as hex digits where it is none."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data.hex()
    return data.hex() if "\0" in text else text


def others_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's other values that are not missing."""
    return {name: value for name, value in row.items() if value is not None and name not in _READ}


def of_rater(others: Mapping[str, Any]) -> dict[str, Any]:
    """Those that say something of the rater."""
    return {name: value for name, value in others.items() if name.startswith(OF_RATER)}


def of_answer(others: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Those that the rater's attributes do not say already, None where there is none."""
    known = {name: as_cell(value) for name, value in of_rater(attributes).items()}
    return {name: value for name, value in others.items() if known.get(name) != as_cell(value)} or None


def with_others(store: RatingsStore, frame: pl.DataFrame) -> pl.DataFrame:
    """An export's answers with the other columns that answers and raters came with."""
    with store.reading() as connection:
        kept = select(answer.c.rating_id, answer.c.extra).where(answer.c.extra.is_not(None))
        extra = dict(connection.execute(kept).tuples().all())
        known = select(rater.c.name, rater.c.attributes)
        attributes = {name: of_rater(found) for name, found in connection.execute(known)}
    told = [attributes[who] | extra.get(name, {}) for name, who in frame.select("rating_id", "rater").iter_rows()]
    return frame.with_columns(_columns(told, frame.columns))


def _columns(told: Sequence[Mapping[str, Any]], taken: Sequence[str]) -> list[pl.Series]:
    """A column for each name, by name; one that is taken is set aside."""
    names = {name for one in told for name in one}
    used, columns = {*taken, *names}, []
    for name in sorted(names):
        shown = free_name(name, used) if name in taken else name
        used.add(shown)
        columns.append(as_column([one.get(name) for one in told]).alias(shown))
    return sorted(columns, key=lambda column: column.name)
