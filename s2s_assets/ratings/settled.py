"""The settled version of the answers: what a refit may be made from.

Let w = now - settle_s. The version is a hash over the set {answers that landed at or before w} and over the exclusions
in force at w. Of the answers it takes their number and the two sums of the halves of their marks, so it does not depend
on order, costs one aggregate over an index, and moves when an answer turns up late: a transaction that began before w
and committed after the last look changes the set below w, and so the version. Nothing is remembered of "the last id".

A changed version is declared settled, and recorded in the database, once exclusions moved, answers went away, at least
`min_new` came, or the oldest that came is `max_age_s` old; answers that turned up below the last watermark are never
waited for. Until then the last declared version stands. Excluding something and restoring it before anyone looked
changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, func, literal, or_, select

from s2s_assets.ratings.schema import answer, exclusion, settled
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.study import digest

HALF = 31
"""Bits of half a mark: sums of halves stay below 2^63 up to four billion answers."""


@dataclass(frozen=True)
class Settled:
    """A version and the watermark that it covers: answers and exclusions at or before it."""

    version: str
    watermark: datetime
    answers: int


@dataclass(frozen=True)
class _State:
    version: str
    answers: int
    exclusions: str


def settled_version(
    store: RatingsStore, now: datetime, settle_s: float, min_new: int, max_age_s: float
) -> Settled | None:
    """The version that is settled now; None before the first one.

    Args:
        store: The study's database.
        now: Aware time.
        settle_s: Age from which an answer is taken for complete company.
        min_new: Answers that make a batch.
        max_age_s: Age from which fewer do.
    """
    watermark = now - timedelta(seconds=settle_s)
    with store.reading() as connection:
        state, last = _state(connection, watermark), _last(connection)
        if last is not None and last.version == state.version:
            return Settled(last.version, last.watermark, last.answers)
        if not _due(connection, state, last, watermark, now, min_new, max_age_s):
            return None if last is None else Settled(last.version, last.watermark, last.answers)
    found = Settled(state.version, watermark, state.answers)
    with store.writing() as connection:
        row = {"version": found.version, "watermark": watermark, "answers": found.answers}
        connection.execute(settled.insert().values(row | {"exclusions": state.exclusions}))
    return found


def exclusions_at(connection: Connection, watermark: datetime) -> list[dict[str, Any]]:
    """Exclusions in force at a time, sorted: `scope`, `target`, `author`, `reason`, `created_at` (ISO 8601)."""
    in_force = and_(
        exclusion.c.created_at <= watermark,
        or_(exclusion.c.lifted_at.is_(None), exclusion.c.lifted_at > watermark),
    )
    columns = exclusion.c["scope", "target", "author", "reason", "created_at"]
    rows = connection.execute(select(*columns).where(in_force).order_by(*columns)).mappings()
    return [{**row, "created_at": row["created_at"].isoformat()} for row in rows]


def version_of(answers: int, low: int, high: int, exclusions: list[dict[str, Any]]) -> str:
    """Hash of a set of answers, given as its size and the sums of its marks' halves, and of exclusions."""
    return digest({"answers": answers, "low": low, "high": high, "exclusions": exclusions})


def _state(connection: Connection, watermark: datetime) -> _State:
    low = func.sum(answer.c.mark.bitwise_and(literal(2**HALF - 1)))
    high = func.sum(answer.c.mark.bitwise_rshift(literal(HALF)))
    query = select(func.count(), func.coalesce(low, 0), func.coalesce(high, 0)).where(answer.c.landed_at <= watermark)
    n, lows, highs = (int(value) for value in connection.execute(query).one())
    exclusions = exclusions_at(connection, watermark)
    return _State(version_of(n, lows, highs, exclusions), n, digest(exclusions))


def _last(connection: Connection) -> Row[Any] | None:
    return connection.execute(select(settled).order_by(settled.c.id.desc()).limit(1)).first()


def _due(
    connection: Connection,
    state: _State,
    last: Row[Any] | None,
    watermark: datetime,
    now: datetime,
    min_new: int,
    max_age_s: float,
) -> bool:
    if last is None and state.answers == 0:
        return False
    new = state.answers - (0 if last is None else last.answers)
    excluded = last is not None and last.exclusions != state.exclusions
    if excluded or new <= 0 or new >= min_new:
        return True
    oldest = select(func.min(answer.c.landed_at)).where(answer.c.landed_at <= watermark)
    if last is not None:
        oldest = oldest.where(answer.c.landed_at > last.watermark)
    landed_at = connection.execute(oldest).scalar()
    return landed_at is None or now - landed_at >= timedelta(seconds=max_age_s)


def board_level(ratings_version: str) -> str:
    """The level of the leaderboard that is made from a version of the table `ratings`."""
    return f"ratings {ratings_version}"
