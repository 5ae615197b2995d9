"""Handing out work: a slot of a pair leased to a rater, exactly k votes a pair under any concurrency.

A pair is eligible for a rater where it is open and has a slot that no lease or vote takes, the rater never had the pair,
its prompt is below the rater's caps, and fewer than two raters met a technical problem in it. Of the eligible pairs with the fewest slots taken, up to 200 from a random
place on are weighed, and the pair wins whose prompt, then whose configs, the rater has met least; ties are random. The
slot is the pair's lowest free one and decides which response is heard first, so order is balanced within each pair.

Leases that ran out are taken back before anything is handed out. The rater's row is locked first, then one pair's:
SQLite's write lock does both, Postgres locks rows and skips pairs that another transaction holds, waiting for one only
where no other is left. Should all of this be wrong, the unique index over live (pair, slot) refuses the third vote.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, func, select, text

from s2s_assets.ratings.exclude import live_targets
from s2s_assets.ratings.leases import Assignment, Handout, expire_leases, lease, leased
from s2s_assets.ratings.schema import PROBLEM, WANTED, assignment, pair, rater
from s2s_assets.ratings.store import Clock, Rater, RatingsStore, utc_now

_SHUFFLE_RANGE = 2**31
PROBLEMS_HOLD = 2
"""Reports of technical problems after which a pair is not handed out."""


def next_assignment(
    store: RatingsStore,
    who: Rater,
    session: str,
    rng: np.random.Generator,
    clock: Clock = utc_now,
    rules: Handout | None = None,
    barred: Collection[str] = (),
) -> Assignment | None:
    """The rater's next task; the one that is under way, where there is one.

    Args:
        store: The study's database.
        who: The rater.
        session: Name of the rater's sitting.
        rng: Where among the candidates to start, and how ties fall.
        clock: Called once the locks are held, so that waiting for them costs no lease time.
        rules: Caps and lease times.
        barred: Prompts that the sitting has heard in other ways.

    Returns:
        None where the rater is excluded, has had the session's tasks, or nothing is left for them.
    """
    rules = rules or Handout()
    expire_leases(store, clock())
    with store.writing() as connection:
        connection.execute(select(rater.c.id).where(rater.c.id == who.id).with_for_update(key_share=True))
        met = _met(connection, who)
        under_way = next((row for row in met if row.state == "leased"), None)
        if under_way is not None:
            return leased(connection, under_way.nonce)
        if who.name in live_targets(connection, "rater"):
            return None
        if sum(row.session == session for row in met) >= rules.tasks_per_session:
            return None
        chosen = _choose(connection, who, met, session, rng, rules, barred)
        return None if chosen is None else lease(connection, chosen, who, session, clock(), rules)


def _met(connection: Connection, who: Rater) -> Sequence[Row[Any]]:
    columns = (*assignment.c["state", "session", "nonce"], *pair.c["prompt", "config_a", "config_b"])
    joined = assignment.join(pair, pair.c.id == assignment.c.pair_id)
    return connection.execute(select(*columns).select_from(joined).where(assignment.c.rater_id == who.id)).all()


def _choose(
    connection: Connection,
    who: Rater,
    met: Sequence[Row[Any]],
    session: str,
    rng: np.random.Generator,
    rules: Handout,
    also_barred: Collection[str],
) -> Row[Any] | None:
    """Lock and return the best pair that can be had, None where none is left."""
    heard = Counter(row.prompt for row in met)
    heard_now = Counter(row.prompt for row in met if row.session == session)
    barred = {p for p, n in heard.items() if n >= rules.prompt_per_rater or heard_now[p] >= rules.prompt_per_session}
    barred |= set(also_barred)
    configs = Counter(config for row in met for config in (row.config_a, row.config_b))
    eligible = (
        select(pair)
        .where(text(WANTED), pair.c.prompt.not_in(barred))
        .where(pair.c.id.not_in(select(assignment.c.pair_id).where(assignment.c.rater_id == who.id)))
        .where(pair.c.id.not_in(_troubled()))
    )
    # a pair that filled up between the look and the lock sends us to the next round
    while candidates := _window(connection, eligible, rng, rules.candidates):
        luck = rng.permutation(len(candidates))
        rank = sorted(
            range(len(candidates)),
            key=lambda i: (
                heard[candidates[i].prompt],
                configs[candidates[i].config_a] + configs[candidates[i].config_b],
                luck[i],
            ),
        )
        for locked in _locks(connection, [candidates[i].id for i in rank]):
            return locked
    return None


def _troubled() -> "Select[Any]":
    """Pairs that several raters could not rate for technical problems; they wait for someone to look."""
    reports = select(assignment.c.pair_id).where(text(PROBLEM)).group_by(assignment.c.pair_id)
    return reports.having(func.count() >= PROBLEMS_HOLD)


def _window(connection: Connection, eligible: "Select[Any]", rng: np.random.Generator, size: int) -> list[Row[Any]]:
    """Up to `size` pairs of the lowest fill level, from a random place on in their fixed random order."""
    lowest = connection.execute(eligible.order_by(pair.c.taken).limit(1)).first()
    if lowest is None:
        return []
    level = eligible.where(pair.c.taken == lowest.taken).order_by(pair.c.shuffle).limit(size)
    start = int(rng.integers(_SHUFFLE_RANGE))
    rows = list(connection.execute(level.where(pair.c.shuffle >= start)))
    if len(rows) < size:
        rows += list(connection.execute(level.where(pair.c.shuffle < start)))[: size - len(rows)]
    return rows


def _locks(connection: Connection, ids: list[int]) -> Iterator[Row[Any]]:
    """Lock the pairs one by one, those first that nobody holds, and give each that still has a slot."""
    for wait in (False, True):
        for pair_id in ids:
            query = select(pair).where(pair.c.id == pair_id, text(WANTED))
            row = connection.execute(query.with_for_update(key_share=True, skip_locked=not wait)).first()
            if row is not None:
                yield row
