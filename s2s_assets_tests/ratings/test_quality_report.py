"""What people read of `rater_quality`: one row a rubric, the most alike questions first, the busiest raters first."""

import numpy as np
import polars as pl
import pytest

from s2s_assets.ratings import (
    RATER_QUALITY,
    agreement_report,
    alike_report,
    one_opinion,
    rater_quality_table,
    raters_report,
)
from s2s_assets.ratings.assets import _describe_quality
from s2s_assets.ratings.quality_report import AGREEMENT

RUBRICS = ("audio_quality", "delivery", "overall")


@pytest.fixture(scope="module")
def quality() -> pl.DataFrame:
    """Eleven raters: one twice as busy as each other, one always for the second; delivery copies audio_quality."""
    rng, rows = np.random.default_rng(4), []
    for rater in range(11):
        for unit in range(80 if rater == 0 else 30):
            truth, first = unit % 7 - 3, "ab"[unit % 2]
            base = (-3 if first == "a" else 3) if rater == 1 else int(np.clip(truth + rng.integers(-1, 2), -3, 3))
            other = base if rater == 1 else int(np.clip(truth + rng.integers(-1, 2), -3, 3))
            for rubric, score in zip(RUBRICS, (base, base, other), strict=True):
                rows.append((f"{rater}-{unit}-{rubric}", f"p{unit}", f"r{rater:02}", rubric, "m0", "m1", score, first))
    names = ("rating_id", "prompt", "rater", "rubric", "config_a", "config_b", "score", "first")
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        excluded_by=pl.lit(None, pl.String), submitted_at=pl.lit(None, pl.Datetime("us", "UTC"))
    )
    return rater_quality_table(frame)


def measured(quality: pl.DataFrame, scope: str, name: str, measure: str) -> dict[str, float]:
    return quality.row(
        by_predicate=(pl.col("scope") == scope) & (pl.col("name") == name) & (pl.col("measure") == measure), named=True
    )


def test_agreement_is_a_row_a_rubric_with_intervals_raw_and_cleaned(quality) -> None:
    report = agreement_report(quality)
    assert report["rubric"].to_list() == ["all", *RUBRICS]
    assert report.columns == ["rubric", "answers", *AGREEMENT]
    assert report["answers"][0] == 3 * (80 + 10 * 30)
    for row in report.iter_rows(named=True):
        scope = "study" if row["rubric"] == "all" else "rubric"
        for name in ("alpha", "alpha_cleaned", "order_effect"):
            one = measured(quality, scope, row["rubric"], name)
            assert row[name] == f"{one['value']:.2f} ({one['low']:.2f} to {one['high']:.2f})"
    assert report["icc"][0] == "–"
    assert report["icc"][1] == f"{measured(quality, 'rubric', 'audio_quality', 'icc')['value']:.2f}"


def test_the_most_alike_questions_come_first_and_a_collapse_is_flagged(quality) -> None:
    report = alike_report(quality)
    assert report["questions"].to_list()[0] == "audio_quality | delivery"
    assert report.row(0, named=True)["same_share"] == 1.0
    assert report["flag"].to_list() == ["collapse", None, None]
    assert report["same_share"].is_sorted(descending=True)
    assert report["correlation"].null_count() == 0
    assert one_opinion(quality) == measured(quality, "study", "all", "first_factor_share")["value"]


def test_the_busiest_rater_comes_first_and_flags_are_told(quality) -> None:
    report = raters_report(quality)
    assert report.height == 11
    first = report.row(0, named=True)
    assert (first["rater"], first["tasks"], first["flags"], first["drops"]) == ("r00", 80, "heavy", False)
    assert first["share"] == pytest.approx(80 / 380)
    biased = report.row(by_predicate=pl.col("rater") == "r01", named=True)
    assert "side_bias" in biased["flags"]
    assert biased["drops"] is True
    assert biased["order_effect"] == 3.0
    assert report.filter(rater="r05")["flags"].to_list() == [None]


def test_before_anybody_has_rated_there_is_nothing_to_tell() -> None:
    empty = RATER_QUALITY.to_frame()
    assert agreement_report(empty).is_empty()
    assert alike_report(empty).is_empty()
    assert raters_report(empty).is_empty()
    assert one_opinion(empty) is None
    assert agreement_report(empty).columns == ["rubric", "answers", *AGREEMENT]


def test_the_asset_shows_all_of_it(quality) -> None:
    told = _describe_quality(quality)
    tables = {name: value.value for name, value in told.items() if hasattr(value, "value")}
    assert tables["agreement"].count("\n") == 5
    assert "collapse" in tables["questions_answered_alike"]
    assert "| r00 |" in tables["busiest_raters"].splitlines()[2]
    assert "| r01 |" in tables["raters_by_order_effect"].splitlines()[2]
    assert told["dropped_raters"] == 1
