"""The rows of a ratings file as answers that a database can hold: each with its id, its content and what else it says."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from s2s_assets.ratings.answers import Content, rating_id
from s2s_assets.ratings.others import FROM_EXPORTS, others_of, with_names_to_keep
from s2s_assets.ratings.raw import ROW, WHY, RejectedRow
from s2s_assets.study import digest

PROVIDER = "import"
OUTSIDE_PAIR = ("prompt", "config_a", "config_b", "response_a", "response_b")
_TRUE = {"true", "1", "yes"}
_LONGEST_BYTES = 2000
"""Of a text that Postgres indexes."""
_INDEXED = ("rating_id", "rater", "response_a", "response_b")
_AS_TEXT = ("source", "excluded_by", "excluded_reason")
_OPTIONAL = (
    "rating_id",
    "response_a",
    "response_b",
    "first",
    "submitted_at",
    "category",
    "level",
    "acoustic",
    *FROM_EXPORTS,
)


@dataclass(frozen=True)
class Incoming:
    """A row of the file with its content."""

    content: Content
    row: Mapping[str, Any]

    @cached_property
    def pair_name(self) -> str:
        """Name of the pair that the row has where it is not of the plan."""
        return "x-" + rating_id(*(self.row[name] for name in OUTSIDE_PAIR))

    @property
    def simulated(self) -> bool:
        """Whether a program gave the answer."""
        return str(self.row["simulated"]).lower() in _TRUE

    @cached_property
    def others(self) -> dict[str, Any]:
        """What the row has in columns beyond those that the import reads."""
        return others_of(self.row)


class Numbering:
    """Ids for rows without one: from their content, and from how many of the same content came before."""

    def __init__(self, study: str) -> None:
        self._study = study
        self._seen: Counter[int] = Counter()

    def of(self, frame: pl.DataFrame) -> Iterator[Incoming]:
        """The rows of a frame from `storable`, in their order."""
        for row in frame.iter_rows(named=True):
            told = tuple(row[n] for n in ("prompt", "rater", "rubric", "config_a", "config_b", "score", "first"))
            when = row["submitted_at"]
            name = row["rating_id"]
            if name is None:
                heard = (*told, None if when is None else when.isoformat(), row["response_a"], row["response_b"])
                key = int(digest(heard)[:32], 16)
                name = rating_id(self._study, PROVIDER, *heard, self._seen[key])
                self._seen[key] += 1
            prompt, who, rubric, a, b, score, first = told
            yield Incoming(Content(name, prompt, who, rubric, a, b, score, first, when), row)


def storable(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[RejectedRow]]:
    """The rows that every database can hold, with every column that the import reads, and those that Postgres cannot."""
    frame = _filled(frame)
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    reasons = [
        pl.when(pl.col(name).str.contains("\0", literal=True)).then(pl.lit(f"{name} holds a NUL character"))
        for name in texts
    ]
    reasons += [
        pl.when(pl.col(name).str.len_bytes() > _LONGEST_BYTES).then(
            pl.lit(f"{name} is longer than {_LONGEST_BYTES} bytes")
        )
        for name in texts
        if name in _INDEXED
    ]
    judged = frame.with_columns(pl.coalesce(reasons).alias(WHY))
    wrong = judged.filter(pl.col(WHY).is_not_null()).select(ROW, WHY)
    return judged.filter(pl.col(WHY).is_null()).drop(WHY), [RejectedRow(*row) for row in wrong.iter_rows()]


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column that the import reads, and the others; one that the file lacks, and an empty cell, is null."""
    nested = [name for name in _OPTIONAL if name in frame.columns and frame.schema[name].is_nested()]
    frame = with_names_to_keep(frame.drop(nested))
    filled = frame.with_columns(pl.lit(None).alias(name) for name in _OPTIONAL if name not in frame.columns)
    return filled.with_columns(pl.col(_AS_TEXT).cast(pl.String)).with_columns(pl.col(pl.String).replace("", None))
