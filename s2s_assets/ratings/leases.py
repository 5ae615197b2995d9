"""Leases: a slot given to a rater for a time.

A lease lasts max(10 min, 6 × what there is to hear) from the moment the locks are held, and longer with each heartbeat.
One that ran out is taken back before the next task is handed out, and its slot is free again. The rater who left it is
not given that pair a second time, but may take it up again while the slot is still free (`renew`). A technical problem
gives the slot back at once (`give_back`).
"""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, or_, select, text

from s2s_assets.ratings.schema import LIVE, assignment, media, media_token, pair, slot
from s2s_assets.ratings.store import Clock, Rater, RatingsStore, utc_now


@dataclass(frozen=True)
class Handout:
    """The rules of handing out."""

    tasks_per_session: int = 20
    prompt_per_session: int = 1
    prompt_per_rater: int = 2
    candidates: int = 200
    min_lease_s: float = 600.0
    lease_per_audio_s: float = 6.0


@dataclass(frozen=True)
class Assignment:
    """A pair leased to a rater. For the server's side only: it tells the configs."""

    nonce: str
    pair: str
    prompt: str
    config_a: str
    config_b: str
    response_a: str
    response_b: str
    slot: int
    first: str
    """`a` or `b`: the response that is heard first."""
    session: str
    leased_at: datetime
    expires_at: datetime
    tokens: dict[str, str]
    """Opaque names of what is heard: `prompt`, `first`, `second`."""


def heartbeat(store: RatingsStore, nonce: str, clock: Clock = utc_now, rules: Handout | None = None) -> datetime | None:
    """Extend a lease that still runs, as playing does; its new end, or None where it has ended."""
    rules = rules or Handout()
    with store.writing() as connection:
        now = clock()
        running = (assignment.c.nonce == nonce) & (assignment.c.state == "leased") & (assignment.c.expires_at >= now)
        row = connection.execute(select(assignment.c.pair_id).where(running).with_for_update(key_share=True)).first()
        if row is None:
            return None
        expires_at = now + _lease_time(connection, row.pair_id, rules)
        connection.execute(assignment.update().where(running).values(expires_at=expires_at))
    return expires_at


def expire_leases(store: RatingsStore, now: datetime) -> int:
    """Take back the slots of leases that ran out before `now`; how many there were."""
    over = (assignment.c.state == "leased") & (assignment.c.expires_at < now)
    with store.reading() as connection:
        if connection.execute(select(assignment.c.id).where(over).limit(1)).first() is None:
            return 0
    with store.writing() as connection:
        query = select(*assignment.c["id", "pair_id"]).where(over).with_for_update(skip_locked=True, key_share=True)
        rows = connection.execute(query).all()
        if rows:
            ids = [row.id for row in rows]
            connection.execute(assignment.update().where(assignment.c.id.in_(ids)).values(state="expired"))
            free = pair.update().where(pair.c.id == bindparam("of")).values(taken=pair.c.taken - bindparam("freed"))
            freed = Counter(row.pair_id for row in rows)
            connection.execute(free, [{"of": pair_id, "freed": n} for pair_id, n in sorted(freed.items())])
    return len(rows)


def renew(connection: Connection, assignment_id: int, clock: Clock = utc_now, rules: Handout | None = None) -> bool:
    """Take up a task that was left: the lease runs again, unless another has the slot or the pair is not open any more."""
    rules = rules or Handout()
    mine = assignment.c.id == assignment_id
    row = connection.execute(select(assignment).where(mine).with_for_update(key_share=True)).one()
    opened = select(pair.c.id).where(pair.c.id == row.pair_id, pair.c.state == "open").with_for_update(key_share=True)
    if row.state not in ("leased", "expired") or connection.execute(opened).first() is None:
        return False
    if row.state == "expired":
        same = (assignment.c.pair_id == row.pair_id) & (assignment.c.slot == row.slot)
        if connection.execute(select(assignment.c.id).where(same, text(LIVE))).first() is not None:
            return False
        connection.execute(pair.update().where(pair.c.id == row.pair_id).values(taken=pair.c.taken + 1))
    expires_at = clock() + _lease_time(connection, row.pair_id, rules)
    connection.execute(assignment.update().where(mine).values(state="leased", expires_at=expires_at))
    return True


def give_back(connection: Connection, assignment_id: int, state: str) -> None:
    """End a lease without a vote; its slot is free again."""
    mine = (assignment.c.id == assignment_id) & assignment.c.state.in_(("leased", "expired"))
    row = connection.execute(
        select(*assignment.c["pair_id", "state"]).where(mine).with_for_update(key_share=True)
    ).first()
    if row is None:
        return
    connection.execute(assignment.update().where(assignment.c.id == assignment_id).values(state=state))
    if row.state == "leased":
        connection.execute(pair.update().where(pair.c.id == row.pair_id).values(taken=pair.c.taken - 1))


def give_back_slots(connection: Connection, ids: Sequence[int]) -> None:
    """Free the slots of votes and leases that are not to count: their assignments are `excluded`, or `expired`."""
    query = select(assignment).where(assignment.c.id.in_(ids), text(LIVE)).order_by(assignment.c.pair_id)
    for row in connection.execute(query.with_for_update(key_share=True)).all():
        state = "excluded" if row.state == "done" else "expired"
        connection.execute(assignment.update().where(assignment.c.id == row.id).values(state=state))
        connection.execute(pair.update().where(pair.c.id == row.pair_id).values(taken=pair.c.taken - 1))


def take_slots_back(connection: Connection, ids: Sequence[int]) -> None:
    """Give excluded votes their slots again, those that nobody else has by now."""
    query = select(assignment).where(assignment.c.id.in_(ids), assignment.c.state == "excluded")
    for row in connection.execute(query.order_by(assignment.c.pair_id)).all():
        connection.execute(select(pair.c.id).where(pair.c.id == row.pair_id).with_for_update(key_share=True))
        same = (assignment.c.pair_id == row.pair_id) & (assignment.c.slot == row.slot)
        if connection.execute(select(assignment.c.id).where(same, text(LIVE))).first() is None:
            connection.execute(assignment.update().where(assignment.c.id == row.id).values(state="done"))
            connection.execute(pair.update().where(pair.c.id == row.pair_id).values(taken=pair.c.taken + 1))


def lease(
    connection: Connection, chosen: Row[Any], who: Rater, session: str, now: datetime, rules: Handout
) -> Assignment:
    """Lease the lowest free slot of a pair whose row is locked and has one; names what is heard anew."""
    live = select(assignment.c.slot).where(assignment.c.pair_id == chosen.id, text(LIVE))
    free = select(slot.c.slot).where(slot.c.pair_id == chosen.id, slot.c.slot.not_in(live)).order_by(slot.c.slot)
    nonce = secrets.token_urlsafe(24)
    row = {
        "pair_id": chosen.id,
        "slot": connection.execute(free.limit(1)).scalar_one(),
        "rater_id": who.id,
        "session": session,
        "state": "leased",
        "nonce": nonce,
        "leased_at": now,
        "expires_at": now + _lease_time(connection, chosen.id, rules),
    }
    assignment_id = connection.execute(assignment.insert().values(row).returning(assignment.c.id)).scalar_one()
    connection.execute(pair.update().where(pair.c.id == chosen.id).values(taken=pair.c.taken + 1))
    given = leased(connection, nonce)
    subjects = {"prompt": ("prompt", given.prompt)}
    order = (given.response_a, given.response_b) if given.first == "a" else (given.response_b, given.response_a)
    subjects |= {role: ("response", response) for role, response in zip(("first", "second"), order, strict=True)}
    for role, (kind, subject) in subjects.items():
        token = {"token": secrets.token_urlsafe(24), "assignment_id": assignment_id, "role": role}
        blob = select(media.c.blob).where(media.c.kind == kind, media.c.subject == subject).scalar_subquery()
        connection.execute(media_token.insert().values(token | {"blob": blob}))
        given.tokens[role] = token["token"]
    return given


def leased(connection: Connection, nonce: str) -> Assignment:
    """The assignment of a nonce, read back with its tokens."""
    joined = assignment.join(pair, pair.c.id == assignment.c.pair_id).join(
        slot, (slot.c.pair_id == assignment.c.pair_id) & (slot.c.slot == assignment.c.slot)
    )
    columns = (
        *assignment.c["id", "nonce", "slot", "session", "leased_at", "expires_at"],
        *pair.c["pair", "prompt", "config_a", "config_b", "response_a", "response_b"],
        slot.c.first,
    )
    row = connection.execute(select(*columns).select_from(joined).where(assignment.c.nonce == nonce)).mappings().one()
    tokens = select(media_token.c.role, media_token.c.token).where(media_token.c.assignment_id == row["id"])
    fields = {name: value for name, value in row.items() if name != "id"}
    return Assignment(**fields, tokens=dict(connection.execute(tokens).tuples().all()))


def media_blob(store: RatingsStore, token: str) -> str | None:
    """The blob reference behind an opaque token, None where there is no such token."""
    with store.reading() as connection:
        return connection.execute(select(media_token.c.blob).where(media_token.c.token == token)).scalar()


def _lease_time(connection: Connection, pair_id: int, rules: Handout) -> timedelta:
    one = pair.c.id == pair_id
    sounds = or_(
        (media.c.kind == "prompt") & (media.c.subject == pair.c.prompt),
        (media.c.kind == "response") & media.c.subject.in_([pair.c.response_a, pair.c.response_b]),
    )
    total = connection.execute(select(func.sum(media.c.duration_s)).select_from(pair.join(media, sounds)).where(one))
    return timedelta(seconds=max(rules.min_lease_s, rules.lease_per_audio_s * (total.scalar() or 0.0)))
