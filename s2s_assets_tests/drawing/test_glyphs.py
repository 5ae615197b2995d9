"""Which characters a PNG shows as boxes, against what is drawn."""

import pytest

from s2s_assets.drawing import drawing, svg_to_png, text, undrawable


def _drawn(character: str) -> bytes:
    return svg_to_png(drawing(80, 40, "x", [text(10, 30, character, size=24)]), 160)


BOX = _drawn("\u3400")


@pytest.mark.parametrize("character", [*"aé½ЖΩעع→×–…●文本모デไ", "😀", "\U00020000", "\U0001d400"], ids=ascii)
def test_what_has_no_glyph_is_told_and_nothing_else(character: str) -> None:
    assert (undrawable(character) == character) == (_drawn(character) == BOX)


def test_each_is_told_once_in_order_and_spaces_are_no_characters() -> None:
    assert undrawable("GPT 文本 – 本文\t\u3000é") == "文本"
    assert undrawable("") == ""
