"""Line charts: well-formed, on their axes, with their ends in the label."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.leaderboard import Line, line_chart

SVG = "{http://www.w3.org/2000/svg}"
values = st.floats(0.0, 1e6, allow_nan=False)
points = st.lists(st.tuples(st.floats(1.0, 1e7), values), max_size=6).map(lambda p: tuple(sorted(p)))


def chart(lines: list[Line], **options: float) -> ET.Element:
    return ET.fromstring(line_chart(lines, "Title", x_unit="ratings", y_unit="Elo", **options))  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.text(max_size=60), points), max_size=5), st.none() | values)
def test_curves_stay_on_the_page(given: list[tuple[str, tuple[tuple[float, float], ...]]], level: float | None) -> None:
    lines = [Line(name, curve, k, k, curve[0] if curve else None) for k, (name, curve) in enumerate(given)]
    drawn = chart(lines) if level is None else chart(lines, level=level)
    width, height = float(drawn.get("width", 0)), float(drawn.get("height", 0))
    for path in drawn.iter(f"{SVG}path"):
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    assert len(list(drawn.iter(f"{SVG}circle"))) == sum(bool(curve) for _, curve in given)


def test_the_axis_is_logarithmic_and_begins_at_zero() -> None:
    drawn = chart([Line("a", ((100.0, 0.0), (1000.0, 10.0), (10000.0, 5.0)))])
    curve = next(p.get("d", "") for p in drawn.iter(f"{SVG}path") if p.get("d", "").count("L") == 2)
    (x0, y0), (x1, y1), (x2, y2) = ((float(x), float(y)) for x, y in re.findall(r"[ML](\S+) ([\d.]+)", curve))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y2 == pytest.approx((y0 - y1) / 2, abs=0.2)
    texts = {t.text for t in drawn.iter(f"{SVG}text")}
    assert {"0", "10", "100", "1,000", "10,000", "a", "Elo", "ratings"} <= texts


def test_the_label_says_the_ends() -> None:
    drawn = chart([Line("a", ((100.0, 50.0), (1000.0, 20.4))), Line("empty", ())], level=15.0)
    assert drawn.get("aria-label") == "Title. Elo by ratings: a from 50 at 100 to 20 at 1,000"
    assert sum(p.get("class") == "axis" for p in drawn.iter(f"{SVG}path")) == 1
