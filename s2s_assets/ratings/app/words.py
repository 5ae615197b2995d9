"""The app's words in each language, from the one file `templates/strings.yaml`."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files

import yaml

TEMPLATES = files("s2s_assets.ratings") / "templates"
DEFAULT = "en"
Words = Callable[..., str]


@cache
def strings() -> dict[str, dict[str, str]]:
    """Language → key → text."""
    read: dict[str, dict[str, str]] = yaml.safe_load((TEMPLATES / "strings.yaml").read_text("utf-8"))
    return read


def languages() -> dict[str, str]:
    """Code → the language's own name for itself."""
    return {code: texts["language"] for code, texts in strings().items()}


def words(language: str) -> Words:
    """Looks a text up by its key and fills in what it names."""
    texts = strings()[language]

    def text(key: str, **values: object) -> str:
        return texts[key].format(**values)

    return text


def language_of(wanted: str | None, accepted: str, study: str) -> str:
    """The language to begin in: the one asked for, the study's, the browser's, or English.

    Args:
        wanted: Of the link's `lang`.
        accepted: The browser's `Accept-Language`.
        study: The study's language.
    """
    browser = [part.partition(";")[0].strip() for part in accepted.split(",")]
    for code in (wanted, study, *browser):
        short = (code or "").partition("-")[0].lower()
        if short in strings():
            return short
    return DEFAULT
