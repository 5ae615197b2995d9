"""Links that raters come by: signed, revocable, with their secret stored hashed.

A token is (invitation, secret), signed with the study's key; a link of another study, or one that was altered, is refused
before the database is asked. The secret has 192 bits; the database holds its SHA-256, and when it was revoked, by whom and why.

A *personal* link is one rater's. A panel's link is everybody's whom the panel sends, and carries who it is in parameters
that the panel fills in. Those are claims, not proof: they are bound to the link by which they came, unique per panel,
and to be held against the panel's own list before anybody is paid.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import urlencode

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import Row, select

from s2s_assets.ratings.app_schema import invitation, signing_key
from s2s_assets.ratings.exclude import signed
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import RatingsError

Panel = Literal["personal", "prolific", "mturk", "generic"]
Work = Literal["pairs", "mos"]
PERSON = {"prolific": "PROLIFIC_PID", "mturk": "workerId", "generic": "id"}
"""A panel's parameter for who somebody is."""
_SESSION = {"prolific": "SESSION_ID", "mturk": "assignmentId", "generic": "session"}
_TEMPLATES: dict[str, dict[str, str]] = {
    "personal": {},
    "prolific": {
        "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
        "STUDY_ID": "{{%STUDY_ID%}}",
        "SESSION_ID": "{{%SESSION_ID%}}",
    },
    "mturk": {},
    "generic": {"id": "{id}", "session": "{session}"},
}
"""What a panel fills in; MTurk fills nothing in, its HIT's page adds its own parameters (docs/rating-app.md)."""
_RETURN = {"prolific": "https://app.prolific.com/submissions/complete?cc={code}"}
_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_LONGEST = 200
_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 8


@dataclass(frozen=True)
class Invitation:
    """A link's row."""

    id: int
    panel: Panel
    work: Work
    label: str
    return_url: str | None
    created_at: datetime
    revoked_at: datetime | None
    revoked_by: str | None
    revoked_reason: str | None


@dataclass(frozen=True)
class Claims:
    """Who somebody says they are: the panel's ids of person and submission."""

    person: str
    session: str


def study_key(store: RatingsStore) -> str:
    """The key that signs this study's links; made when it is first asked for."""
    query = select(signing_key.c.key)
    with store.reading() as connection:
        found = connection.execute(query).scalar()
    if found is None:
        with store.writing() as connection:
            insert_new(connection, signing_key, [{"id": 1, "key": secrets.token_urlsafe(32)}])
            found = connection.execute(query).scalar_one()
    return str(found)


def hashed(secret: str) -> str:
    """What is stored of a secret that is long and random."""
    return sha256(secret.encode()).hexdigest()


def invite(
    store: RatingsStore, now: datetime, panel: Panel = "personal", work: Work = "pairs", label: str = "", **more: Any
) -> str:
    """Make an invitation; its token, which is told nowhere else.

    Args:
        store: The study's database.
        now: Aware time.
        panel: Whose raters come by it.
        work: Pairs, or single responses (MOS).
        label: For the people who run the study.
        more: `return_url`, the address that raters are sent to at the end, with `{code}`, `{person}` and `{session}`.

    Raises:
        RatingsError: a return address that is no http address.
    """
    return_url = more.get("return_url") or _RETURN.get(panel)
    if return_url is not None and not return_url.startswith(("https://", "http://")):
        raise RatingsError(f"return address {return_url!r}: expected https://…")
    secret = secrets.token_urlsafe(24)
    row: dict[str, Any] = {"secret_hash": hashed(secret), "panel": panel, "work": work, "label": label}
    row |= {"return_url": return_url, "created_at": now, "revoked_at": None}
    with store.writing() as connection:
        number = connection.execute(invitation.insert().values(row).returning(invitation.c.id)).scalar_one()
    return str(_signer(store).dumps([number, secret]))


def invited(store: RatingsStore, token: str) -> Invitation | None:
    """The invitation of a token; None where the token is none, or was revoked."""
    try:
        number, secret = _signer(store).loads(token)
    except (BadSignature, ValueError, TypeError):
        return None
    found = invitation_of(store, number)
    with store.reading() as connection:
        kept = connection.execute(select(invitation.c.secret_hash).where(invitation.c.id == number)).scalar()
    if found is None or found.revoked_at is not None or not secrets.compare_digest(str(kept), hashed(secret)):
        return None
    return found


def invitation_of(store: RatingsStore, number: int) -> Invitation | None:
    """The invitation of a number, revoked or not."""
    with store.reading() as connection:
        row = connection.execute(select(invitation).where(invitation.c.id == number)).first()
    return None if row is None else _invitation(row)


def invitations(store: RatingsStore) -> list[Invitation]:
    """Every invitation, oldest first."""
    with store.reading() as connection:
        return [_invitation(row) for row in connection.execute(select(invitation).order_by(invitation.c.id))]


def revoke(store: RatingsStore, number: int, author: str, reason: str, now: datetime) -> bool:
    """End an invitation: its link opens nothing any more, and sittings that came by it go no further.

    Returns:
        False where it was revoked already.

    Raises:
        RatingsError: no invitation has this number, or author or reason is empty.
    """
    signed(author, reason, str(number))
    if invitation_of(store, number) is None:
        raise RatingsError(f"invitation {number}: there is none; `s2s ratings invitations` lists them")
    live = (invitation.c.id == number) & invitation.c.revoked_at.is_(None)
    told = {"revoked_at": now, "revoked_by": author, "revoked_reason": reason}
    with store.writing() as connection:
        return connection.execute(invitation.update().where(live).values(told)).rowcount > 0


def link(base_url: str, token: str, panel: Panel) -> str:
    """The address to hand out; a panel's with the panel's own names in the place of its parameters."""
    query = urlencode(_TEMPLATES[panel], safe="{}%")
    return f"{base_url.rstrip('/')}/i/{token}" + (f"?{query}" if query else "")


def claims_of(found: Invitation, parameters: Mapping[str, str]) -> Claims | None:
    """Who a link's parameters say has come; None in a panel's preview, where it is nobody yet.

    Raises:
        RatingsError: a parameter is missing, too long, or holds control characters.
    """
    if found.panel == "personal":
        return Claims(str(found.id), "")
    person = parameters.get(PERSON[found.panel], "").strip()
    session = parameters.get(_SESSION[found.panel], "").strip()
    if session == _PREVIEW:
        return None
    if not person or not all(len(t) <= _LONGEST and (t.isprintable() or not t) for t in (person, session)):
        raise RatingsError(f"{PERSON[found.panel]}: expected the panel's id of a person, up to {_LONGEST} characters")
    return Claims(person, session)


def completion_code(key: str, found: Invitation, sitting: str, outcome: str) -> str:
    """The code that shows a panel how a sitting ended: one for all of a Prolific link, else one for each sitting."""
    of = "" if found.panel == "prolific" else sitting
    number = int.from_bytes(sha256(f"{key}\0{found.id}\0{of}\0{outcome}".encode()).digest())
    letters = (_CODE_LETTERS[(number >> (5 * k)) % len(_CODE_LETTERS)] for k in range(_CODE_LENGTH))
    return "".join(letters)


def completion_codes(store: RatingsStore, found: Invitation) -> dict[str, str]:
    """The codes that a panel must know beforehand, by outcome; none where each sitting has its own."""
    if found.panel != "prolific":
        return {}
    return {outcome: completion_code(study_key(store), found, "", outcome) for outcome in ("done", "failed", "no_work")}


def _signer(store: RatingsStore) -> URLSafeSerializer:
    return URLSafeSerializer(study_key(store), salt=f"s2s invitation {store.study}")


def _invitation(row: Row[Any]) -> Invitation:
    return Invitation(*(getattr(row, one.name) for one in fields(Invitation)))
