"""Which characters the pictures' font has, by its `cmap` table (OpenType, subtable format 12: ranges of characters)."""

import struct
from functools import cache
from importlib.resources import files

FONT_FILE = files("s2s_assets.drawing") / "fonts" / "DejaVuSans.ttf"
_RANGES = 12
_TABLE, _SUBTABLE, _GROUP = struct.Struct(">4s4xII"), struct.Struct(">4xI"), struct.Struct(">II4x")


def undrawable(text: str) -> str:
    """Characters of a text that a PNG shows as boxes, each once, in order of first mention."""
    ranges = _ranges()
    seen = (c for c in dict.fromkeys(text) if not c.isspace())
    return "".join(c for c in seen if not any(first <= ord(c) <= last for first, last in ranges))


@cache
def _ranges() -> tuple[tuple[int, int], ...]:
    """First and last character of every range that has glyphs."""
    font = FONT_FILE.read_bytes()
    tables = (_TABLE.unpack_from(font, 12 + 16 * n) for n in range(_u16(font, 4)))
    cmap = next(offset for tag, offset, _ in tables if tag == b"cmap")
    subtables = (cmap + _SUBTABLE.unpack_from(font, cmap + 4 + 8 * n)[0] for n in range(_u16(font, cmap + 2)))
    at = next(offset for offset in subtables if _u16(font, offset) == _RANGES)
    (count,) = struct.unpack_from(">I", font, at + 12)
    return tuple(_GROUP.unpack_from(font, at + 16 + _GROUP.size * n) for n in range(count))


def _u16(font: bytes, at: int) -> int:
    return int.from_bytes(font[at : at + 2], "big")
