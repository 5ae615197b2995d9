"""Votes come in: all scores of a task in one transaction, counted once whatever the network does.

```
lease runs                                → done
lease ran out, the slot is still free     → done
lease ran out, the slot has been refilled → late: kept, published as excluded, not one of the k votes
the rater is excluded by now              → late, too: counted again should the rater be restored
sent again, or after a technical problem  → repeated: nothing is changed
```
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, select, text

from s2s_assets.pairing import ADAPTIVE
from s2s_assets.ratings.answers import Content, rating_id, signed_score
from s2s_assets.ratings.exclude import is_excluded
from s2s_assets.ratings.leases import give_back
from s2s_assets.ratings.schema import LIVE, answer, assignment, pair, rater, slot
from s2s_assets.ratings.store import Clock, RatingsStore, utc_now
from s2s_assets.study import RatingsError

Outcome = Literal["done", "late", "repeated"]


def submit(
    store: RatingsStore,
    nonce: str,
    screen_values: Mapping[str, int],
    clock: Clock = utc_now,
    elapsed_ms: int | None = None,
) -> Outcome:
    """Store a task's scores.

    Args:
        store: The study's database.
        nonce: The assignment's.
        screen_values: Rubric → -3..3, positive where the second heard was preferred.
        clock: Called once the locks are held; the answers' time.
        elapsed_ms: Time since the task was shown, by a monotonic clock.

    Raises:
        RatingsError: no assignment has this nonce, no score is given, or one is outside -3..3.
    """
    with store.writing() as connection:
        return submit_in(connection, store.study, nonce, screen_values, clock, elapsed_ms)


def submit_in(
    connection: Connection,
    study: str,
    nonce: str,
    screen_values: Mapping[str, int],
    clock: Clock,
    elapsed_ms: int | None,
) -> Outcome:
    """`submit` inside a writing transaction that does more.

    Raises:
        RatingsError: as `submit` does.
    """
    _check(screen_values)
    task = _locked(connection, nonce)
    if task is None:
        raise RatingsError("no assignment has this nonce: the task was not handed out by this database")
    if task.state not in ("leased", "expired"):
        return "repeated"
    now = clock()
    outcome = _close(connection, task, now)
    common = {"assignment_id": task.id, "pair_id": task.pair_id, "rater_id": task.rater_id, "first": task.first}
    common |= {"submitted_at": now, "landed_at": now, "elapsed_ms": elapsed_ms, "simulated": task.simulated}
    common["source"] = ADAPTIVE if task.source == ADAPTIVE else "baseline"
    rows = [common | _scored(study, task, rubric, value, now) for rubric, value in sorted(screen_values.items())]
    connection.execute(answer.insert(), rows)
    return outcome


def _check(screen_values: Mapping[str, int]) -> None:
    if not screen_values:
        raise RatingsError("no score: expected one or more rubrics, each with a value from -3 to 3")
    for rubric, value in screen_values.items():
        if isinstance(value, bool) or not isinstance(value, int) or not -3 <= value <= 3:
            raise RatingsError(f"rubric {rubric!r}: {value!r} is no score; expected a whole number from -3 to 3")


def _locked(connection: Connection, nonce: str) -> Row[Any] | None:
    """Lock the assignment, then its pair, and read both."""
    mine = select(assignment.c.pair_id).where(assignment.c.nonce == nonce).with_for_update(key_share=True)
    pair_id = connection.execute(mine).scalar()
    if pair_id is None:
        return None
    connection.execute(select(pair.c.id).where(pair.c.id == pair_id).with_for_update(key_share=True))
    columns = (
        *assignment.c["id", "pair_id", "slot", "state", "rater_id"],
        *pair.c["pair", "prompt", "config_a", "config_b"],
        *slot.c["first", "source"],
        *rater.c["name", "simulated"],
    )
    joined = (
        assignment.join(pair, pair.c.id == assignment.c.pair_id)
        .join(slot, (slot.c.pair_id == assignment.c.pair_id) & (slot.c.slot == assignment.c.slot))
        .join(rater, rater.c.id == assignment.c.rater_id)
    )
    return connection.execute(select(*columns).select_from(joined).where(assignment.c.nonce == nonce)).one()


def _close(connection: Connection, task: Row[Any], now: datetime) -> Literal["done", "late"]:
    state = "done"
    if is_excluded(connection, "rater", task.name):
        give_back(connection, task.id, state := "excluded")
    elif task.state == "expired":
        same = (assignment.c.pair_id == task.pair_id) & (assignment.c.slot == task.slot)
        if connection.execute(select(assignment.c.id).where(same, text(LIVE))).first() is not None:
            state = "late"
        else:
            connection.execute(pair.update().where(pair.c.id == task.pair_id).values(taken=pair.c.taken + 1))
    closed = {"state": state, "submitted_at": now}
    connection.execute(assignment.update().where(assignment.c.id == task.id).values(closed))
    return "done" if state == "done" else "late"


def _scored(study: str, task: Row[Any], rubric: str, value: int, now: datetime) -> dict[str, Any]:
    score = signed_score(value, task.first)
    made = rating_id(study, task.pair, task.name, rubric)
    content = Content(made, task.prompt, task.name, rubric, task.config_a, task.config_b, score, task.first, now)
    return {"rating_id": made, "rubric": rubric, "score": score, "screen_value": value, "mark": content.mark}
