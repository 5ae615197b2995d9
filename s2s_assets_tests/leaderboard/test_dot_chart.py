"""Dot charts: every value at its place, in its own form, and said in the label."""

import math
import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.leaderboard import Dot, DotRow, dot_chart, svg_to_png

SERIES = ("one", "two", "three")


def drawn(svg: str) -> list[ET.Element]:
    return list(ET.fromstring(svg).iter())


def test_a_row_has_a_mark_for_each_value_and_the_legend_one_for_each_series() -> None:
    rows = [
        DotRow("both", (Dot(95.0, 93.0, 97.0), Dot(98.0, 97.0, 99.0))),
        DotRow("one", (Dot(90.0, 88.0, 92.0), None)),
    ]
    svg = dot_chart(rows, SERIES[:2], "Coverage", "%", band=(93.0, 97.0))
    names = [e.tag.rpartition("}")[2] for e in drawn(svg)]
    assert names.count("circle") == 2 + 1
    assert len(re.findall(r'd="M[\d.]+ [\d.]+h8v8h-8z"', svg)) == 1 + 1
    assert names.count("rect") == 2  # paper and band
    assert ET.fromstring(svg).get("aria-label") == (
        "Coverage. %: both, one 95.0 (93.0–97.0); both, two 98.0 (97.0–99.0); one, one 90.0 (88.0–92.0); one, two no value"
    )
    assert svg_to_png(svg, 400).startswith(b"\x89PNG")


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=6), st.text(max_size=60))
def test_values_lie_in_order_within_the_drawing(values: list[float], label: str) -> None:
    svg = dot_chart([DotRow(label, (Dot(v, v - 1, v + 1),)) for v in values], SERIES[:1], "Title", "unit")
    at = [float(e.get("cx", "nan")) for e in drawn(svg) if e.tag.endswith("circle")][1:]
    assert all(0 < x < 760 for x in at)
    for (v, x), (w, y) in zip(zip(values, at, strict=True), zip(values[1:], at[1:], strict=False), strict=False):
        assert math.isclose(x, y, abs_tol=0.11) or (v < w) == (x < y)
    assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', svg))


def test_a_chart_of_nothing_is_a_drawing_still() -> None:
    for band in (None, (0.0, 5.0)):
        assert ET.fromstring(dot_chart([], SERIES[:1], "Empty", "%", band=band)).get("role") == "img"
    assert dot_chart([DotRow("a", (Dot(0.0, 0.0, 0.0),))], SERIES[:1], "One", "%").count("<circle") == 2
