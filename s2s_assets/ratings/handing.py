"""What a sitting is shown next: the task under way, a control where one is due, else a pair or a single response.

A task that was left and whose lease ran out is taken up again, with all that was saved of it, while its slot is free; if
another has the slot by then, what was saved stays with the task and the sitting goes on to the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, bindparam, select, text

from s2s_assets.ratings.app_schema import task
from s2s_assets.ratings.assign import assign
from s2s_assets.ratings.controls import control_plan, gold_rubric, keep_control, show_control
from s2s_assets.ratings.invitations import Work
from s2s_assets.ratings.leases import Assignment, Handout, expire_leases, overdue, renew
from s2s_assets.ratings.mos import show_mos
from s2s_assets.ratings.schema import WANTED, assignment, pair
from s2s_assets.ratings.shown import CLOSED, Clip, Kind, Shown, close_task, new_task, open_task
from s2s_assets.ratings.sittings import Sitting, end
from s2s_assets.ratings.steps import Step, steps_of
from s2s_assets.ratings.store import Clock, RatingsStore, utc_now
from s2s_assets.study import OVERALL, Rubric, Script, Study


@dataclass(frozen=True)
class Desk:
    """All that handing out and taking in needs."""

    store: RatingsStore
    study: Study
    scripts: Mapping[str, Script]
    clock: Clock = utc_now
    traps: Sequence[Clip] = ()
    """The clips of the study's traps, in its order."""
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def plan(self, sitting: str) -> dict[int, Kind]:
        """Which places of a sitting hold which control."""
        return control_plan(self.study, sitting, len(self.scripts))

    def tasks(self, work: Work, sitting: str = "") -> int:
        """How many tasks a sitting has at most, controls included; without its name, about how many."""
        prompts, wanted = len(self.scripts), self.study.sessions.tasks
        if work == "mos":
            return min(wanted, prompts)
        controls = self.plan(sitting)
        return min(wanted + len(controls), prompts - 1 + sum(kind == "repeat" for kind in controls.values()))

    @property
    def rules(self) -> Handout:
        """The study's caps."""
        sessions = self.study.sessions
        return Handout(tasks_per_session=sessions.tasks, prompt_per_rater=sessions.prompt_per_rater)

    def steps(self, kind: str, prompt: str, rater: str) -> tuple[Step, ...]:
        """The pages of a task about a prompt."""
        return steps_of(self._questions(kind, prompt), rater)

    def _questions(self, kind: str, prompt: str) -> tuple[Rubric, ...]:
        if kind == "mos":
            return self.study.sessions.mos_questions
        if kind == "training":
            return tuple(r for r in self.study.rubrics if r.id in (gold_rubric(self.study), OVERALL))
        script = self.scripts.get(prompt)
        return self.study.rubrics_for(frozenset() if script is None else script.tags)


@dataclass(frozen=True)
class Progress:
    """How far a sitting is: tasks that were answered, and how many there will be at most."""

    done: int
    total: int


def next_task(desk: Desk, sat: Sitting) -> Shown | None:
    """The sitting's open task, made where it has none; None, and the sitting is ended, where there is nothing more."""
    with desk.store.reading() as connection:
        shown = open_task(connection, sat.id)
        abandoned = overdue(connection, desk.clock())
    if sat.excluded:
        _leave(desk, sat, shown)
        return None
    if shown is not None:
        shown = _under_way(desk, sat, shown)
    if shown is not None:
        return shown
    if abandoned:
        expire_leases(desk.store, desk.clock())
    # single responses are handed out by one at a time
    with desk.store.importing() if sat.work == "mos" else desk.store.writing() as connection:
        if _show_next(desk, connection, sat):
            return open_task(connection, sat.id)
    if sat.stage == "training":
        end(desk.store, sat, "no_work", desk.clock())
    else:
        _leave(desk, sat, None)
    return None


def more_work(desk: Desk, sat: Sitting) -> bool:
    """Whether a further sitting of this rater would find a pair."""
    mine = select(assignment.c.pair_id).where(assignment.c.rater_id == sat.rater.id)
    query = select(pair.c.id).where(text(WANTED), pair.c.id.not_in(mine)).limit(1)
    with desk.store.reading() as connection:
        return connection.execute(query).first() is not None


def progress_of(desk: Desk, sat: Sitting, shown: Shown) -> Progress:
    """How far a sitting is at the task it is shown; the training pair is none of its tasks."""
    return Progress(shown.position, max(desk.tasks(sat.work, sat.name), shown.position + 1))


def _tasks_so_far(connection: Connection, sat: Sitting) -> Sequence[Row[Any]]:
    """What the sitting was shown."""
    return connection.execute(_SO_FAR, {"sitting_id": sat.id}).all()


def _done(so_far: Sequence[Row[Any]]) -> int:
    """How many tasks were answered; the training pair is none of them."""
    return sum(row.state in CLOSED and row.kind != "training" for row in so_far)


def _leave(desk: Desk, sat: Sitting, shown: Shown | None) -> None:
    """There is nothing more for this sitting: `done` where it answered anything."""
    now = desk.clock()
    with desk.store.writing() as connection:
        if shown is not None:
            close_task(connection, shown.id, "expired", now)
        done = _done(_tasks_so_far(connection, sat))
    end(desk.store, sat, "done" if done else "no_work", now)


def _under_way(desk: Desk, sat: Sitting, shown: Shown) -> Shown | None:
    """The task as it goes on: its lease runs, or can be taken up again. None where it cannot, and is closed."""
    runs = shown.expires_at is None or shown.expires_at >= desk.clock()
    if runs and (shown.kind != "pair" or shown.assignment == "leased"):
        return shown
    with desk.store.writing() as connection:
        if shown.kind not in ("pair", "mos"):
            keep_control(connection, shown.id, desk.clock())
            return open_task(connection, sat.id)
        if shown.assignment_id is not None and renew(connection, shown.assignment_id, desk.clock, desk.rules):
            return open_task(connection, sat.id)
        close_task(connection, shown.id, "expired", desk.clock())
    return None


def _show_next(desk: Desk, connection: Connection, sat: Sitting) -> bool:
    """Make the sitting's next task; False where there is nothing more for it."""
    if sat.stage == "training":
        return _control(desk, connection, sat, "training", 0)
    so_far, sessions = _tasks_so_far(connection, sat), desk.study.sessions
    position = _done(so_far)
    if sat.work == "mos":
        if position >= sessions.tasks:
            return False
        return show_mos(connection, sat, sessions.mos_votes, position, desk.rng, desk.clock)
    kind = desk.plan(sat.name).get(position)
    # a control that was made already ended without an answer
    had_control = any(row.position == position and row.kind not in ("pair", "training") for row in so_far)
    if kind is not None and not had_control and _control(desk, connection, sat, kind, position):
        return True
    heard = {row.prompt for row in so_far}
    given = assign(connection, sat.rater, sat.name, desk.rng, desk.clock, desk.rules, heard)
    if given is None:
        return False
    _show_pair(connection, sat, given, position, desk.clock())
    return True


def _control(desk: Desk, connection: Connection, sat: Sitting, kind: Kind, position: int) -> bool:
    return show_control(connection, desk.study, sat.id, kind, position, desk.clock(), desk.traps)


def _show_pair(connection: Connection, sat: Sitting, given: Assignment, position: int, now: datetime) -> None:
    """Show the assignment; one that another sitting of the rater has open moves over, with all that was saved of it."""
    moved = task.update().where(task.c.assignment_id == given.id, task.c.state == "open")
    if connection.execute(moved.values(sitting_id=sat.id, position=position)).rowcount:
        return
    first, second = given.response_a, given.response_b
    if given.first == "b":
        first, second = second, first
    subjects = {"prompt": given.prompt, "first": first, "second": second}
    clips = tuple(Clip(role, sound.blob, sound.duration_s, token=sound.token) for role, sound in given.sounds.items())
    more = {"assignment_id": given.id, "nonce": given.nonce}
    new_task(connection, sat.id, "pair", position, subjects, clips, now, **more)


_SO_FAR = select(*task.c["prompt", "kind", "state", "position"]).where(task.c.sitting_id == bindparam("sitting_id"))
