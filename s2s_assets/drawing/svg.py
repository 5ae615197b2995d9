"""Parts of charts as SVG text: what every chart is drawn with, so that all look and read alike.

Colours are presentation attributes, which a page's style sheet overrides through the class names (`paper`, `ink`, `muted`,
`rule`, `mark`, `above`, `below`), so one drawing serves light, dark and print. A drawing is `role="img"` with a label that
holds its numbers. Names are escaped, rid of what XML forbids, and cut to fit; nothing in a name can end a tag, an
attribute or a line.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

from markupsafe import escape

INK, MUTED, RULE, MARK = "#1b1f27", "#5c6370", "#d9dce3", "#2553c4"
ABOVE, BELOW = "#2f6fdb", "#d9772b"
FONT = "DejaVu Sans, system-ui, sans-serif"

_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What XML has no place for, and marks that turn the direction of the text after them."""
_REPLACEMENT = "\ufffd"
_EM = 12.0
"""Font size in the charts' own units."""


def round_axis(low: float, high: float, ticks: int = 6) -> tuple[float, float, float]:
    """Ends and step of an axis that holds low < high, with round steps of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / ticks
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def clip(text: str, columns: int) -> str:
    """A name on one line, at most so many columns wide, without what XML or a line forbids."""
    line = " ".join(_FORBIDDEN.sub(_REPLACEMENT, text).split())
    used = 0
    for i, character in enumerate(line):
        used += _columns(character)
        if used > columns:
            return line[:i] + "…"
    return line


def width_of(text: str, size: float = _EM) -> float:
    """About how wide a text is drawn, in the drawing's units."""
    return round(sum(_columns(c) for c in text) * size * 0.6, 1)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    css: str = "ink",
    fill: str = INK,
    size: float = _EM,
    weight: int = 400,
    turn: int = 0,
) -> str:
    """A line of text with its anchor at (x, y), turned clockwise by so many degrees."""
    extra = f' font-weight="{weight}"' if weight != 400 else ""
    extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
    extra += f' transform="rotate({turn} {x} {y})"' if turn else ""
    return f'<text class="{css}" fill="{fill}" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{extra}>{escape(_FORBIDDEN.sub(_REPLACEMENT, words))}</text>'


def wave(heights: Iterable[float], start: float, stop: float, middle: float, colour: str, css: str = "") -> str:
    """Bars around a middle line, equally spaced from start to stop, each as far up and down as its height."""
    found = list(heights)
    width = (stop - start) / max(1, len(found))
    lines = "".join(f"M{start + (n + 0.5) * width:.1f} {middle - h:.1f}V{middle + h:.1f}" for n, h in enumerate(found))
    named = f'class="{css}" ' if css else ""
    return f'<path {named}stroke="{colour}" stroke-width="{max(width * 0.8, 0.5):.2f}" d="{lines}"/>'


def picture(x: float, y: float, width: float, height: float, address: str) -> str:
    """A picture from another address of the page's own host, stretched to a rectangle."""
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
        f'href="{escape(address)}"/>'
    )


def drawing(width: float, height: float, label: str, parts: Sequence[str]) -> str:
    """A whole SVG of a size in its own units, from its parts and the label that says what they show."""
    said = escape(" ".join(_FORBIDDEN.sub(_REPLACEMENT, label).split()))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="{FONT}">'
        f'<rect class="paper" fill="#fff" width="{width}" height="{height}"/>{"".join(parts)}</svg>'
    )
