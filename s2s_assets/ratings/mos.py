"""Single responses to rate by themselves (MOS): each heard once by so many raters, in sittings of their own.

A vote takes a slot of its response, at most one live task a slot by index; so each response gets exactly as many votes
as the study asks. A rater gets a response once, and in a sitting one response to a prompt. Those with the fewest votes
come first. A task that is left lying gives its slot back after `LEASE`.
"""

from collections import Counter
from datetime import timedelta

import numpy as np
from sqlalchemy import Connection, select, text, union

from s2s_assets.ratings.app_schema import MOS_VOTES, sitting, task
from s2s_assets.ratings.schema import pair
from s2s_assets.ratings.shown import clip_of, new_task
from s2s_assets.ratings.sittings import Sitting
from s2s_assets.ratings.store import Clock, RatingsStore

LEASE = timedelta(minutes=20)


def show_mos(
    store: RatingsStore, sat: Sitting, votes: int, position: int, rng: np.random.Generator, clock: Clock
) -> bool:
    """Make a single response the sitting's open task; False where none is left for this rater."""
    with store.importing() as connection:
        now = clock()
        over = (task.c.kind == "mos") & (task.c.state == "open") & (task.c.expires_at < now)
        connection.execute(task.update().where(over).values(state="expired", closed_at=now))
        taken = Counter(connection.execute(select(task.c.first).where(text(MOS_VOTES))).scalars())
        candidates = [
            (prompt, response)
            for prompt, response in _responses(connection, sat)
            if taken[response] < votes
        ]  # fmt: skip
        luck = rng.permutation(len(candidates))
        for k in sorted(range(len(candidates)), key=lambda k: (taken[candidates[k][1]], luck[k])):
            prompt, response = candidates[k]
            clips = (
                clip_of(connection, "prompt", "prompt", prompt),
                clip_of(connection, "first", "response", response),
            )
            if clips[0] is None or clips[1] is None:
                continue
            slot = _free_slot(connection, response, votes)
            subjects = {"prompt": prompt, "first": response}
            more = {"slot": slot, "expires_at": now + LEASE}
            new_task(connection, sat.id, "mos", position, subjects, (clips[0], clips[1]), now, **more)
            return True
    return False


def _responses(connection: Connection, sat: Sitting) -> list[tuple[str, str]]:
    """Prompt and response of what this rater may be given, sorted."""
    sides = (
        select(pair.c.prompt, side).where(pair.c.state == "open") for side in (pair.c.response_a, pair.c.response_b)
    )
    mine = task.join(sitting, sitting.c.id == task.c.sitting_id)
    had = select(*task.c["prompt", "first", "sitting_id"]).select_from(mine).where(sitting.c.rater_id == sat.rater.id)
    rows = connection.execute(had).all()
    responses, prompts = {row.first for row in rows}, {row.prompt for row in rows if row.sitting_id == sat.id}
    found = connection.execute(union(*sides)).tuples().all()
    return sorted((p, r) for p, r in found if r is not None and r not in responses and p not in prompts)


def _free_slot(connection: Connection, response: str, votes: int) -> int:
    live = select(task.c.slot).where(text(MOS_VOTES), task.c.first == response)
    used = set(connection.execute(live).scalars())
    return next(k for k in range(votes) if k not in used)
