"""A task as a sitting is shown it: made once, read back as often as the page is loaded.

A pair's task has the assignment's nonce and media tokens. Controls, training and single responses get their own, of the
same form, so that nothing in a page or an address tells one kind from another.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, select

from s2s_assets.ratings.app_schema import reply, stimulus, task
from s2s_assets.ratings.ear_media import Treatment
from s2s_assets.ratings.heard import ROLES
from s2s_assets.ratings.schema import assignment, media
from s2s_assets.ratings.store import insert_new, insert_one

Kind = Literal["training", "pair", "mos", "null", "gold", "trap", "repeat"]
CLOSED = ("done", "late")
"""States of a task that was answered."""


@dataclass(frozen=True)
class Stimulus:
    """A clip of a task."""

    role: str
    token: str
    duration_s: float
    heard: bool


@dataclass(frozen=True)
class Shown:
    """An open task of a sitting."""

    id: int
    kind: Kind
    position: int
    nonce: str
    prompt: str
    stimuli: tuple[Stimulus, ...]
    replies: Mapping[str, int]
    shown_at: datetime
    expires_at: datetime | None
    """When the lease ends; None where none does."""
    assignment: str | None
    """State of the pair's assignment."""
    assignment_id: int | None


@dataclass(frozen=True)
class Clip:
    """What is heard in a role of a new task."""

    role: str
    blob: str
    duration_s: float
    treatment: Treatment = "plain"
    token: str | None = None


def open_task(connection: Connection, sitting_id: int) -> Shown | None:
    """The sitting's open task."""
    rows = connection.execute(_OPEN, {"sitting_id": sitting_id}).all()
    return _shown(rows, answered(connection, rows[0].id)) if rows else None


def task_of(connection: Connection, sitting_id: int, nonce: str) -> Row[Any] | None:
    """The sitting's task of a nonce, whatever its state, locked; None for another sitting's."""
    mine = (task.c.sitting_id == sitting_id) & (task.c.nonce == nonce)
    return connection.execute(select(task).where(mine).with_for_update(key_share=True)).first()


def answered(connection: Connection, task_id: int) -> dict[str, int]:
    """The replies that are stored, by rubric."""
    return dict(connection.execute(_REPLIES, {"task_id": task_id}).tuples().all())


def new_task(
    connection: Connection,
    sitting_id: int,
    kind: Kind,
    position: int,
    subjects: Mapping[str, str],
    clips: tuple[Clip, ...],
    now: datetime,
    **more: Any,
) -> None:
    """Store a task with what is heard in it; nothing where the sitting has an open task already.

    Args:
        connection: A writing transaction.
        sitting_id: Whose task.
        kind: What it is.
        position: How many tasks the sitting answered before.
        subjects: `prompt`, `first` and `second`: names of prompt and responses.
        clips: What is heard.
        now: Aware time.
        more: Further columns, such as `assignment_id`, `nonce` and `expected`.
    """
    nonce = more.pop("nonce", None) or secrets.token_urlsafe(24)
    row = {"sitting_id": sitting_id, "kind": kind, "position": position, "nonce": nonce, "state": "open"}
    made = insert_one(connection, task, row | dict(subjects) | {"shown_at": now} | more)
    if made is None:
        return
    rows = [
        {
            "task_id": made,
            "role": clip.role,
            "token": clip.token or secrets.token_urlsafe(24),
            "blob": clip.blob,
            "treatment": clip.treatment,
            "duration_s": clip.duration_s,
            "plays": 0,
            "coverage": 0.0,
            "rate": 0.0,
        }
        for clip in clips
    ]
    insert_new(connection, stimulus, rows)


def clip_of(connection: Connection, role: str, kind: str, subject: str, treatment: Treatment = "plain") -> Clip | None:
    """What there is to hear of a prompt or response; None where it has no audio."""
    query = select(*media.c["blob", "duration_s"]).where(media.c.kind == kind, media.c.subject == subject)
    row = connection.execute(query).first()
    return None if row is None else Clip(role, row.blob, row.duration_s, treatment)


def clip_behind(connection: Connection, sitting_id: int, token: str) -> Row[Any] | None:
    """`blob` and `treatment` behind a token of the sitting's open task; None for any other token."""
    mine = (stimulus.c.token == token) & (task.c.sitting_id == sitting_id) & (task.c.state == "open")
    joined = stimulus.join(task, task.c.id == stimulus.c.task_id)
    return connection.execute(select(*stimulus.c["blob", "treatment"]).select_from(joined).where(mine)).first()


def close_task(connection: Connection, task_id: int, state: str, now: datetime, **more: Any) -> None:
    """Close an open task."""
    mine = (task.c.id == task_id) & (task.c.state == "open")
    connection.execute(task.update().where(mine).values(state=state, closed_at=now, **more))


def _shown(rows: Sequence[Row[Any]], replies: Mapping[str, int]) -> Shown:
    """A task of its rows, one a clip."""
    row, found = rows[0], {r.role: r for r in rows}
    return Shown(
        id=row.id,
        kind=row.kind,
        position=row.position,
        nonce=row.nonce,
        prompt=row.prompt,
        stimuli=tuple(
            Stimulus(role, found[role].token, found[role].duration_s, found[role].heard_at is not None)
            for role in ROLES
            if role in found
        ),
        replies=replies,
        shown_at=row.shown_at,
        expires_at=row.lease_ends or row.expires_at,
        assignment=row.assignment,
        assignment_id=row.assignment_id,
    )


_OPEN = (
    select(
        *task.c["id", "kind", "position", "nonce", "prompt", "shown_at", "expires_at", "assignment_id"],
        assignment.c.state.label("assignment"),
        assignment.c.expires_at.label("lease_ends"),
        *stimulus.c["role", "token", "duration_s", "heard_at"],
    )
    .select_from(
        task.join(stimulus, stimulus.c.task_id == task.c.id).outerjoin(
            assignment, assignment.c.id == task.c.assignment_id
        )
    )
    .where(task.c.sitting_id == bindparam("sitting_id"), task.c.state == "open")
)
_REPLIES = select(*reply.c["rubric", "value"]).where(reply.c.task_id == bindparam("task_id"))
