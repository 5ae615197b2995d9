"""What raters agreed to, word for word.

The version of a consent is the study's own number (`sessions.consent.version`) and the first twelve digits of a hash of the
words as they were shown, from the title to the label of the box: `1-3fa9c2d07b14`. A sitting holds that version, the table
`consent_text` its words. So a text that changes under an old number, or is shown in another language, is another version.
Sittings that began before texts were kept hold the number alone.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from s2s_assets.ratings.app_schema import consent_text, sitting
from s2s_assets.ratings.schema import rater
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import digest

_DIGITS = 12


@dataclass(frozen=True)
class ConsentText:
    """A text as raters are shown it."""

    version: str
    language: str
    """Of the app's words in it."""
    text: str
    """Line by line."""


@dataclass(frozen=True)
class Agreed:
    """What a rater agreed to."""

    version: str
    at: datetime
    """When for the first time."""
    language: str | None
    text: str | None
    """None of a sitting that began before texts were kept."""


def consent_of(number: str, language: str, lines: Sequence[str]) -> ConsentText:
    """The text of these lines; `number` is the study's."""
    return ConsentText(f"{number}-{digest([language, *lines])[:_DIGITS]}", language, "\n".join(lines))


def keep_text(connection: Connection, consent: ConsentText) -> None:
    """Store a text that somebody agreed to, once."""
    insert_new(connection, consent_text, [asdict(consent)])


def agreed_by(store: RatingsStore, name: str) -> tuple[Agreed, ...]:
    """Each text that a rater agreed to, oldest first."""
    joined = sitting.join(rater, rater.c.id == sitting.c.rater_id)
    joined = joined.outerjoin(consent_text, consent_text.c.version == sitting.c.consent)
    at, told = func.min(sitting.c.started_at), consent_text.c["language", "text"]
    query = select(sitting.c.consent, at, *told).select_from(joined).where(rater.c.name == name)
    with store.reading() as connection:
        rows = connection.execute(query.group_by(sitting.c.consent, *told).order_by(at)).all()
    return tuple(Agreed(*row) for row in rows)
