"""Handing out work: a slot of a pair leased to a rater, exactly k votes a pair under any concurrency.

A pair is eligible for a rater where it is open and has a slot that no lease or vote takes, the rater never had the pair,
its prompt is below the rater's caps, and fewer than two raters met a technical problem in it. Of the eligible pairs with
the fewest slots taken, up to 200 from a random place on are weighed, and the pair wins whose prompt, then whose configs,
the rater has met least; ties are random. The slot is the pair's lowest free one and decides which response is heard
first, so order is balanced within each pair.

Leases that ran out are taken back before anything is handed out. The rater's row is locked first, then one pair's:
SQLite's write lock does both, Postgres locks rows and skips pairs that another transaction holds, waiting for one only
where no other is left. Should all of this be wrong, the unique index over live (pair, slot) refuses the third vote.

All pairs but the winner stay in the database: one statement finds the lowest level, cuts the window from the index over
pairs that have a slot to give (`ix_pair_wanted`), weighs it, and locks the best. It reads some 200 rows, however many
pairs are open.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    bindparam,
    cast,
    func,
    select,
    text,
    union_all,
)

from s2s_assets.ratings.exclude import is_excluded
from s2s_assets.ratings.leases import Assignment, Handout, expire_leases, lease, leased
from s2s_assets.ratings.schema import PROBLEM, WANTED, assignment, pair, rater
from s2s_assets.ratings.store import Clock, Rater, RatingsStore, utc_now

_SHUFFLE_RANGE = 2**31
PROBLEMS_HOLD = 2
"""Reports of technical problems after which a pair is not handed out."""
HELD = (
    select(assignment.c.pair_id)
    .where(text(PROBLEM))
    .group_by(assignment.c.pair_id)
    .having(func.count() >= PROBLEMS_HOLD)
)
"""Pairs that several raters could not rate for technical problems; they wait for someone to look."""


def next_assignment(
    store: RatingsStore,
    who: Rater,
    session: str,
    rng: np.random.Generator,
    clock: Clock = utc_now,
    rules: Handout | None = None,
) -> Assignment | None:
    """The rater's next task; the one that is under way, where there is one.

    Args:
        store: The study's database.
        who: The rater.
        session: Name of the rater's sitting.
        rng: Where among the candidates to start, and how ties fall.
        clock: Called once the locks are held, so that waiting for them costs no lease time.
        rules: Caps and lease times.

    Returns:
        None where the rater is excluded, has had the session's tasks, or nothing is left for them.
    """
    expire_leases(store, clock())
    with store.writing() as connection:
        return assign(connection, who, session, rng, clock, rules or Handout())


def assign(
    connection: Connection,
    who: Rater,
    session: str,
    rng: np.random.Generator,
    clock: Clock,
    rules: Handout,
    barred: Collection[str] = (),
) -> Assignment | None:
    """`next_assignment` inside a writing transaction that does more; leases that ran out are taken back before it.

    `barred` are prompts that the sitting has heard in other ways.
    """
    connection.execute(_RATER, {"rater_id": who.id})
    met = connection.execute(_GIVEN, {"rater_id": who.id}).all()
    under_way = next((row.nonce for row in met if row.state == "leased"), None)
    if under_way is not None:
        return leased(connection, under_way)
    given = sum(row.session == session for row in met)
    if given >= rules.tasks_per_session or is_excluded(connection, "rater", who.name):
        return None
    of = {"rater_id": who.id, "size": rules.candidates, "pairs": [row.pair_id for row in met]}
    of |= {"prompts": [*barred, *_capped(met, session, rules)]}
    chosen = _choose(connection, of, rng)
    return None if chosen is None else lease(connection, chosen, who, session, clock(), rules)


def _capped(met: Sequence[Row[Any]], session: str, rules: Handout) -> set[str]:
    """Prompts that the rater, or the session, has heard as often as may be."""
    heard, now = Counter(row.prompt for row in met), Counter(row.prompt for row in met if row.session == session)
    return {p for p, n in heard.items() if n >= rules.prompt_per_rater or now[p] >= rules.prompt_per_session}


def _choose(connection: Connection, of: dict[str, Any], rng: np.random.Generator) -> int | None:
    """Lock the best pair that can be had; its id, None where none is left."""
    # a pair that filled up between the look and the lock sends us to the next round
    while True:
        of |= {"start": int(rng.integers(_SHUFFLE_RANGE)), "luck": int(rng.integers(1, _SHUFFLE_RANGE))}
        for query in (_BEST_UNHELD, _BEST_AWAITED):
            if (found := _lock(connection, query, of)) is not None:
                return found
        if connection.execute(_ANY, of).first() is None:
            return None


def _lock(connection: Connection, query: "Select[tuple[int]]", of: dict[str, Any]) -> int | None:
    """The pair that a query locks. Where that is none, nothing stays locked: nobody waits for a pair and holds one."""
    with connection.begin_nested() as attempt:
        found = connection.execute(query, of).scalar()
        if found is None:
            attempt.rollback()
    return found


def _eligible() -> tuple[ColumnElement[bool], ...]:
    """What a pair must be to be given to the rater.

    What the rater had is told by name, not by a query: of a list a planner knows how little it takes away, and so walks
    along the index until the window is full; behind queries it expects next to nothing, and reads and sorts the level.
    """
    return (
        text(WANTED),  # type: ignore[return-value]
        pair.c.prompt.not_in(bindparam("prompts", expanding=True)),
        pair.c.id.not_in(bindparam("pairs", expanding=True)),
        pair.c.id.not_in(HELD),
    )


def _window(eligible: tuple[ColumnElement[bool], ...]) -> CTE:
    """Ids of up to `size` pairs of the lowest fill level, from a place on in their fixed random order, and round."""
    lowest = select(pair.c.taken).where(*eligible).order_by(pair.c.taken).limit(1).scalar_subquery()
    ordered = select(pair.c.id).where(*eligible, pair.c.taken == lowest).order_by(pair.c.shuffle)
    level, start = ordered.limit(bindparam("size")), bindparam("start", type_=Integer)
    arms = (level.where(pair.c.shuffle >= start), level.where(pair.c.shuffle < start))
    return union_all(*(select(arm.subquery()) for arm in arms)).limit(bindparam("size")).cte("candidates")


def _best(window: CTE) -> "Select[tuple[int]]":
    """The pair of the window whose prompt, then whose configs, the rater has met least."""
    met = _GIVEN.cte("met")
    heard = select(met.c.prompt, func.count().label("n")).group_by(met.c.prompt).cte("heard")
    sides = union_all(*(select(met.c[side].label("config")) for side in ("config_a", "config_b"))).subquery()
    configs = select(sides.c.config, func.count().label("n")).group_by(sides.c.config).cte("configs")
    a, b = configs.alias("a"), configs.alias("b")
    joined = (
        window.join(pair, pair.c.id == window.c.id)
        .outerjoin(heard, heard.c.prompt == pair.c.prompt)
        .outerjoin(a, a.c.config == pair.c.config_a)
        .outerjoin(b, b.c.config == pair.c.config_b)
    )
    luck = cast(pair.c.shuffle, BigInteger) * bindparam("luck") % (_SHUFFLE_RANGE - 1)
    least = (func.coalesce(heard.c.n, 0), func.coalesce(a.c.n, 0) + func.coalesce(b.c.n, 0), luck, pair.c.id)
    return select(pair.c.id).select_from(joined).where(_FREE).order_by(*least).limit(1)


_RATER = select(rater.c.id).where(rater.c.id == bindparam("rater_id")).with_for_update(key_share=True)
_GIVEN = (
    select(*assignment.c["pair_id", "state", "session", "nonce"], *pair.c["prompt", "config_a", "config_b"])
    .select_from(assignment.join(pair, pair.c.id == assignment.c.pair_id))
    .where(assignment.c.rater_id == bindparam("rater_id"))
)
"""What the rater was given so far."""
_FREE = (pair.c.state == "open") & (pair.c.taken < pair.c.slots)
"""Asked again of what is chosen: Postgres looks at it anew once it has the row's lock."""
_ELIGIBLE = _eligible()
_ANY = select(pair.c.id).where(*_ELIGIBLE).limit(1)
_BEST = _best(_window(_ELIGIBLE))
_BEST_UNHELD = _BEST.with_for_update(of=pair, key_share=True, skip_locked=True)
_BEST_AWAITED = (
    select(pair.c.id).where(pair.c.id == _BEST.scalar_subquery(), _FREE).with_for_update(of=pair, key_share=True)
)
