"""Drawing: parts of charts as SVG, and PNGs that look the same everywhere. What is drawn is the rooms' own."""

from s2s_assets.drawing.glyphs import undrawable
from s2s_assets.drawing.png import png_width, svg_to_png, thumbnail
from s2s_assets.drawing.raster import heat_png
from s2s_assets.drawing.svg import (
    ABOVE,
    BELOW,
    INK,
    MARK,
    MUTED,
    RULE,
    clip,
    drawing,
    picture,
    round_axis,
    text,
    wave,
    width_of,
)

__all__ = [
    "ABOVE",
    "BELOW",
    "INK",
    "MARK",
    "MUTED",
    "RULE",
    "clip",
    "drawing",
    "heat_png",
    "picture",
    "png_width",
    "round_axis",
    "svg_to_png",
    "text",
    "thumbnail",
    "undrawable",
    "wave",
    "width_of",
]
