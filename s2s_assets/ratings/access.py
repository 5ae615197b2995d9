"""Who may open the admin pages: whoever holds a link that `s2s ratings admin` made, apart from all that raters have.

A link is signed with the study's key under a purpose of its own, so that no rater's link can be one. It is good for fifteen
minutes and for one browser, which gets a cookie of 192 random bits for twelve hours. Link and cookie are stored as
SHA-256. Nothing is open before a link was made, and ending them all closes every browser at once.
"""

import secrets
from datetime import datetime, timedelta

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import select

from s2s_assets.ratings.app_schema import admin_access
from s2s_assets.ratings.invitations import hashed, study_key
from s2s_assets.ratings.store import RatingsStore

LINK_AGE = timedelta(minutes=15)
ACCESS_AGE = timedelta(hours=12)


def make_access(store: RatingsStore, now: datetime) -> str:
    """The token of a new link, which is told nowhere else."""
    secret = secrets.token_urlsafe(24)
    with store.writing() as connection:
        connection.execute(admin_access.insert().values(secret_hash=hashed(secret), made_at=now))
    return str(_signer(store).dumps(secret))


def admin_link(base_url: str, token: str) -> str:
    """The address to open."""
    return f"{base_url.rstrip('/')}/admin/open/{token}"


def open_access(store: RatingsStore, token: str, now: datetime) -> str | None:
    """The cookie of the browser that opens a link; None where the link is none, too old, used or ended."""
    try:
        secret = str(_signer(store).loads(token))
    except BadSignature:
        return None
    cookie = secrets.token_urlsafe(24)
    row = admin_access.c
    good = (row.secret_hash == hashed(secret)) & row.opened_at.is_(None) & row.ended_at.is_(None)
    fresh = row.made_at > now - LINK_AGE
    opened = {"opened_at": now, "token_hash": hashed(cookie)}
    with store.writing() as connection:
        done = connection.execute(admin_access.update().where(good, fresh).values(opened)).rowcount
    return cookie if done else None


def has_access(store: RatingsStore, cookie: str, now: datetime) -> bool:
    """Whether a browser's cookie opens the admin pages."""
    row = admin_access.c
    good = (row.token_hash == hashed(cookie)) & row.ended_at.is_(None) & (row.opened_at > now - ACCESS_AGE)
    with store.reading() as connection:
        return connection.execute(select(row.id).where(good)).first() is not None


def end_access(store: RatingsStore, now: datetime, cookie: str | None = None) -> int:
    """Close the browser of a cookie, or every link and browser; how many that were."""
    row = admin_access.c
    which = row.ended_at.is_(None) & (True if cookie is None else row.token_hash == hashed(cookie))
    with store.writing() as connection:
        return connection.execute(admin_access.update().where(which).values(ended_at=now)).rowcount


def _signer(store: RatingsStore) -> URLSafeSerializer:
    return URLSafeSerializer(study_key(store), salt=f"s2s admin {store.study}")
