"""The boards of a study, and the tables that hold their fits."""

import io
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import (
    FITS_SCHEMA,
    INTERVALS_SCHEMA,
    BoardFit,
    FitSpec,
    adaptive_votes,
    bootstrap_boards,
    fit_boards,
    fits_from_frame,
    fits_to_frame,
    headline_rows,
    intervals_from_frame,
    intervals_to_frame,
    slice_values,
    standard_boards,
    with_cleaning,
)
from s2s_assets.ranking.checks import fits_checks
from s2s_assets.study import Board
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, reference_rows, simulated

FAMILIES = {"x": "X", "y": "Y", "z": "Y"}
KEYS = ("x|f|low", "x|m|high", "y|f|none", "y|m|none", "z|f|none")


@pytest.fixture(scope="module")
def ratings() -> pl.DataFrame:
    """A small study's `ratings`: two rubrics, slices, one rare value."""
    rows = simulated(900, [0.6, 0.3, 0.0, -0.2, -0.7], raters=12, prompts=30)
    keyed = [(r, p, KEYS[int(a[1])], KEYS[int(b[1])], y) for r, p, a, b, y in rows]
    number = [int(p[1:]) for _, p, *_ in keyed]
    attributes = pl.DataFrame(
        {
            "category": ["rare" if n == 0 else "facts" if n % 2 else "chat" for n in number],
            "level": ["L1" if n < 15 else None for n in number],
            "acoustic": ["clean"] * len(number),
            "source": ["adaptive" if n % 5 == 0 else "baseline" for n in number],
        }
    )
    parts = [pl.concat([frame_of(keyed, rubric), attributes], how="horizontal") for rubric in ("overall", "warmth")]
    return pl.concat(parts)


@pytest.fixture(scope="module")
def specs(ratings: pl.DataFrame) -> tuple[FitSpec, ...]:
    own = [Board(rubric="warmth", by="voice"), Board(rubric="warmth", by="config", slice="level"), Board()]
    return standard_boards(["overall", "warmth"], slice_values(ratings), own, min_slice_ratings=40)


@pytest.fixture(scope="module")
def fits(ratings: pl.DataFrame, specs: tuple[FitSpec, ...]) -> tuple[BoardFit, ...]:
    return fit_boards(ratings, specs, FAMILIES, frozenset({"r3"}))


def test_standard_boards_are_those_of_the_method(specs: tuple[FitSpec, ...]) -> None:
    ids = [s.fit for s in specs]
    assert ids[0] == "overall/model/all/all/all"
    assert len(ids) == len(set(ids))
    assert set(ids) == {
        *(f"overall/{by}/all/all/all" for by in ("model", "config", "family", "voice", "thinking")),
        *(f"overall/model/all/all/{v}" for v in ("cleaned", "baseline")),
        "warmth/model/all/all/all",
        "warmth/family/all/all/all",
        *(f"overall/model/category/{v}/all" for v in ("chat", "facts", "rare")),
        "overall/model/level/L1/all",
        "overall/model/acoustic/clean/all",
        "warmth/voice/all/all/all",
        "warmth/config/level/L1/all",
    }


def test_a_studys_headline_variant_is_that_of_all_its_boards() -> None:
    specs = standard_boards(["overall", "warmth"], {"level": ("L1",)}, headline_variant="cleaned")
    assert specs[0].fit == "overall/model/all/all/cleaned"
    others = [s for s in specs if s.variant != "cleaned"]
    assert [s.fit for s in others] == ["overall/model/all/all/all", "overall/model/all/all/baseline"]


def test_a_slice_below_the_minimum_and_a_rubric_without_ratings_have_no_board(
    ratings: pl.DataFrame, specs: tuple[FitSpec, ...], fits: tuple[BoardFit, ...]
) -> None:
    missing = {s.fit for s in specs} - {f.fit for f in fits}
    assert missing == {"overall/model/category/rare/all"}
    assert fit_boards(ratings, [FitSpec("never-asked")]) == ()


def test_slices_are_fits_of_their_rows(ratings: pl.DataFrame, fits: tuple[BoardFit, ...]) -> None:
    sliced = next(f for f in fits if f.spec.slice_value == "facts")
    rows = ratings.filter((pl.col("category") == "facts") & (pl.col("rubric") == "overall"))
    (alone,) = fit_boards(rows, [FitSpec(by="model")])
    assert sliced.entities == alone.entities
    assert (sliced.n_ratings, sliced.n_within) == (alone.n_ratings, alone.n_within)
    assert sliced.n_ratings + sliced.n_within == rows.height


def test_boards_resampled_together_equal_boards_resampled_alone(
    ratings: pl.DataFrame, fits: tuple[BoardFit, ...]
) -> None:
    dropped = frozenset({"r3"})
    together = bootstrap_boards(ratings, fits, FAMILIES, dropped, resamples=40)
    assert [i.fit for i in together] == [f.fit for f in fits]
    for fit, found in zip(fits[::4], together[::4], strict=True):
        (alone,) = bootstrap_boards(ratings, [fit], FAMILIES, dropped, resamples=40)
        np.testing.assert_allclose(alone.draws, found.draws, atol=1e-9)


def test_progress_reaches_resamples_times_selections(ratings: pl.DataFrame, fits: tuple[BoardFit, ...]) -> None:
    steps: list[int] = []
    bootstrap_boards(ratings, fits, FAMILIES, resamples=30, progress=steps.append)
    specs = [fit.spec for fit in fits]
    selections = {(s.rubrics, s.slice_dimension, s.slice_value, s.variant) for s in specs}
    assert sum(steps) == 30 * len(selections)


def through_parquet(frame: pl.DataFrame) -> pl.DataFrame:
    stored = io.BytesIO()
    frame.write_parquet(stored)
    stored.seek(0)
    return pl.read_parquet(stored)


@pytest.mark.parametrize(
    "name", ["six", "hard_single_plus3", "hard_disconnected", "hard_all_ties", "hard_threshold_separation"]
)
def test_tables_hold_every_record_without_loss(name: str) -> None:
    frame = frame_of(reference_rows(name))
    fits = fit_boards(frame, [CONFIG_BOARD, FitSpec("pooled", "config", members=("overall", "other"))])
    intervals = bootstrap_boards(frame, fits, resamples=40)
    fits_table, intervals_table = through_parquet(fits_to_frame(fits)), through_parquet(intervals_to_frame(intervals))
    assert fits_table.schema == pl.Schema(FITS_SCHEMA)
    assert intervals_table.schema == pl.Schema(INTERVALS_SCHEMA)
    assert fits_from_frame(fits_table) == fits
    for left, right in zip(intervals_from_frame(intervals_table), intervals, strict=True):
        assert (left.fit, left.resamples, left.reason) == (right.fit, right.resamples, right.reason)
        assert left.entities == right.entities
        assert left.pairs == right.pairs
        np.testing.assert_array_equal(left.draws, right.draws)


def test_empty_tables_keep_their_columns() -> None:
    assert fits_to_frame(()).schema == pl.Schema(FITS_SCHEMA)
    assert intervals_to_frame(()).schema == pl.Schema(INTERVALS_SCHEMA)
    assert fits_from_frame(fits_to_frame(())) == ()
    assert intervals_from_frame(intervals_to_frame(())) == ()


def test_tables_without_resamples_keep_their_shape() -> None:
    frame = frame_of(reference_rows("six"))
    intervals = bootstrap_boards(frame, fit_boards(frame, [CONFIG_BOARD]), resamples=0)
    (back,) = intervals_from_frame(through_parquet(intervals_to_frame(intervals)))
    assert back.draws.shape == (6, 0)


def test_no_nan_is_ever_stored() -> None:
    frame = frame_of(reference_rows("hard_single_plus3"))
    table = intervals_to_frame(bootstrap_boards(frame, fit_boards(frame, [CONFIG_BOARD]), resamples=60))

    def values(cell: Any) -> list[Any]:
        if isinstance(cell, dict):
            return [v for part in cell.values() for v in values(part)]
        if isinstance(cell, list):
            return [v for part in cell for v in values(part)]
        return [cell]

    stored = [v for row in table.rows() for cell in row for v in values(cell)]
    assert not any(isinstance(v, float) and math.isnan(v) for v in stored)
    assert any(v == math.inf for v in stored)


def test_the_cleaned_variant_leaves_out_single_answers_that_a_rule_dropped() -> None:
    frame = frame_of(simulated(300, [0.5, 0.0, -0.5])).with_row_index("rating_id").cast({"rating_id": pl.String})
    flagged = [("rating", str(k), flag, "drop") for k in range(0, 300, 3) for flag in ("not_heard", "too_fast")]
    others = [("rating", "1", "odd", "report"), ("rater", "2", "heavy", "drop"), ("study", "4", None, None)]
    quality = pl.DataFrame(flagged + others, schema=["scope", "name", "flag", "effect"], orient="row")
    marked = with_cleaning(frame, quality)
    assert marked["cleaned_by"].to_list() == ["not_heard" if k % 3 == 0 else None for k in range(300)]
    assert marked.drop("cleaned_by").equals(frame)
    cleaned = FitSpec(by="config", variant="cleaned")
    (fit,) = fit_boards(marked, [cleaned])
    (kept,) = fit_boards(frame.filter(pl.col("rating_id").cast(pl.Int64) % 3 != 0), [cleaned])
    assert fit.entities == kept.entities
    assert fit_boards(marked, [CONFIG_BOARD]) == fit_boards(frame, [CONFIG_BOARD])


def test_adaptive_votes_are_those_that_the_baseline_lacks(ratings: pl.DataFrame, fits: tuple[BoardFit, ...]) -> None:
    found = adaptive_votes(headline_rows(fits_to_frame(fits)))
    overall = ratings.filter(pl.col("rubric") == "overall")
    assert found == ((overall["source"] == "adaptive").sum(), overall.height), "votes within one model among them"
    assert adaptive_votes(headline_rows(fits_to_frame(fits), "all")) is None


@pytest.mark.parametrize(("adaptive", "passed"), [(200, True), (201, False)])
def test_more_than_a_fifth_of_adaptive_votes_is_a_warning(
    fits: tuple[BoardFit, ...], adaptive: int, passed: bool
) -> None:
    counts = {"all": 1000, "cleaned": 900, "baseline": 1000 - adaptive}
    frame = headline_rows(fits_to_frame(fits)).with_columns(
        n_ratings=pl.col("variant").replace_strict(counts, return_dtype=pl.Int64), n_within=pl.lit(0, pl.Int64)
    )
    [check] = [check for check in fits_checks("all") if check.name == "adaptive_share"]
    result = check.result(frame)
    assert (result.passed, check.blocking) == (passed, False)
    assert f"{adaptive / 10:.1f} % of the headline's votes are adaptive" in str(result.description)
