"""Single responses to rate by themselves (MOS): each heard once by so many raters, in sittings of their own.

A vote takes a slot of its response, at most one live task a slot by index; so each response gets exactly as many votes
as the study asks. A rater gets a response once, and in a sitting one response to a prompt. Among the responses of some
hundred open pairs from a random place on, those with the fewest votes come first. A task that is left lying gives its
slot back after `LEASE`.
"""

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, Select, bindparam, cast, func, select, text, union_all

from s2s_assets.ratings.app_schema import MOS_VOTES, OPEN_TASK, sitting, task
from s2s_assets.ratings.schema import pair
from s2s_assets.ratings.shown import clip_of, new_task
from s2s_assets.ratings.sittings import Sitting
from s2s_assets.ratings.store import Clock

LEASE = timedelta(minutes=20)
_WINDOW = 100
"""Pairs that are looked at on each side of the random place, for either of their responses."""
_LUCK_RANGE = 2**31


def show_mos(
    connection: Connection, sat: Sitting, votes: int, position: int, rng: np.random.Generator, clock: Clock
) -> bool:
    """Make a single response the sitting's open task; False where none is left for this rater.

    Args:
        connection: A transaction in which nobody else hands out single responses.
        sat: The sitting.
        votes: How many each response gets.
        position: How many tasks the sitting answered before.
        rng: Where among the pairs to start, and how ties fall.
        clock: Called once the locks are held.
    """
    now = clock()
    _expire(connection, now)
    last = connection.execute(select(func.max(pair.c.id))).scalar() or 0
    of = {"votes": votes, "rater_id": sat.rater.id, "sitting_id": sat.id}
    of |= {"start": int(rng.integers(last + 1)), "luck": int(rng.integers(1, _LUCK_RANGE))}
    best = connection.execute(_BEST, of).first()
    if best is None:
        return False
    prompt = clip_of(connection, "prompt", "prompt", best.prompt)
    response = clip_of(connection, "first", "response", best.response)
    if prompt is None or response is None:
        return False
    subjects = {"prompt": best.prompt, "first": best.response}
    more = {"slot": _free_slot(connection, best.response, votes), "expires_at": now + LEASE}
    new_task(connection, sat.id, "mos", position, subjects, (prompt, response), now, **more)
    return True


def _expire(connection: Connection, now: datetime) -> None:
    over = (task.c.kind == "mos") & (task.c.expires_at < now)
    connection.execute(task.update().where(text(OPEN_TASK), over).values(state="expired", closed_at=now))


def _free_slot(connection: Connection, response: str, votes: int) -> int:
    live = select(task.c.slot).where(text(MOS_VOTES), task.c.first == response)
    used = set(connection.execute(live).scalars())
    return next(k for k in range(votes) if k not in used)


def _candidates(side: str, from_start: bool) -> "Select[Any]":
    """Responses of one side of open pairs, from the random place on or before it, that this rater may be given."""
    response, start = pair.c[f"response_{side}"], bindparam("start", type_=BigInteger)
    live = select(func.count()).select_from(task).where(text(MOS_VOTES), task.c.first == response).scalar_subquery()
    mine = task.join(sitting, sitting.c.id == task.c.sitting_id)
    had = select(task.c.first).select_from(mine).where(sitting.c.rater_id == bindparam("rater_id"))
    heard = select(task.c.prompt).where(task.c.sitting_id == bindparam("sitting_id"))
    place = pair.c.id >= start if from_start else pair.c.id < start
    columns = (pair.c.id, pair.c.prompt, response.label("response"), live.label("votes"))
    allowed = (pair.c.state == "open", response.not_in(had), pair.c.prompt.not_in(heard), live < bindparam("votes"))
    return select(*columns).where(place, *allowed).order_by(pair.c.id).limit(_WINDOW)


def _best() -> "Select[Any]":
    """Prompt and response of the candidate with the fewest votes."""
    arms = (_candidates(side, from_start) for side, from_start in product("ab", (True, False)))
    window = union_all(*(select(arm.subquery()) for arm in arms)).cte("candidates")
    luck = cast(window.c.id, BigInteger) * bindparam("luck", type_=BigInteger) % (_LUCK_RANGE - 1)
    return select(*window.c["prompt", "response"]).order_by(window.c.votes, luck, window.c.response).limit(1)


_BEST = _best()
