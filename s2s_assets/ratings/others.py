"""A ratings file's other columns: whatever the contract does not name goes in with its answer and comes out again.

Columns named `rater_…` say something of the rater and become the rater's attributes; a value that differs from what is
known of the rater stays with its answer. All others stay with their answers. Text, numbers and booleans are kept as they
are, anything else as text (lists and objects as JSON, bytes that are no text as hex digits); an empty cell and a number
that is none (NaN) are missing. A NUL, which CSV cannot hold, costs an answer's own column no more than that character.

On the way out each is a column of its own, in the order of their names. One column has one type: numbers or booleans
where all its values are, else text. A name that is taken gets `file_` before it.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from s2s_assets.ratings.files import NEEDED, OPTIONAL
from s2s_assets.ratings.raw import ROW, Kinds, as_cell, free_name, typed_column

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
_AT_ONCE = 50_000
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


class OtherColumns:
    """The other columns that stored answers and their raters came with, made for some answers at a time."""

    def __init__(self, extra: pl.Series, attributes: Sequence[Mapping[str, Any]], taken: Sequence[str]) -> None:
        """Find the columns, their names and types.

        Args:
            extra: What each answer has, as JSON text, null where it has nothing.
            attributes: Of the raters whose answers these are.
            taken: Names that other columns have.
        """
        kinds: dict[str, Kinds] = {}
        told = (
            json.loads(text)
            for start in range(0, len(extra), _AT_ONCE)
            for text in extra.slice(start, _AT_ONCE).drop_nulls()
        )
        for one in itertools.chain(map(of_rater, attributes), told):
            for name, value in one.items():
                kinds.setdefault(name, Kinds()).note(value)
        used, shown = {*taken, *kinds}, {}
        for name in sorted(kinds):
            shown[name] = free_name(name, used) if name in taken else name
            used.add(shown[name])
        self._types = {name: kinds[name].dtype for name in sorted(kinds, key=shown.__getitem__)}
        self._shown = shown

    def of(self, extra: pl.Series, attributes: Sequence[Mapping[str, Any]]) -> list[pl.Series]:
        """The columns of some answers, in the order of their names, from what they and their raters have."""
        if not self._types:
            return []
        told = [
            of_rater(known) | ({} if text is None else json.loads(text))
            for text, known in zip(extra, attributes, strict=True)
        ]
        return [
            typed_column([one.get(name) for one in told], dtype).alias(self._shown[name])
            for name, dtype in self._types.items()
        ]
