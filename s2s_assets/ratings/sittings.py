"""A rater's way from consent to the code, one row a sitting.

```
consent → sound → headphones → training → tasks → end
```

A sitting begins with consent; nothing is stored before. The browser holds a random token in a cookie, the database its
hash. Coming again by the same link as the same person finds the same sitting: it goes on where it was, with a new
token, so that one browser at a time holds it. Where a sitting stands follows from what its row holds; each step is
stored once, whatever is sent twice.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, func, select

from s2s_assets.ratings.app_schema import invitation, sitting
from s2s_assets.ratings.consents import ConsentText, keep_text
from s2s_assets.ratings.exclude import excluded_now
from s2s_assets.ratings.invitations import Claims, Invitation, Panel, Work, hashed
from s2s_assets.ratings.schema import rater
from s2s_assets.ratings.store import Rater, RatingsStore, enrol, insert_new, insert_one

Stage = Literal["sound", "headphones", "training", "tasks", "end"]
Outcome = Literal["done", "failed", "no_work"]
SOUND_TRIES = 4
HEADPHONE_TRIES = 2


@dataclass(frozen=True)
class Sitting:
    """Where one sitting stands."""

    id: int
    name: str
    rater: Rater
    invitation_id: int
    panel: Panel
    work: Work
    language: str
    shortcuts: bool
    claim: str
    person: str
    sound_tries: int
    sound_at: datetime | None
    headphone_tries: int
    headphone_answers: tuple[int, ...]
    headphones: str | None
    """`passed`, `failed` or `off` once the check is over."""
    trained_at: datetime | None
    notice: str | None
    """What the next page says first, once."""
    outcome: Outcome | None
    revoked: bool
    """Whether the link was."""
    excluded: bool
    """Whether the rater is."""

    @property
    def stage(self) -> Stage:
        """The page that is next."""
        if self.outcome is not None:
            return "end"
        if self.sound_at is None:
            return "sound"
        if self.headphones is None:
            return "headphones"
        return "training" if self.trained_at is None and self.work == "pairs" else "tasks"


def begin(
    store: RatingsStore, found: Invitation, claims: Claims, language: str, consent: ConsentText, now: datetime
) -> tuple[Sitting, str]:
    """The sitting of a person who consented, made or found, and its new token.

    Args:
        store: The study's database.
        found: The link.
        claims: Who came by it.
        language: Of the app's words.
        consent: The text that was agreed to; kept where the sitting is new.
        now: Aware time.
    """
    who = enrol(store, found.panel, claims.person, now)
    token = secrets.token_urlsafe(32)
    row = _new_sitting(found.id, who, claims.session, language, consent.version, token, now)
    mine = _of(found, claims)
    with store.writing() as connection:
        if insert_one(connection, sitting, row) is not None:
            keep_text(connection, consent)
        connection.execute(sitting.update().where(mine, sitting.c.rater_id == who.id).values(token_hash=hashed(token)))
    sat = by_token(store, token)
    assert sat is not None
    return sat, token


def begin_again(store: RatingsStore, sat: Sitting, now: datetime) -> str:
    """A further sitting of a personal link's rater, who need not consent and train again; its token."""
    token = secrets.token_urlsafe(32)
    mine = (sitting.c.invitation_id == sat.invitation_id) & (sitting.c.rater_id == sat.rater.id)
    with store.writing() as connection:
        count = connection.execute(select(func.count()).select_from(sitting).where(mine)).scalar_one()
        last = connection.execute(select(sitting).where(sitting.c.id == sat.id)).one()
        row = _new_sitting(sat.invitation_id, sat.rater, str(count + 1), sat.language, last.consent, token, now)
        insert_new(connection, sitting, [row | {"shortcuts": sat.shortcuts, "trained_at": now}])
    return token


def latest_claim(store: RatingsStore, found: Invitation) -> str:
    """The newest sitting of a personal link; empty before the first."""
    query = select(sitting.c.claim).where(sitting.c.invitation_id == found.id).order_by(sitting.c.id.desc())
    with store.reading() as connection:
        return connection.execute(query.limit(1)).scalar() or ""


def known(store: RatingsStore, found: Invitation, claims: Claims) -> bool:
    """Whether this person has a sitting by this link already."""
    same = (rater.c.provider == found.panel) & (rater.c.external_id == claims.person)
    joined = sitting.join(rater, rater.c.id == sitting.c.rater_id)
    with store.reading() as connection:
        query = select(sitting.c.id).select_from(joined).where(_of(found, claims), same)
        return connection.execute(query).first() is not None


def by_token(store: RatingsStore, token: str) -> Sitting | None:
    """The sitting whose cookie this is."""
    with store.reading() as connection:
        row = connection.execute(_BY_TOKEN, {"hashed": hashed(token)}).first()
    return None if row is None else _sitting(row)


def answer_sound(store: RatingsStore, sat: Sitting, attempt: int, right: bool, now: datetime) -> None:
    """One try at the sound check; wrong `SOUND_TRIES` times ends the sitting."""
    if attempt != sat.sound_tries or sat.sound_at is not None:
        return
    values: dict[str, Any] = {"sound_tries": attempt + 1, "notice": None if right else "sound_wrong"}
    values |= {"sound_at": now} if right else {}
    if not right and attempt + 1 >= SOUND_TRIES:
        values |= _ended("failed", now)
    _change(store, sat, sitting.c.sound_tries == attempt, values)


def answer_headphones(
    store: RatingsStore, sat: Sitting, answer: int, right: int, needed: int, trials: int, ends_at: datetime | None
) -> None:
    """One trial of the headphone check; after the last the check is passed, begun again, or failed for good.

    Args:
        store: The study's database.
        sat: The sitting.
        answer: What was chosen in the trial that is due.
        right: How many of the try's answers are right, this one included.
        needed: How many must be.
        trials: How many a try has.
        ends_at: When the sitting ends if this fails the check; None where it goes on.
    """
    given = [*sat.headphone_answers, answer]
    values: dict[str, Any] = {"headphone_answers": given, "notice": None}
    if len(given) == trials:
        values |= {"headphone_tries": sat.headphone_tries + 1, "headphone_answers": []}
        if right >= needed:
            values |= {"headphones": "passed"}
        elif sat.headphone_tries + 1 < HEADPHONE_TRIES:
            values |= {"notice": "headphones_wrong"}
        else:
            values |= {"headphones": "failed"} | ({} if ends_at is None else _ended("failed", ends_at))
    _change(store, sat, sitting.c.headphone_tries == sat.headphone_tries, values)


def skip_headphones(store: RatingsStore, sat: Sitting, why: Literal["off", "none"]) -> None:
    """Go on without the check: the study has none (`off`), or the rater has no headphones (`none`)."""
    _change(store, sat, sitting.c.headphones.is_(None), {"headphones": why, "notice": None})


def end(store: RatingsStore, sat: Sitting, outcome: Outcome, now: datetime) -> None:
    """End a sitting; the first end stays."""
    _change(store, sat, sitting.c.outcome.is_(None), _ended(outcome, now))


def trained(connection: Connection, sitting_id: int, notice: str, now: datetime) -> None:
    """The training pair is done."""
    mine = (sitting.c.id == sitting_id) & sitting.c.trained_at.is_(None)
    connection.execute(sitting.update().where(mine).values(trained_at=now, notice=notice))


def told(connection: Connection, sitting_id: int, notice: str, failed_at: datetime | None) -> None:
    """Set what the next page says first, and end the sitting as failed where a time is given."""
    values = {"notice": notice} if failed_at is None else _ended("failed", failed_at)
    connection.execute(sitting.update().where(sitting.c.id == sitting_id).values(values))


def set_notice(store: RatingsStore, sat: Sitting, notice: str | None) -> None:
    """What the next page says first."""
    _change(store, sat, sitting.c.id == sat.id, {"notice": notice})


def set_preferences(store: RatingsStore, sat: Sitting, language: str, shortcuts: bool) -> None:
    """Language of the app's words, and whether single keys do things."""
    _change(store, sat, sitting.c.id == sat.id, {"language": language, "shortcuts": shortcuts})


def _new_sitting(
    invitation_id: int, who: Rater, claim: str, language: str, consent: str, token: str, now: datetime
) -> dict[str, Any]:
    return {
        "name": f"s-{secrets.token_hex(8)}",
        "token_hash": hashed(token),
        "invitation_id": invitation_id,
        "rater_id": who.id,
        "claim": claim,
        "language": language,
        "shortcuts": True,
        "consent": consent,
        "started_at": now,
        "sound_tries": 0,
        "headphone_tries": 0,
        "headphone_answers": [],
    }


def _of(found: Invitation, claims: Claims) -> Any:
    return (sitting.c.invitation_id == found.id) & (sitting.c.claim == claims.session)


def _ended(outcome: Outcome, now: datetime) -> dict[str, Any]:
    return {"outcome": outcome, "ended_at": now, "notice": None}


def _change(store: RatingsStore, sat: Sitting, still: Any, values: dict[str, Any]) -> None:
    with store.writing() as connection:
        connection.execute(sitting.update().where(sitting.c.id == sat.id, still).values(values))


def _sitting(row: Row[Any]) -> Sitting:
    return Sitting(
        id=row.id,
        name=row.name,
        rater=Rater(row.rater_id, row.rater, row.simulated),
        invitation_id=row.invitation_id,
        panel=row.panel,
        work=row.work,
        language=row.language,
        shortcuts=row.shortcuts,
        claim=row.claim,
        person=row.external_id,
        sound_tries=row.sound_tries,
        sound_at=row.sound_at,
        headphone_tries=row.headphone_tries,
        headphone_answers=tuple(row.headphone_answers),
        headphones=row.headphones,
        trained_at=row.trained_at,
        notice=row.notice,
        outcome=row.outcome,
        revoked=row.revoked_at is not None,
        excluded=bool(row.excluded),
    )


_BY_TOKEN = (
    select(
        sitting,
        *(rater.c.name.label("rater"), rater.c.external_id, rater.c.simulated),
        *invitation.c["panel", "work", "revoked_at"],
        excluded_now("rater", rater.c.name).label("excluded"),
    )
    .select_from(
        sitting.join(rater, rater.c.id == sitting.c.rater_id).join(
            invitation, invitation.c.id == sitting.c.invitation_id
        )
    )
    .where(sitting.c.token_hash == bindparam("hashed"))
)
