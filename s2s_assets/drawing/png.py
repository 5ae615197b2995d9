"""SVG to PNG without a browser: resvg with the font that ships beside this file, so the bytes are equal everywhere.

Without a font resvg leaves text out silently; system fonts would make the picture depend on the machine. The font has
one weight, so text that is bold in the drawing gets an outline of its own colour.
"""

import re
from importlib.resources import as_file

import resvg_py

from s2s_assets.drawing.glyphs import FONT_FILE

_FAMILY = "DejaVu Sans"
_BOLD = re.compile(r'fill="([^"]*)"([^>]*) font-weight="[67]00"')


def svg_to_png(svg: str, width: int) -> bytes:
    """A picture of an SVG, `width` pixels wide, on white."""
    with as_file(FONT_FILE) as font:
        png = resvg_py.svg_to_bytes(
            svg_string=_BOLD.sub(r'fill="\1"\2 stroke="\1" stroke-width="0.6"', svg),
            width=width,
            background="#ffffff",
            skip_system_fonts=True,
            font_files=[str(font)],
            font_family=_FAMILY,
            sans_serif_family=_FAMILY,
        )
    return bytes(png)


def png_width(svg: str) -> int:
    """Pixels across at which a drawing's text is easy to read: 1.6 a unit, fewer for a drawing that is wide itself."""
    units = int(svg.partition(' width="')[2].partition('"')[0])
    return min(round(1.6 * units), max(units, 2000))


def thumbnail(svg: str, width: int = 640, limit: int = 30_000) -> bytes:
    """The widest picture up to `width` pixels whose PNG is at most `limit` bytes; never under 80 pixels."""
    png = svg_to_png(svg, width)
    while len(png) > limit and width > 80:
        width = max(80, width * 3 // 4)
        png = svg_to_png(svg, width)
    return png
