"""Leases: a slot given to a rater for a time.

A lease lasts max(10 min, 6 × what there is to hear) from the moment the locks are held, and longer with each heartbeat.
One that ran out is taken back before the next task is handed out, and its slot is free again. The rater who left it is
not given that pair a second time, but may take it up again while the slot is still free (`renew`). A technical problem
gives the slot back at once (`give_back`).
"""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, select, text

from s2s_assets.ratings.heard import ROLES
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
class Sound:
    """What is heard in a role of an assignment."""

    token: str
    """Its opaque name."""
    blob: str
    duration_s: float


@dataclass(frozen=True)
class Assignment:
    """A pair leased to a rater. For the server's side only: it tells the configs."""

    id: int
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
    sounds: dict[str, Sound]
    """What is heard: `prompt`, `first`, `second`."""

    @property
    def tokens(self) -> dict[str, str]:
        """Opaque names of what is heard, by role."""
        return {role: sound.token for role, sound in self.sounds.items()}


_SOUNDS = {of: media.alias(f"heard_{of}") for of in ("prompt", "a", "b")}
_SHOWING = (
    slot.join(pair, pair.c.id == slot.c.pair_id)
    .join(_SOUNDS["prompt"], (_SOUNDS["prompt"].c.kind == "prompt") & (_SOUNDS["prompt"].c.subject == pair.c.prompt))
    .join(_SOUNDS["a"], (_SOUNDS["a"].c.kind == "response") & (_SOUNDS["a"].c.subject == pair.c.response_a))
    .join(_SOUNDS["b"], (_SOUNDS["b"].c.kind == "response") & (_SOUNDS["b"].c.subject == pair.c.response_b))
)
"""A slot with its pair and what there is to hear of it."""
_TOLD = (
    *pair.c["pair", "prompt", "config_a", "config_b", "response_a", "response_b"],
    *slot.c["slot", "first"],
    *(sound.c.blob.label(f"blob_{of}") for of, sound in _SOUNDS.items()),
    *(sound.c.duration_s.label(f"duration_{of}") for of, sound in _SOUNDS.items()),
)


def heartbeat(store: RatingsStore, nonce: str, clock: Clock = utc_now, rules: Handout | None = None) -> datetime | None:
    """Extend a lease that still runs, as playing does; its new end, or None where it has ended."""
    with store.writing() as connection:
        return extend(connection, nonce, clock, rules or Handout())


def extend(connection: Connection, nonce: str, clock: Clock, rules: Handout) -> datetime | None:
    """`heartbeat` inside a writing transaction that does more."""
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
    with store.reading() as connection:
        if not overdue(connection, now):
            return 0
    with store.writing() as connection:
        query = (
            select(*assignment.c["id", "pair_id"]).where(_over(now)).with_for_update(skip_locked=True, key_share=True)
        )
        rows = connection.execute(query).all()
        if rows:
            ids = [row.id for row in rows]
            connection.execute(assignment.update().where(assignment.c.id.in_(ids)).values(state="expired"))
            free = pair.update().where(pair.c.id == bindparam("of")).values(taken=pair.c.taken - bindparam("freed"))
            freed = Counter(row.pair_id for row in rows)
            connection.execute(free, [{"of": pair_id, "freed": n} for pair_id, n in sorted(freed.items())])
    return len(rows)


def overdue(connection: Connection, now: datetime) -> bool:
    """Whether there are leases that ran out before `now` and were not taken back."""
    return connection.execute(select(assignment.c.id).where(_over(now)).limit(1)).first() is not None


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


def lease(connection: Connection, pair_id: int, who: Rater, session: str, now: datetime, rules: Handout) -> Assignment:
    """Lease the lowest free slot of a pair whose row is locked and has one; names what is heard anew."""
    live = select(assignment.c.slot).where(assignment.c.pair_id == pair_id, text(LIVE))
    free = (slot.c.pair_id == pair_id) & slot.c.slot.not_in(live)
    query = select(*_TOLD).select_from(_SHOWING).where(free).order_by(slot.c.slot).limit(1)
    told = connection.execute(query).mappings().one()
    sounds = _sounds(told, {role: secrets.token_urlsafe(24) for role in ROLES})
    made = {
        "slot": told["slot"],
        "session": session,
        "nonce": secrets.token_urlsafe(24),
        "leased_at": now,
        "expires_at": now + lease_of(sum(sound.duration_s for sound in sounds.values()), rules),
    }
    row = made | {"pair_id": pair_id, "rater_id": who.id, "state": "leased"}
    number = connection.execute(assignment.insert().values(row).returning(assignment.c.id)).scalar_one()
    connection.execute(pair.update().where(pair.c.id == pair_id).values(taken=pair.c.taken + 1))
    tokens = [{"token": s.token, "assignment_id": number, "role": role, "blob": s.blob} for role, s in sounds.items()]
    connection.execute(media_token.insert(), tokens)
    return _assignment({**told, **made, "id": number}, sounds)


def leased(connection: Connection, nonce: str) -> Assignment:
    """The assignment of a nonce, read back with its tokens."""
    of_slot = (slot.c.pair_id == assignment.c.pair_id) & (slot.c.slot == assignment.c.slot)
    columns = assignment.c["id", "nonce", "session", "leased_at", "expires_at"]
    query = select(*_TOLD, *columns).select_from(_SHOWING.join(assignment, of_slot)).where(assignment.c.nonce == nonce)
    told = connection.execute(query).mappings().one()
    tokens = select(media_token.c.role, media_token.c.token).where(media_token.c.assignment_id == told["id"])
    return _assignment(told, _sounds(told, dict(connection.execute(tokens).tuples().all())))


def media_blob(store: RatingsStore, token: str) -> str | None:
    """The blob reference behind an opaque token, None where there is no such token."""
    with store.reading() as connection:
        return connection.execute(select(media_token.c.blob).where(media_token.c.token == token)).scalar()


def _over(now: datetime) -> ColumnElement[bool]:
    return (assignment.c.state == "leased") & (assignment.c.expires_at < now)


def _lease_time(connection: Connection, pair_id: int, rules: Handout) -> timedelta:
    durations = (sound.c.duration_s for sound in _SOUNDS.values())
    query = select(*durations).select_from(_SHOWING).where(slot.c.pair_id == pair_id).limit(1)
    return lease_of(sum(connection.execute(query).first() or (0.0,)), rules)


def lease_of(heard_s: float, rules: Handout) -> timedelta:
    """How long a task is kept for a rater: `heard_s` is the length of all its clips together."""
    return timedelta(seconds=max(rules.min_lease_s, rules.lease_per_audio_s * heard_s))


def _sounds(told: Mapping[Any, Any], tokens: Mapping[str, str]) -> dict[str, Sound]:
    """What is heard in each role, from a row of `_TOLD`."""
    first, second = ("a", "b") if told["first"] == "a" else ("b", "a")
    sides = {"prompt": "prompt", "first": first, "second": second}
    return {role: Sound(tokens[role], told[f"blob_{of}"], told[f"duration_{of}"]) for role, of in sides.items()}


def _assignment(told: Mapping[Any, Any], sounds: dict[str, Sound]) -> Assignment:
    names = (field.name for field in fields(Assignment) if field.name != "sounds")
    return Assignment(**{name: told[name] for name in names}, sounds=sounds)
