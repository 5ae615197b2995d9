"""Charts: well-formed, inert, with their numbers in the label; pictures that are equal every time."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.drawing import clip, png_width
from s2s_assets.leaderboard import ForestRow, Matrix, forest, heatmap, svg_to_png, thumbnail
from s2s_assets.leaderboard.charts import axis

PNG = b"\x89PNG\r\n\x1a\n"
names = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


def elements(svg: str) -> list[str]:
    """Local names of a drawing's elements; fails where it is not well-formed."""
    return [e.tag.rpartition("}")[2] for e in ET.fromstring(svg).iter()]


@given(st.lists(names, min_size=1, max_size=4), names)
def test_names_never_become_markup(labels: list[str], title: str) -> None:
    rows = [ForestRow(label, 1000.0 + i, 990.0, 1010.0) for i, label in enumerate(labels)]
    grid = tuple(tuple(float(i - j) for j in range(len(labels))) for i in range(len(labels)))
    texts = tuple(tuple(labels) for _ in labels)
    for svg in (forest(rows, title), heatmap(Matrix(tuple(labels), tuple(labels), grid, texts), title)):
        assert set(elements(svg)) <= {"svg", "rect", "path", "circle", "text"}
        assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', svg))


def test_hostile_names_stay_text(hostile: tuple[str, ...]) -> None:
    svg = forest([ForestRow(name, 1000.0, 950.0, 1050.0) for name in hostile], "hostile")
    assert "<img" not in svg
    assert "\u202e" not in svg
    assert set(elements(svg)) == {"svg", "rect", "path", "circle", "text"}


def test_label_holds_the_numbers() -> None:
    svg = forest([ForestRow("Aria", 1023.4, 1001.2, 1046.0), ForestRow("Bolt", -20.0, None, 5.0)], "Overall")
    label = ET.fromstring(svg).get("aria-label")
    assert label == "Overall. Elo and 95 % interval: Aria 1023 (1001–1046); Bolt −20 (−∞ to 5)"


def test_a_row_without_a_value_keeps_its_line() -> None:
    svg = forest([ForestRow("Aria", None), ForestRow("Bolt", 1000.0)], "Overall")
    assert "no value" in svg
    assert elements(svg).count("circle") == 1


def test_a_row_beyond_all_bounds_says_so() -> None:
    svg = forest([ForestRow("Aria", None, bound="above"), ForestRow("Bolt", 1000.0, 990.0, 1010.0, "above")], "Overall")
    label = ET.fromstring(svg).get("aria-label")
    assert label == "Overall. Elo and 95 % interval: Aria above, unbounded; Bolt 1000 (990–1010)"
    assert "no value" not in svg


def test_a_large_heat_map_is_said_by_its_ends() -> None:
    n = 12
    grid = tuple(tuple(float(10 * (i - j)) for j in range(n)) for i in range(n))
    cells = tuple(tuple("x" for _ in range(n)) for _ in range(n))
    labels = tuple(f"m{i}" for i in range(n))
    label = ET.fromstring(heatmap(Matrix(labels, labels, grid, cells), "Pairs")).get("aria-label") or ""
    assert label == "Pairs: 144 cells from −110 (m0 / m11) to +110 (m11 / m0)"


@given(st.lists(st.floats(-5000, 5000), max_size=8))
def test_axis_holds_the_values_in_round_steps(values: list[float]) -> None:
    low, high, step = axis(values)
    assert low - 1e-9 <= min([*values, 1000]) <= max([*values, 1000]) <= high + 1e-9
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert any(math.isclose(mantissa, m) for m in (1, 2, 5))
    assert 2 <= round((high - low) / step) <= 9


def test_a_long_name_is_cut_by_its_width() -> None:
    assert clip("x" * 300, 10) == "x" * 10 + "…"
    assert clip("名前名前名前", 6) == "名前名…"
    assert clip("a\n b\tc", 10) == "a b c"


def test_pictures_are_equal_and_hold_text() -> None:
    svg = forest([ForestRow("Aria", 1010.0, 990.0, 1030.0)], "Overall")
    png = svg_to_png(svg, 600)
    assert png == svg_to_png(svg, 600)
    assert png.startswith(PNG)
    bare = re.sub(r"<text.*?</text>", "", svg)
    assert len(png) > 1.5 * len(svg_to_png(bare, 600)), "text is missing from the picture"


def test_bold_is_bold_in_the_picture_too() -> None:
    """The font has one weight."""
    cells = (("",), ("+20",))
    plain, firm = (
        heatmap(Matrix(("a", "b"), ("a",), ((None,), (20.0,)), cells, ((False,), (bold,))), "")
        for bold in (False, True)
    )
    assert 'font-weight="700"' in firm
    assert svg_to_png(firm, 400) != svg_to_png(plain, 400)


@pytest.mark.parametrize("size", [1, 2, 30, 60])
def test_a_heat_maps_picture_is_as_wide_as_its_text_needs(size: int) -> None:
    names = tuple(f"model {k}" for k in range(size))
    grid = tuple(tuple(float(i - j) for j in range(size)) for i in range(size))
    svg = heatmap(
        Matrix(names, names, grid, tuple(tuple("x" for _ in names) for _ in names)), "Pairs", 44, 22, "a note"
    )
    units = int(ET.fromstring(svg).get("width") or 0)
    assert units <= png_width(svg) <= 1.6 * units + 1
    assert "a note" in svg


@pytest.mark.parametrize("rows", [1, 60])
def test_thumbnails_are_small(rows: int) -> None:
    svg = forest([ForestRow(f"Model number {i}", 1000.0 + i, 900.0, 1100.0) for i in range(rows)], "Overall")
    assert len(thumbnail(svg)) <= 30_000
