"""Answers from a ratings file into the database; the same file twice changes nothing.

An answer is known by its `rating_id`. A row without one gets an id from its content and from how many rows of the same
content stand before it in the file, so that repeats all arrive, once. A known id with the same content is `already`
there; with other content it is a conflict, and what was there first stays. Content is prompt, rater, rubric, the two
configs, score, what was heard first and when it was submitted.

A row's score is taken as it is: it is positive where its own `config_a` is better, whatever was heard first. A row joins
a pair of the plan where both response ids, prompt and configs agree; every other row gets a pair outside the plan, with
the configs in the row's own order, and the source `imported`. What a row calls adaptive stays so, and what joins a pair
that was asked for beyond the plan becomes so. Imported answers never take a slot. A row that an export
marked as excluded is excluded here too, by the same author and reason.

A row that a database cannot hold is rejected: a NUL in a text, or an id or rater's name of more than 2,000 bytes.

Everything happens in one transaction, some rows of the file at a time. An answer settles by the time it was submitted, or by the import's time where
that is missing or lies in the future.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from s2s_assets.pairing import ADAPTIVE
from s2s_assets.ratings.files import AT_ONCE, RatingsFile, read_parts
from s2s_assets.ratings.incoming import OUTSIDE_PAIR, PROVIDER, Incoming, Numbering, storable
from s2s_assets.ratings.layouts import Layout
from s2s_assets.ratings.others import of_answer, of_rater
from s2s_assets.ratings.raw import ROW, RejectedRow
from s2s_assets.ratings.schema import answer, exclusion, pair, rater, slot
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.ratings.tasks import OUTSIDE
from s2s_assets.storage import unguarded

_CHUNK = 5_000
_EXACT_FORMS = (".jsonl", ".ndjson", ".json", ".parquet")
_LARGEST = 2**31 - 1


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
    return _import(store, [file], now)


def import_file(
    store: RatingsStore,
    path: Path,
    now: datetime,
    *,
    columns: Mapping[str, str] | None = None,
    scores: Mapping[str, int] | None = None,
    layout: Layout = "answers",
    at_once: int = AT_ONCE,
) -> Imported:
    """Insert the answers of a ratings file that are new, reading it some rows at a time.

    Args:
        store: The study's database.
        path: As `read_ratings` takes it; the guards of a spreadsheet's CSV are taken back.
        now: Aware time of the import.
        columns: As `read_ratings` takes it.
        scores: The same.
        layout: The same.
        at_once: Rows read together.

    Raises:
        RatingsError: as `read_ratings`; then nothing of the file is kept.
    """
    parts = read_parts(path, columns=columns, scores=scores, layout=layout, at_once=at_once)
    return _import(store, (as_written(part, path) for part in parts), now)


def as_written(file: RatingsFile, path: Path) -> RatingsFile:
    """The file with its texts as they were before an export guarded them against spreadsheets; CSV only."""
    if path.suffix.lower() in _EXACT_FORMS:
        return file
    return replace(file, frame=unguarded(file.frame))


def _import(store: RatingsStore, parts: Iterable[RatingsFile], now: datetime) -> Imported:
    with store.importing() as connection:
        arriving = _Arriving(connection, store.study, now)
        for part in parts:
            arriving.take(part)
        arriving.settle_raters()
    return arriving.result


class _Arriving:
    """An import under way, in its transaction."""

    def __init__(self, connection: Connection, study: str, now: datetime) -> None:
        self._connection, self._now = connection, now
        self._numbering = Numbering(study)
        self._pairs = _Pairs(connection)
        self._raters = _Raters(connection, now)
        self.result = Imported(0, 0, 0, 0, ())

    def take(self, file: RatingsFile) -> None:
        """Insert what is new of some rows of the file."""
        frame, rejected = storable(file.frame)
        inserted, conflicts = 0, []
        incoming = self._numbering.of(frame)
        while some := list(islice(incoming, _CHUNK)):
            new, odd = self._sorted_out(some)
            self._insert(new)
            inserted += len(new)
            conflicts += odd
        so_far = self.result
        self.result = Imported(
            read=so_far.read + file.rows,
            inserted=so_far.inserted + inserted,
            already=so_far.already + file.duplicates + frame.height - inserted - len(conflicts),
            conflicts=so_far.conflicts + file.conflicts + len(conflicts),
            rejected=tuple(sorted([*so_far.rejected, *file.rejected, *rejected, *conflicts], key=lambda r: r.row)),
        )

    def settle_raters(self) -> None:
        """Keep what later rows said of raters whom this import brought."""
        self._raters.settle()

    def _sorted_out(self, some: Sequence[Incoming]) -> tuple[list[Incoming], list[RejectedRow]]:
        """Those that are not stored yet, and those that are, with other content."""
        ids = [one.content.rating_id for one in some]
        query = select(*answer.c["rating_id", "mark"]).where(answer.c.rating_id.in_(ids))
        marks = dict(self._connection.execute(query).tuples().all())
        new = [one for one in some if one.content.rating_id not in marks]
        odd = [one for one in some if marks.get(one.content.rating_id, one.content.mark) != one.content.mark]
        why = "rating_id {!r} is stored with other content, which counts"
        return new, [RejectedRow(one.row[ROW], why.format(one.content.rating_id)) for one in odd]

    def _insert(self, new: Sequence[Incoming]) -> None:
        if not new:
            return
        self._raters.bring(new)
        self._pairs.bring(new)
        rows = [_answer(one, *self._raters.known[one.content.rater], self._pairs, self._now) for one in new]
        self._connection.execute(answer.insert(), rows)
        excluded = [_exclusion(one, self._now) for one in new if one.row["excluded_by"] is not None]
        insert_new(self._connection, exclusion, excluded)


class _Raters:
    """Number and attributes of raters by name.

    What rows say of a rater whom this import brought is the rater's, the first value of each name; a value that differs
    stays with its answer.
    """

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection, self._now = connection, now
        self._brought: dict[str, dict[str, Any]] = {}
        query = select(rater.c.name, rater.c.id, rater.c.attributes)
        self.known: dict[str, tuple[int, dict[str, Any]]] = {
            name: (number, attributes) for name, number, attributes in connection.execute(query)
        }

    def bring(self, new: Sequence[Incoming]) -> None:
        """Make the raters that are not there yet."""
        fresh = dict.fromkeys(one.content.rater for one in new if one.content.rater not in self.known)
        for name in fresh:
            same = {"name": name, "provider": PROVIDER, "external_id": name, "created_at": self._now}
            self._brought[name] = same | {"simulated": False, "attributes": {}}
        for one in new:
            if (row := self._brought.get(one.content.rater)) is not None:
                row["simulated"] |= one.simulated
                for name, value in of_rater(one.others).items():
                    row["attributes"].setdefault(name, value)
        insert_new(self._connection, rater, [self._brought[name] for name in fresh])
        query = select(rater.c.name, rater.c.id).where(rater.c.name.in_(fresh))
        for name, number in self._connection.execute(query):
            self.known[name] = (number, self._brought[name]["attributes"])

    def settle(self) -> None:
        """Store what all rows say of the raters that were made."""
        if self._brought:
            named = rater.update().where(rater.c.name == bindparam("its_name"))
            told = ("simulated", "attributes")
            rows = [{"its_name": name, **{n: row[n] for n in told}} for name, row in self._brought.items()]
            self._connection.execute(named, rows)


class _Pairs:
    """Numbers of pairs: the plan's by the responses, others by their name."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        columns = ("id", "pair", "state", "prompt", "config_a", "config_b", "response_a", "response_b")
        self._planned: dict[tuple[str, str], Row[Any]] = {}
        self.by_name: dict[str, int] = {}
        # the latest of several with the same responses: the plan's, where it made a pair that was adaptive before
        for row in connection.execute(select(*pair.c[columns]).order_by(pair.c.id)):
            self.by_name[row.pair] = row.id
            if row.state != OUTSIDE:
                self._planned[row.response_a, row.response_b] = row
        adaptive = select(slot.c.pair_id).where(slot.c.source == ADAPTIVE).distinct()
        self._adaptive = frozenset(connection.execute(adaptive).scalars())

    def bring(self, new: Sequence[Incoming]) -> None:
        """Make the pairs outside the plan that are not there yet."""
        outside = {
            one.pair_name: {
                "pair": one.pair_name,
                **{name: one.row[name] for name in (*OUTSIDE_PAIR, "category", "level", "acoustic")},
                "state": OUTSIDE,
                "slots": 0,
                "taken": 0,
                "shuffle": 0,
            }
            for one in new
            if self.planned(one.row) is None and one.pair_name not in self.by_name
        }
        insert_new(self._connection, pair, outside.values())
        query = select(*pair.c["pair", "id"]).where(pair.c.pair.in_(outside))
        self.by_name.update(self._connection.execute(query).tuples().all())

    def is_adaptive(self, pair_id: int | None) -> bool:
        """Whether a pair was asked for beyond the plan: then its votes are adaptive, wherever they were given."""
        return pair_id in self._adaptive

    def planned(self, row: Mapping[str, Any]) -> int | None:
        """The plan's pair of these responses, None where there is none that also agrees in prompt and configs."""
        found = self._planned.get((row["response_a"], row["response_b"]))
        if found is None or any(getattr(found, name) != row[name] for name in ("prompt", "config_a", "config_b")):
            return None
        return int(found.id)


def _answer(
    one: Incoming, rater_id: int, attributes: Mapping[str, Any], pairs: _Pairs, now: datetime
) -> dict[str, Any]:
    content, planned = one.content, pairs.planned(one.row)
    asked_for = ADAPTIVE if one.row["source"] == ADAPTIVE or pairs.is_adaptive(planned) else "baseline"
    source = "imported" if planned is None and asked_for != ADAPTIVE else asked_for
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


def _exclusion(one: Incoming, now: datetime) -> dict[str, Any]:
    reason = one.row["excluded_reason"] or "excluded in the imported file"
    signed = {"author": one.row["excluded_by"], "reason": reason, "created_at": now}
    return {"scope": "rating", "target": one.content.rating_id, **signed}
