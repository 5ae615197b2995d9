"""Controls among the tasks: pairs whose answer is known, at places that no rater can foresee.

| kind | what is heard | what an attentive rater does |
|---|---|---|
| `null` | one response twice | finds no difference: every score within ±1 |
| `gold` | a response and its spoilt twin | prefers the clean one on the study's gold question |
| `repeat` | a pair of this sitting again, the other way round, at least 8 tasks later | scores about the opposite |
| `trap` | a response, and a voice that asks for a certain answer (where the study has some) | gives it everywhere |

They look like every other task, take no slot, and are stored beside the votes, never among them; cleaning judges by
them. A browser is told when a control's lease ends, as of any task, although nobody waits for it. About one task in eight
is one (`sessions.control_share`), at places drawn by a seed of the sitting. The training pair at the start is a gold pair
of two questions. A prompt that a control has used does not come again in its sitting.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, func, select

from s2s_assets.ratings.app_schema import stimulus, task
from s2s_assets.ratings.leases import Handout, lease_of
from s2s_assets.ratings.schema import pair
from s2s_assets.ratings.shown import CLOSED, Clip, Kind, clip_of, new_task
from s2s_assets.study import OVERALL, Study, generator

REPEAT_GAP = 8
_FIRST_PLACE = 1
_TRIES = 5


def gold_rubric(study: Study) -> str:
    """The question that a spoilt response must lose."""
    wanted = study.sessions.gold_rubric
    return wanted if wanted in {r.id for r in study.rubrics} else OVERALL


def control_plan(study: Study, sitting: str, prompts: int) -> dict[int, Kind]:
    """Which places of a sitting, counted from 0 over all its tasks, hold which control.

    Args:
        study: Its `sessions` say how many tasks there are and which share of them are controls.
        sitting: Name of the sitting.
        prompts: How many there are; a sitting hears each once, the training pair's too.
    """
    rng = generator(study.study, "controls", sitting)
    wanted = round(study.sessions.tasks * study.sessions.control_share)
    total = min(study.sessions.tasks + wanted, max(prompts - 1, 1))
    n = round(total * wanted / (study.sessions.tasks + wanted))
    places = sorted(int(p) for p in rng.choice(_places(total), n, replace=False))
    choices: tuple[Kind, ...] = (
        ("gold", "null", "repeat", "trap") if study.sessions.traps else ("gold", "null", "repeat")
    )
    order = rng.permutation(max(n, len(choices))) % len(choices)
    kinds: list[Kind] = [choices[int(k)] for k in order][:n]
    late = [k for k, place in enumerate(places) if place > REPEAT_GAP]
    for k, kind in enumerate(kinds):
        if kind == "repeat" and k not in late:
            kinds[k] = "gold"
    return dict(zip(places, kinds, strict=True))


def show_control(
    connection: Connection,
    study: Study,
    sitting_id: int,
    kind: Kind,
    position: int,
    now: datetime,
    traps: Sequence[Clip],
) -> bool:
    """Make a control, or the training pair, the sitting's open task; False where nothing serves for it.

    Args:
        connection: A writing transaction.
        study: The study.
        sitting_id: Whose task.
        kind: Of the control, or `training`.
        position: How many tasks the sitting answered before.
        now: Aware time.
        traps: The clips of the study's traps, in its order.
    """
    if kind == "repeat":
        return _show_repeat(connection, sitting_id, position, now)
    rng = generator(study.study, kind, sitting_id, position)
    for _ in range(_TRIES):
        source = _some_pair(connection, sitting_id, float(rng.random()))
        if source is None:
            return False
        response = source.response_a if rng.random() < 0.5 else source.response_b
        second_spoilt = None if kind in ("null", "trap") else bool(rng.random() < 0.5)
        clips = _clips(connection, source.prompt, response, second_spoilt)
        if clips is None:
            continue
        subjects = {"prompt": source.prompt, "first": response, "second": response}
        expected = _expected(study, second_spoilt)
        if kind == "trap":
            number = int(rng.integers(len(traps)))
            trap, clips = study.sessions.traps[number], (*clips[:2], traps[number])
            subjects["second"] = f"trap {trap.file}"
            expected = {"rubric": None, "low": trap.answer, "high": trap.answer}
        more = {"expected": expected, "expires_at": None if kind == "training" else now + _lease(clips)}
        new_task(connection, sitting_id, kind, position, subjects, clips, now, **more)
        return True
    return False


def keep_control(connection: Connection, task_id: int, now: datetime) -> datetime:
    """Keep an open control for as long as a pair is kept; until when."""
    heard = select(func.sum(stimulus.c.duration_s)).where(stimulus.c.task_id == task_id)
    expires_at = now + lease_of(connection.execute(heard).scalar_one(), Handout())
    connection.execute(task.update().where(task.c.id == task_id).values(expires_at=expires_at))
    return expires_at


def as_expected(expected: dict[str, Any], replies: dict[str, int]) -> bool:
    """Whether a control was answered as an attentive rater would."""
    asked = list(replies.values()) if expected["rubric"] is None else [replies.get(expected["rubric"], 0)]
    return all(expected["low"] <= value <= expected["high"] for value in asked)


def _places(total: int) -> range:
    return range(min(_FIRST_PLACE, total - 1), total)


def _expected(study: Study, second_spoilt: bool | None) -> dict[str, Any]:
    if second_spoilt is None:
        return {"rubric": None, "low": -1, "high": 1}
    # on the screen a positive value prefers the second
    low, high = (-3, -1) if second_spoilt else (1, 3)
    return {"rubric": gold_rubric(study), "low": low, "high": high}


def _clips(
    connection: Connection, prompt: str, response: str, second_spoilt: bool | None
) -> tuple[Clip, Clip, Clip] | None:
    clips = (
        clip_of(connection, "prompt", "prompt", prompt),
        clip_of(connection, "first", "response", response, "spoilt" if second_spoilt is False else "plain"),
        clip_of(connection, "second", "response", response, "spoilt" if second_spoilt else "plain"),
    )
    return None if None in clips else clips  # type: ignore[return-value]


def _some_pair(connection: Connection, sitting_id: int, luck: float) -> Row[Any] | None:
    """An open pair of a prompt that this sitting has not had, from a random place on."""
    had = select(task.c.prompt).where(task.c.sitting_id == sitting_id)
    fits = (pair.c.state == "open") & pair.c.prompt.not_in(had)
    last = connection.execute(select(func.max(pair.c.id))).scalar() or 0
    some = select(pair).where(fits).order_by(pair.c.id).limit(1)
    start = int(luck * last)
    return connection.execute(some.where(pair.c.id >= start)).first() or connection.execute(some).first()


def _show_repeat(connection: Connection, sitting_id: int, position: int, now: datetime) -> bool:
    """The earliest pair of the sitting that is far enough back and was not repeated yet, the other way round."""
    mine = task.c.sitting_id == sitting_id
    repeated = select(task.c.first).where(mine, task.c.kind == "repeat")
    far = (task.c.kind == "pair") & task.c.state.in_(CLOSED) & (task.c.position <= position - REPEAT_GAP)
    query = select(task).where(mine, far, task.c.second.not_in(repeated)).order_by(task.c.position).limit(1)
    source = connection.execute(query).first()
    if source is None:
        return False
    clips = (
        clip_of(connection, "prompt", "prompt", source.prompt),
        clip_of(connection, "first", "response", source.second),
        clip_of(connection, "second", "response", source.first),
    )
    if None in clips:
        return False
    subjects = {"prompt": source.prompt, "first": source.second, "second": source.first}
    more = {"expires_at": now + _lease(clips)}  # type: ignore[arg-type]
    new_task(connection, sitting_id, "repeat", position, subjects, clips, now, **more)  # type: ignore[arg-type]
    return True


def _lease(clips: Iterable[Clip]) -> timedelta:
    return lease_of(sum(clip.duration_s for clip in clips), Handout())
