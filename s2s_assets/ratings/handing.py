"""What a sitting is shown next: the task under way, a control where one is due, else a pair or a single response.

A task that was left and whose lease ran out is taken up again, with all that was saved of it, while its slot is free; if
another has the slot by then, what was saved stays with the task and the sitting goes on to the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, func, select, text

from s2s_assets.ratings.app_schema import task
from s2s_assets.ratings.assign import next_assignment
from s2s_assets.ratings.controls import control_plan, gold_rubric, show_control
from s2s_assets.ratings.exclude import live_targets
from s2s_assets.ratings.leases import Assignment, Handout, renew
from s2s_assets.ratings.mos import show_mos
from s2s_assets.ratings.schema import WANTED, assignment, media, media_token, pair
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

    def tasks(self, sat: Sitting) -> int:
        """How many tasks a sitting has at most."""
        prompts, wanted = len(self.scripts), self.study.sessions.tasks
        if sat.work == "mos":
            return min(wanted, prompts)
        controls = self.plan(sat.name)
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
    if _excluded(desk, sat):
        _leave(desk, sat)
        return None
    under_way = _under_way(desk, sat)
    if under_way is not None:
        return under_way
    if sat.stage == "training":
        if _control(desk, sat, "training", 0):
            return _open(desk, sat)
        end(desk.store, sat, "no_work", desk.clock())
        return None
    if not _show_next(desk, sat, progress_of(desk, sat).done):
        _leave(desk, sat)
        return None
    return _open(desk, sat)


def more_work(desk: Desk, sat: Sitting) -> bool:
    """Whether a further sitting of this rater would find a pair."""
    mine = select(assignment.c.pair_id).where(assignment.c.rater_id == sat.rater.id)
    query = select(pair.c.id).where(text(WANTED), pair.c.id.not_in(mine)).limit(1)
    with desk.store.reading() as connection:
        return connection.execute(query).first() is not None


def progress_of(desk: Desk, sat: Sitting) -> Progress:
    """Tasks of the sitting; the training pair is none of them."""
    counted = (task.c.sitting_id == sat.id) & task.c.state.in_(CLOSED) & (task.c.kind != "training")
    with desk.store.reading() as connection:
        done = connection.execute(select(func.count()).select_from(task).where(counted)).scalar_one()
    return Progress(int(done), max(desk.tasks(sat), int(done) + 1))


def _excluded(desk: Desk, sat: Sitting) -> bool:
    with desk.store.reading() as connection:
        return sat.rater.name in live_targets(connection, "rater")


def _leave(desk: Desk, sat: Sitting) -> None:
    """There is nothing more for this sitting: `done` where it answered anything."""
    now = desk.clock()
    with desk.store.writing() as connection:
        shown = open_task(connection, sat.id)
        if shown is not None:
            close_task(connection, shown.id, "expired", now)
    end(desk.store, sat, "done" if progress_of(desk, sat).done else "no_work", now)


def _under_way(desk: Desk, sat: Sitting) -> Shown | None:
    shown = _open(desk, sat)
    if shown is None or (shown.kind != "pair" and (shown.expires_at is None or shown.expires_at >= desk.clock())):
        return shown
    if shown.assignment == "leased" and shown.expires_at is not None and shown.expires_at >= desk.clock():
        return shown
    with desk.store.writing() as connection:
        number = select(task.c.assignment_id).where(task.c.id == shown.id).scalar_subquery()
        leased_by = connection.execute(select(assignment.c.id).where(assignment.c.id == number)).scalar()
        if leased_by is not None and renew(connection, leased_by, desk.clock, desk.rules):
            return open_task(connection, sat.id)
        close_task(connection, shown.id, "expired", desk.clock())
    return None


def _open(desk: Desk, sat: Sitting) -> Shown | None:
    with desk.store.reading() as connection:
        return open_task(connection, sat.id)


def _show_next(desk: Desk, sat: Sitting, position: int) -> bool:
    sessions = desk.study.sessions
    if sat.work == "mos":
        if position >= sessions.tasks:
            return False
        return show_mos(desk.store, sat, sessions.mos_votes, position, desk.rng, desk.clock)
    kind = desk.plan(sat.name).get(position)
    if kind is not None and not _had_control(desk, sat, position) and _control(desk, sat, kind, position):
        return True
    given = next_assignment(desk.store, sat.rater, sat.name, desk.rng, desk.clock, desk.rules, _heard(desk, sat))
    if given is None:
        return False
    with desk.store.writing() as connection:
        _show_pair(connection, sat, given, position, desk.clock())
    return True


def _control(desk: Desk, sat: Sitting, kind: Kind, position: int) -> bool:
    with desk.store.writing() as connection:
        return show_control(connection, desk.study, sat.id, kind, position, desk.clock(), desk.traps)


def _had_control(desk: Desk, sat: Sitting, position: int) -> bool:
    """Whether this place's control was made already and ended without an answer."""
    made = (task.c.sitting_id == sat.id) & (task.c.position == position) & task.c.kind.not_in(("pair", "training"))
    with desk.store.reading() as connection:
        return connection.execute(select(task.c.id).where(made)).first() is not None


def _heard(desk: Desk, sat: Sitting) -> set[str]:
    with desk.store.reading() as connection:
        query = select(task.c.prompt).where(task.c.sitting_id == sat.id)
        return set(connection.execute(query).scalars())


def _show_pair(connection: Connection, sat: Sitting, given: Assignment, position: int, now: datetime) -> None:
    number = connection.execute(select(assignment.c.id).where(assignment.c.nonce == given.nonce)).scalar_one()
    moved = task.update().where(task.c.assignment_id == number, task.c.state == "open")
    if connection.execute(moved.values(sitting_id=sat.id)).rowcount:
        return
    first, second = given.response_a, given.response_b
    if given.first == "b":
        first, second = second, first
    subjects = {"prompt": given.prompt, "first": first, "second": second}
    kinds = {"prompt": "prompt", "first": "response", "second": "response"}
    tokens = select(*media_token.c["role", "blob", "token"]).where(media_token.c.assignment_id == number)
    clips = []
    for row in connection.execute(tokens).all():
        of = (media.c.kind == kinds[row.role]) & (media.c.subject == subjects[row.role])
        duration_s = connection.execute(select(media.c.duration_s).where(of)).scalar_one()
        clips.append(Clip(row.role, row.blob, duration_s, token=row.token))
    more = {"assignment_id": number, "nonce": given.nonce}
    new_task(connection, sat.id, "pair", position, subjects, tuple(clips), now, **more)
