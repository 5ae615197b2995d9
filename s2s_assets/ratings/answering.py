"""Replies come in: a page at a time, each stored once, and a vote the moment the last page is there.

```
not heard all           → nothing is stored; the page comes again
page not answered full  → nothing is stored; the page comes again
page stored             → saved, or finished with the last one: then the task is closed in the same transaction, and a
                          pair's replies become answers (`submit`)
sent again, or for a task that is over → repeated: what was there first stays
another sitting's task  → unknown
```
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, select

from s2s_assets.ratings.app_schema import reply, sitting, task
from s2s_assets.ratings.controls import as_expected, keep_control
from s2s_assets.ratings.handing import Desk
from s2s_assets.ratings.heard import Played, note_played
from s2s_assets.ratings.leases import extend, give_back
from s2s_assets.ratings.mos import LEASE
from s2s_assets.ratings.shown import answered, close_task, task_of
from s2s_assets.ratings.sittings import Sitting, told, trained
from s2s_assets.ratings.steps import due
from s2s_assets.ratings.store import insert_new
from s2s_assets.ratings.submit import submit_in

Result = Literal["saved", "finished", "repeated", "not_heard", "incomplete", "unknown"]
Problem = Literal["no_sound", "broken", "empty", "language", "offensive", "other"]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)
LONGEST_COMMENT = 500
_LONGEST_MS = 2**31 - 1


@dataclass(frozen=True)
class Page:
    """What a browser sends for one page of a task."""

    nonce: str
    values: Mapping[str, int]
    played: Mapping[str, Played] = field(default_factory=dict)
    comment: str = ""


def save_page(desk: Desk, sat: Sitting, page: Page) -> Result:
    """Take in a page of the sitting's task; see the module for what becomes of it."""
    with desk.store.writing() as connection:
        row = task_of(connection, sat.id, page.nonce)
        if row is None:
            return "unknown"
        if row.state != "open":
            return "repeated"
        now = desk.clock()
        if note_played(connection, row.id, row.shown_at, page.played, now):
            return "not_heard"
        replies = answered(connection, row.id)
        steps = desk.steps(row.kind, row.prompt, sat.rater.name)
        step = due(steps, replies)
        if step is None or not set(step.ids) <= set(page.values):
            return "repeated" if page.values and set(page.values) <= set(replies) else "incomplete"
        _store(connection, row.id, {name: page.values[name] for name in step.ids}, len(replies), now)
        if comment := clean(page.comment):
            connection.execute(task.update().where(task.c.id == row.id).values(comment=comment))
        replies |= {name: page.values[name] for name in step.ids}
        if due(steps, replies) is not None:
            return "saved"
        _finish(desk, connection, sat, row, replies, now)
    return "finished"


def problem_of(text: str) -> Problem | None:
    """A problem by its name; None where there is none of that name."""
    return next((problem for problem in PROBLEMS if problem == text), None)


def allowed(kind: str) -> range:
    """The values that a question of a task can have: on the screen above 0 prefers the second; MOS is 1 to 5."""
    return range(1, 6) if kind == "mos" else range(-3, 4)


def report_problem(desk: Desk, sat: Sitting, nonce: str, problem: Problem, role: str, comment: str) -> Result:
    """End a task without a vote and flag what could not be rated; a pair's slot is free again."""
    with desk.store.writing() as connection:
        row = task_of(connection, sat.id, nonce)
        if row is None:
            return "unknown"
        if row.state != "open":
            return "repeated"
        now = desk.clock()
        more: dict[str, Any] = {"problem": problem, "problem_role": role, "comment": clean(comment) or None}
        close_task(connection, row.id, "problem", now, **more)
        if row.assignment_id is not None:
            give_back(connection, row.assignment_id, "problem")
        if row.kind == "training":
            trained(connection, sat.id, "problem_reported", now)
    return "finished"


def beat(
    desk: Desk, sat: Sitting, nonce: str, played: Mapping[str, Played]
) -> tuple[frozenset[str], datetime | None] | None:
    """Note what was played and extend the lease; what is still to be heard and the lease's end, None if it is over."""
    with desk.store.writing() as connection:
        row = task_of(connection, sat.id, nonce)
        if row is None or row.state != "open":
            return None
        now = desk.clock()
        missing = note_played(connection, row.id, row.shown_at, played, now)
        if row.kind == "mos":
            connection.execute(task.update().where(task.c.id == row.id).values(expires_at=now + LEASE))
            return missing, now + LEASE
        if row.kind == "training":
            return missing, None
        if row.kind == "pair":
            expires_at = extend(connection, nonce, desk.clock, desk.rules)
        else:
            runs = row.expires_at is None or row.expires_at >= now
            expires_at = keep_control(connection, row.id, now) if runs else None
    return None if expires_at is None else (missing, expires_at)


def clean(text: str) -> str:
    """A remark as it is stored: without what no database holds, and of bounded length."""
    kept = "".join(c for c in text if c == "\n" or c == "\t" or (ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF))
    return kept.strip()[:LONGEST_COMMENT]


def _store(connection: Connection, task_id: int, values: Mapping[str, int], before: int, now: datetime) -> None:
    rows = [
        {"task_id": task_id, "rubric": rubric, "value": value, "position": before + k, "saved_at": now}
        for k, (rubric, value) in enumerate(values.items())
    ]
    insert_new(connection, reply, rows)


def _finish(
    desk: Desk, connection: Connection, sat: Sitting, row: Row[Any], replies: Mapping[str, int], now: datetime
) -> None:
    state = "done"
    if row.kind == "pair":
        elapsed_ms = min(round((now - row.shown_at).total_seconds() * 1000), _LONGEST_MS)
        outcome = submit_in(connection, desk.store.study, row.nonce, replies, desk.clock, elapsed_ms)
        state = "late" if outcome == "late" else "done"
    close_task(connection, row.id, state, now)
    if row.kind not in ("training", "trap"):
        return
    right = as_expected(row.expected, dict(replies))
    if row.kind == "training":
        trained(connection, sat.id, "training_right" if right else "training_wrong", now)
    elif not right:
        fails = _trap_fails(connection, sat)
        told(connection, sat.id, "trap", now if fails >= desk.study.cleaning.trap_fails else None)


def _trap_fails(connection: Connection, sat: Sitting) -> int:
    """Traps that this rater was caught in, over all sittings."""
    mine = task.join(sitting, sitting.c.id == task.c.sitting_id)
    caught = (sitting.c.rater_id == sat.rater.id) & (task.c.kind == "trap") & (task.c.state == "done")
    rows = connection.execute(select(*task.c["id", "expected"]).select_from(mine).where(caught)).all()
    return sum(not as_expected(row.expected, answered(connection, row.id)) for row in rows)
