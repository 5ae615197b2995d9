"""The page: one self-contained HTML file, rendered from stored content.

Everything is inside: style and script inline, each allowed by its hash under `default-src 'none'`; charts are SVG; no
address but the data files beside it. All text is escaped; what is trusted is only what this room wrote itself (its
style, its script, its charts). The same content and stamp give the same bytes: no clock, no build id.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

LIMIT_BYTES = 295_000
"""A page is kept under this by leaving sections to the downloads."""

_TEMPLATES = files("s2s_assets.leaderboard") / "templates"


@dataclass(frozen=True)
class Stamp:
    """What a page is: a draft, a sealed release, or (both unset) the result of `s2s rank`."""

    release: str = ""
    draft: bool = False


def render(
    content: Mapping[str, Any],
    sections: Sequence[Mapping[str, Any]],
    stamp: Stamp,
    changes: Mapping[str, Any] | None = None,
) -> bytes:
    """The page as UTF-8 HTML, at most `LIMIT_BYTES` long where leaving sections out can do it.

    Args:
        content: what the page says beside its sections (see `assemble`).
        sections: `layout.Section`s as JSON.
        stamp: draft or release.
        changes: paragraphs and tables of what changed, None where there is nothing to compare with.
    """
    kept = list(sections)
    left_out: list[str] = []
    page = _page(content, kept, stamp, changes, left_out)
    while len(page) > LIMIT_BYTES and (heavy := max(kept, key=lambda s: int(s["weight"])))["weight"]:
        kept.remove(heavy)
        left_out.append(str(heavy["title"]).lower())
        page = _page(content, kept, stamp, changes, left_out)
    return page


def _page(
    content: Mapping[str, Any],
    sections: Sequence[Mapping[str, Any]],
    stamp: Stamp,
    changes: Mapping[str, Any] | None,
    left_out: Sequence[str],
) -> bytes:
    style, script = _source("style.css").strip(), _source("sort.js").strip()
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=content,
            sections=sections,
            stamp=stamp,
            changes=changes,
            left_out=left_out,
            style=style,
            script=script,
            style_hash=_csp_hash(style),
            script_hash=_csp_hash(script),
            key=sort_key,
        )
    )
    return text.encode()


def sort_key(value: float) -> str:
    """The number that a cell sorts by, with no more digits than the order needs."""
    return f"{round(value, 4):.4f}".rstrip("0").rstrip(".") if not float(value).is_integer() else str(int(value))


def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )


def _source(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
