"""Answers from a ratings file into the database; the same file twice changes nothing.

An answer is known by its `rating_id`. A row without one gets an id from its content and from how many rows of the same
content stand before it in the file, so that repeats all arrive, once. A known id with the same content is `already`
there; with other content it is a conflict, and what was there first stays. Content is prompt, rater, rubric, the two
configs, score, what was heard first and when it was submitted.

A row's score is taken as it is: it is positive where its own `config_a` is better, whatever was heard first. A row joins
a pair of the plan where both response ids, prompt and configs agree; every other row gets a pair outside the plan, with
the configs in the row's own order, and the source `imported`. Imported answers never take a slot. A row that an export
marked as excluded is excluded here too, by the same author and reason.

A row that a database cannot hold is rejected: a NUL in a text, or an id or rater's name of more than 2,000 bytes.

Everything happens in one transaction. An answer settles by the time it was submitted, or by the import's time where
that is missing or lies in the future.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, select

from s2s_assets.ratings.answers import Content, rating_id
from s2s_assets.ratings.files import RatingsFile
from s2s_assets.ratings.others import FROM_EXPORTS, of_answer, of_rater, others_of, with_names_to_keep
from s2s_assets.ratings.raw import ROW, WHY, RejectedRow
from s2s_assets.ratings.schema import answer, exclusion, pair, rater
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.ratings.tasks import OUTSIDE
from s2s_assets.storage import unguarded

PROVIDER = "import"
_CHUNK = 10_000
_TRUE = {"true", "1", "yes"}
_EXACT_FORMS = (".jsonl", ".ndjson", ".json", ".parquet")
_LONGEST_BYTES = 2000
"""Of a text that Postgres indexes."""
_INDEXED = ("rating_id", "rater", "response_a", "response_b")
_LARGEST = 2**31 - 1
_AS_TEXT = ("source", "excluded_by", "excluded_reason")
_OUTSIDE_PAIR = ("prompt", "config_a", "config_b", "response_a", "response_b")
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
class _Incoming:
    """A row of the file with its content."""

    content: Content
    row: Mapping[str, Any]

    @property
    def pair_name(self) -> str:
        """Name of the pair that the row has where it is not of the plan."""
        return "x-" + rating_id(*(self.row[name] for name in _OUTSIDE_PAIR))

    @property
    def simulated(self) -> bool:
        return str(self.row["simulated"]).lower() in _TRUE

    @property
    def others(self) -> dict[str, Any]:
        """What the row has in columns beyond those that the import reads."""
        return others_of(self.row)


@dataclass(frozen=True)
class Imported:
    """What became of a file's rows; `inserted`, `already` and the rejected ones are all of them."""

    read: int
    inserted: int
    already: int
    conflicts: int
    """Rejected ones whose id has other content, in the database or earlier in the file."""
    rejected: tuple[RejectedRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The document that `s2s ratings import --json` prints."""
        rows = [{"row": r.row, "reason": r.reason} for r in self.rejected]
        return {
            "read": self.read,
            "inserted": self.inserted,
            "already": self.already,
            "conflicts": self.conflicts,
            "rejected": rows,
        }


def import_ratings(store: RatingsStore, file: RatingsFile, now: datetime) -> Imported:
    """Insert the answers of a ratings file that are new.

    Args:
        store: The study's database.
        file: From `read_ratings`; of a spreadsheet's CSV, `as_written` first.
        now: Aware time of the import.
    """
    frame, rejected = _storable(_filled(file.frame))
    incoming = list(_incoming(store.study, frame))
    conflicts: list[RejectedRow] = []
    new: list[_Incoming] = []
    with store.importing() as connection:
        marks = _known_marks(connection, [one.content.rating_id for one in incoming])
        for one in incoming:
            name = one.content.rating_id
            if name not in marks:
                new.append(one)
            elif marks[name] != one.content.mark:
                conflicts.append(
                    RejectedRow(one.row[ROW], f"rating_id {name!r} is stored with other content, which counts")
                )
        _insert(connection, new, now)
    return Imported(
        read=file.rows,
        inserted=len(new),
        already=file.duplicates + len(incoming) - len(new) - len(conflicts),
        conflicts=file.conflicts + len(conflicts),
        rejected=tuple(sorted([*file.rejected, *rejected, *conflicts], key=lambda r: r.row)),
    )


def as_written(file: RatingsFile, path: Path) -> RatingsFile:
    """The file with its texts as they were before an export guarded them against spreadsheets; CSV only."""
    if path.suffix.lower() in _EXACT_FORMS:
        return file
    return replace(file, frame=unguarded(file.frame))


def _incoming(study: str, frame: pl.DataFrame) -> Iterator[_Incoming]:
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in frame.iter_rows(named=True):
        told = tuple(row[n] for n in ("prompt", "rater", "rubric", "config_a", "config_b", "score", "first"))
        when = row["submitted_at"]
        name = row["rating_id"]
        if name is None:
            heard = (*told, None if when is None else when.isoformat(), row["response_a"], row["response_b"])
            name = rating_id(study, PROVIDER, *heard, seen[heard])
            seen[heard] += 1
        prompt, who, rubric, a, b, score, first = told
        yield _Incoming(Content(name, prompt, who, rubric, a, b, score, first, when), row)


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column that the import reads, and the others; one that the file lacks, and an empty cell, is null."""
    nested = [name for name in _OPTIONAL if name in frame.columns and frame.schema[name].is_nested()]
    frame = with_names_to_keep(frame.drop(nested))
    filled = frame.with_columns(pl.lit(None).alias(name) for name in _OPTIONAL if name not in frame.columns)
    return filled.with_columns(pl.col(_AS_TEXT).cast(pl.String)).with_columns(pl.col(pl.String).replace("", None))


def _storable(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[RejectedRow]]:
    """The rows that every database can hold, and those that Postgres cannot."""
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


def _known_marks(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for start in range(0, len(ids), _CHUNK):
        some = answer.c.rating_id.in_(ids[start : start + _CHUNK])
        found.update(connection.execute(select(answer.c.rating_id, answer.c.mark).where(some)).tuples().all())
    return found


def _insert(connection: Connection, new: Sequence[_Incoming], now: datetime) -> None:
    raters = _ensure_raters(connection, new, now)
    pairs = _ensure_pairs(connection, new)
    rows = [_answer(one, *raters[one.content.rater], pairs, now) for one in new]
    for start in range(0, len(rows), _CHUNK):
        connection.execute(answer.insert(), rows[start : start + _CHUNK])
    excluded = [_exclusion(one, now) for one in new if one.row["excluded_by"] is not None]
    insert_new(connection, exclusion, excluded)


def _ensure_raters(
    connection: Connection, new: Sequence[_Incoming], now: datetime
) -> dict[str, tuple[int, dict[str, Any]]]:
    """Number and attributes of every rater by name."""
    rows: dict[str, dict[str, Any]] = {}
    for one in new:
        name = one.content.rater
        rows[name] = {
            "name": name,
            "provider": PROVIDER,
            "external_id": name,
            "simulated": one.simulated or rows.get(name, {}).get("simulated", False),
            "attributes": rows.get(name, {}).get("attributes", {}) | of_rater(one.others),
            "created_at": now,
        }
    insert_new(connection, rater, rows.values())
    found = connection.execute(select(rater.c.name, rater.c.id, rater.c.attributes))
    return {name: (number, attributes) for name, number, attributes in found}


def _ensure_pairs(connection: Connection, new: Sequence[_Incoming]) -> "_Pairs":
    pairs = _Pairs.read(connection)
    outside = {
        one.pair_name: {
            "pair": one.pair_name,
            **{name: one.row[name] for name in (*_OUTSIDE_PAIR, "category", "level", "acoustic")},
            "state": OUTSIDE,
            "slots": 0,
            "taken": 0,
            "shuffle": 0,
        }
        for one in new
        if pairs.planned(one.row) is None and one.pair_name not in pairs.by_name
    }
    if not outside:
        return pairs
    insert_new(connection, pair, outside.values())
    return _Pairs.read(connection)


@dataclass(frozen=True)
class _Pairs:
    by_name: Mapping[str, int]
    by_responses: Mapping[tuple[str, str], Row[Any]]

    @classmethod
    def read(cls, connection: Connection) -> "_Pairs":
        columns = ("id", "pair", "state", "prompt", "config_a", "config_b", "response_a", "response_b")
        rows = connection.execute(select(*pair.c[columns])).all()
        planned = {(row.response_a, row.response_b): row for row in rows if row.state != OUTSIDE}
        return cls({row.pair: row.id for row in rows}, planned)

    def planned(self, row: Mapping[str, Any]) -> int | None:
        """The plan's pair of these responses, None where there is none that also agrees in prompt and configs."""
        found = self.by_responses.get((row["response_a"], row["response_b"]))
        if found is None or any(getattr(found, name) != row[name] for name in ("prompt", "config_a", "config_b")):
            return None
        return int(found.id)


def _answer(
    one: _Incoming, rater_id: int, attributes: Mapping[str, Any], pairs: _Pairs, now: datetime
) -> dict[str, Any]:
    content, planned = one.content, pairs.planned(one.row)
    source = "imported" if planned is None else "adaptive" if one.row["source"] == "adaptive" else "baseline"
    turned = {"a": -content.score, "b": content.score}
    return {
        "rating_id": content.rating_id,
        "pair_id": pairs.by_name[one.pair_name] if planned is None else planned,
        "rater_id": rater_id,
        "rubric": content.rubric,
        "score": content.score,
        "screen_value": None if content.first is None else turned[content.first],
        "first": content.first,
        "submitted_at": content.submitted_at,
        "landed_at": now if content.submitted_at is None else min(now, content.submitted_at),
        "elapsed_ms": _whole(one.row["elapsed_ms"]),
        "source": source,
        "simulated": one.simulated,
        "mark": content.mark,
        "extra": of_answer(one.others, attributes),
    }


def _whole(value: Any) -> int | None:
    """A whole number from a typed file or from text, None where there is none or where no database holds it."""
    found = int(value) if str(value).isdecimal() else None
    return found if found is None or found <= _LARGEST else None


def _exclusion(one: _Incoming, now: datetime) -> dict[str, Any]:
    reason = one.row["excluded_reason"] or "excluded in the imported file"
    signed = {"author": one.row["excluded_by"], "reason": reason, "created_at": now}
    return {"scope": "rating", "target": one.content.rating_id, **signed}
