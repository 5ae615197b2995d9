"""The words of the consent page, put together once: they are shown, and they are what the version is made of."""

from dataclasses import dataclass

from s2s_assets.ratings.app.words import words
from s2s_assets.ratings.consents import ConsentText, consent_of
from s2s_assets.study import Study


@dataclass(frozen=True)
class ConsentWords:
    """What somebody reads before the box is ticked."""

    title: str
    paragraphs: tuple[str, ...]
    points: tuple[str, ...]
    contact: tuple[str, str] | None
    """Its label and whom to ask."""
    agree: str
    """Label of the box."""
    kept: ConsentText
    """The same as it is stored."""


def consent_words(study: Study, language: str, work: str, tasks: int) -> ConsentWords:
    """The study's text, or the app's own where it has none.

    Args:
        study: The study.
        language: Of the app's words.
        work: `pairs` or `mos`.
        tasks: How many a session has.
    """
    own, t = study.sessions.consent, words(language)
    need = "need_off" if study.sessions.headphones == "off" else "need"
    apps = (t("consent_how", tasks=tasks), *(t(f"consent_{about}") for about in (need, "data", "leave")))
    paragraphs, points = (own.paragraphs, ()) if own.paragraphs else ((t(f"consent_what_{work}"),), apps)
    contact = (t("consent_contact"), own.contact) if own.contact else None
    title, agree = t("consent_title"), t("consent_agree")
    lines = [title, *paragraphs, *points, *([" ".join(contact)] if contact else []), agree]
    return ConsentWords(title, paragraphs, points, contact, agree, consent_of(own.version, language, lines))
