"""A rater's data deleted on request, for good; see `exclude` for what only does not count.

Gone are the rater's answers, single-response scores, replies, comments and everything else that the app noted of the
rater's sittings, and what the panel or a file said of the rater, name and panel's id included. The slots of the rater's
votes are free again. What stays is a row without any of this, under a name of its own, and an exclusion of that name
with author and reason, so that it is known that and why somebody was forgotten; the settled version moves. SQLite's files hold
nothing of it afterwards, its log included. Tables that were stored before keep the answers under the old name
(docs/operations.md).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, delete, or_, select

from s2s_assets.ratings.app_schema import reply, sitting, stimulus, task
from s2s_assets.ratings.exclude import signed
from s2s_assets.ratings.leases import give_back_slots
from s2s_assets.ratings.schema import answer, assignment, exclusion, media_token, rater
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.storage import settle_deletions
from s2s_assets.study import RatingsError

FORGOTTEN = "forgotten"
"""Provider of the row that stays."""
_AT_ONCE = 500


@dataclass(frozen=True)
class Forgotten:
    """What was deleted, and the name that stays."""

    name: str
    answers: int
    tasks: int
    sittings: int

    def to_json(self) -> dict[str, Any]:
        """The document that `s2s ratings forget --json` prints."""
        return asdict(self)


def forget(store: RatingsStore, who: str, author: str, reason: str, now: datetime) -> Forgotten:
    """Delete all data of a rater.

    Args:
        store: The study's database.
        who: The rater's name, or the id that the panel knows the person by.
        author: Who decides.
        reason: Why.
        now: Aware time.

    Raises:
        RatingsError: no rater or more than one is called so, the rater was forgotten before, or author or reason is
            empty.
    """
    signed(author, reason, who)
    with store.importing() as connection:
        number, name = _found(connection, who)
        mine = connection.execute(select(assignment.c.id).where(assignment.c.rater_id == number)).scalars().all()
        give_back_slots(connection, mine)
        sittings = connection.execute(select(sitting.c.id).where(sitting.c.rater_id == number)).scalars().all()
        tasks = _ids(connection, task, task.c.sitting_id, sittings)
        of_ratings = connection.execute(select(answer.c.rating_id).where(answer.c.rater_id == number)).scalars().all()
        for table, column, values in (
            (reply, reply.c.task_id, tasks),
            (stimulus, stimulus.c.task_id, tasks),
            (task, task.c.id, tasks),
            (sitting, sitting.c.id, sittings),
            (answer, answer.c.rating_id, of_ratings),
            (media_token, media_token.c.assignment_id, mine),
            (assignment, assignment.c.id, mine),
            (exclusion, exclusion.c.target, [name, *of_ratings]),
        ):
            _delete(connection, table, column, values)
        left = f"{FORGOTTEN}-{number}"
        row = {"name": left, "provider": FORGOTTEN, "external_id": str(number), "attributes": {}}
        connection.execute(rater.update().where(rater.c.id == number).values(row))
        told = {"scope": "rater", "target": left, "author": author, "reason": reason, "created_at": now}
        connection.execute(exclusion.insert().values(told))
    settle_deletions(store.engine)
    return Forgotten(left, len(of_ratings), len(tasks), len(sittings))


def _found(connection: Connection, who: str) -> tuple[int, str]:
    called = or_(rater.c.name == who, rater.c.external_id == who)
    rows = connection.execute(select(*rater.c["id", "name", "provider"]).where(called).order_by(rater.c.id)).all()
    live = [row for row in rows if row.provider != FORGOTTEN]
    if len(live) > 1:
        names = ", ".join(f"{row.name} ({row.provider})" for row in live)
        raise RatingsError(f"rater {who!r}: there are {len(live)} of this name or id: {names}; give a name")
    if not live:
        raise RatingsError(f"rater {who!r}: no rater has this name or panel's id")
    return live[0].id, live[0].name


def _ids(connection: Connection, table: Table, column: Any, values: Sequence[int]) -> list[int]:
    found: list[int] = []
    for start in range(0, len(values), _AT_ONCE):
        some = column.in_(values[start : start + _AT_ONCE])
        found += connection.execute(select(table.c.id).where(some)).scalars()
    return found


def _delete(connection: Connection, table: Table, column: Any, values: Sequence[Any]) -> None:
    for start in range(0, len(values), _AT_ONCE):
        connection.execute(delete(table).where(column.in_(values[start : start + _AT_ONCE])))
