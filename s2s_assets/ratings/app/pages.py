"""Pages from templates, with the words of the reader's language."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse

from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.app.words import TEMPLATES, languages, words
from s2s_assets.ratings.sittings import Sitting

STATIC = {
    "admin.css": "text/css; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@cache
def source(name: str) -> str:
    """A template's or static file's text."""
    return (TEMPLATES / name).read_text("utf-8")


@cache
def version(name: str) -> str:
    """A few digits that change with a static file."""
    return hashlib.sha256(source(name).encode()).hexdigest()[:12]


@cache
def environment() -> Environment:
    """The templates, escaped throughout."""
    return Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def page(
    context: Context,
    template: str,
    language: str,
    values: Mapping[str, Any] | None = None,
    *,
    sat: Sitting | None = None,
    status: int = 200,
) -> HTMLResponse:
    """A page.

    Args:
        context: The process's.
        template: Name without ending.
        language: Of the app's words.
        values: What the template shows.
        sat: The sitting, where there is one: its preferences can be changed on the page.
        status: HTTP status.
    """
    shared = {
        "t": words(language),
        "language": language,
        "languages": languages(),
        "study": context.desk.study,
        "sitting": sat,
        "notice": sat.notice if sat is not None else None,
        "static": {name: f"/static/{name}?{version(name)}" for name in STATIC},
    }
    text = environment().get_template(f"{template}.html.j2").render(shared | dict(values or {}))
    return HTMLResponse(text, status)
