"""The admin pages' charts: well-formed whatever the names, and telling their numbers."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from s2s_assets.drawing import width_of
from s2s_assets.ratings import rater_quality_table
from s2s_assets.ratings.quality import RATER_QUALITY
from s2s_assets.ratings.snapshot import RATINGS
from s2s_assets.ratings.watch_charts import order_chart, raters_chart, scores_chart, votes_chart

START = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
HOSTILE = '<script>alert("1")</script>&'


def answers(n: int, every: timedelta, rater: str = "ann", rubric: str = "overall", score: int = 2) -> pl.DataFrame:
    rows = [
        {
            "rating_id": f"{rater}-{k}",
            "pair": f"pair-{k}",
            "prompt": f"p{k}",
            "rater": rater,
            "rubric": rubric,
            "config_a": "a",
            "config_b": "b",
            "score": -score,
            "screen_value": score,
            "first": "a",
            "submitted_at": START + k * every,
            "simulated": False,
        }
        for k in range(n)
    ]
    empty = RATINGS.to_frame()
    return pl.concat(
        [empty, pl.DataFrame(rows).cast({"submitted_at": RATINGS["submitted_at"]})], how="diagonal_relaxed"
    )


def label(svg: str) -> str:
    return ET.fromstring(svg).attrib["aria-label"]


@pytest.mark.parametrize(
    ("n", "every", "said"),
    [
        (3, timedelta(minutes=40), "Votes an hour. 01 Mar 09:00: 1, 01 Mar 10:00: 2"),
        (3, timedelta(days=2), "Votes a day. 01 Mar 2026: 1, 02 Mar 2026: 0, 03 Mar 2026: 1, 04 Mar 2026: 0, 05"),
        (0, timedelta(0), "none yet"),
    ],
)
def test_votes_are_counted_by_hour_or_day(n, every, said) -> None:
    frame = answers(n, every) if n else RATINGS.to_frame()
    assert said in label(votes_chart(frame))


@pytest.mark.parametrize("days", [4, 20, 61, 119, 121])
def test_no_date_is_cut_off_at_the_edge(days: int) -> None:
    drawn = ET.fromstring(votes_chart(answers(2, timedelta(days=days)))).iter("{http://www.w3.org/2000/svg}text")
    labels = [(float(t.attrib["x"]), width_of(t.text or "", 11) / 2) for t in drawn if (t.text or "").endswith("2026")]
    assert labels
    assert all(half < x < 760 - half for x, half in labels)


def test_two_questions_of_a_task_are_one_vote() -> None:
    both = pl.concat([answers(2, timedelta(minutes=1)), answers(2, timedelta(minutes=1), rubric="naturalness")])
    assert "09:00: 2" in label(votes_chart(both))


def test_scores_are_of_the_rubric_and_of_what_counts() -> None:
    frame = pl.concat([answers(3, timedelta(hours=1)), answers(2, timedelta(hours=1), "ben", "naturalness", -1)])
    assert "-1: 2, 0: 0, +1: 0, +2: 3" in label(scores_chart(frame))
    assert "-1: 2, 0: 0, +1: 0, +2: 0" in label(scores_chart(frame, "naturalness"))
    none = frame.with_columns(excluded_by=pl.lit("me"))
    assert "+2: 0" in label(scores_chart(none))


def test_raters_whom_a_rule_drops_are_named_and_names_stay_text() -> None:
    measures = ["order_effect", "rest_r"]
    rows = [
        ("rater", HOSTILE, m, 0.5, 20, None, None, "side_bias" if m == "order_effect" else None, None) for m in measures
    ]
    rows += [("rater", "ben", m, 0.1, 20, None, None, None, None) for m in measures]
    rows += [("rubric", HOSTILE, "order_effect", 0.25, 20, 0.125, 0.375, None, None)]
    frame = pl.DataFrame(rows, schema=RATER_QUALITY, orient="row")
    frame = frame.with_columns(effect=pl.when(pl.col("flag").is_not_null()).then(pl.lit("drop")))
    chart = raters_chart(frame)
    assert "<script" not in chart + order_chart(frame)
    assert label(chart).startswith("2 raters")
    assert "Dropped by a rule: <script>" in label(chart)
    assert "ben" not in chart
    assert "+0.25 (+0.12 to +0.38)" in label(order_chart(frame))


def test_names_that_would_lie_on_one_another_are_drawn_once_and_all_are_said() -> None:
    rows = [
        ("rater", name, measure, value, 20, None, None, "side_bias", "drop")
        for name, values in {"ann": (0.5, 0.5), "ben": (0.51, 0.5), "zoe": (0.5, -0.1)}.items()
        for measure, value in zip(("order_effect", "rest_r"), values, strict=True)
    ]
    chart = raters_chart(pl.DataFrame(rows, schema=RATER_QUALITY, orient="row"))
    assert re.findall(r">(ann|ben|zoe)</text>", chart) == ["ann", "zoe"]
    assert label(chart).endswith("ann, ben, zoe")
    assert chart.count("<circle") == 3


def test_nothing_to_draw_is_a_drawing() -> None:
    empty = rater_quality_table(RATINGS.to_frame())
    assert label(order_chart(empty)).endswith("none yet")
    assert label(raters_chart(empty)).startswith("0 raters")
    assert "+3: 0" in label(scores_chart(RATINGS.to_frame()))
