"""What must hold of any ratings, through the public function: nothing here looks inside."""

import io
import json
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.ranking import (
    RankResult,
    fits_from_frame,
    fits_to_frame,
    intervals_from_frame,
    intervals_to_frame,
    rank,
)
from s2s_assets.ranking.ordinal import fit_counts
from s2s_assets_tests.ranking.cases import Row, frame_of, parts, rows_of_ratings

relaxed = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def ranked(rows: list[Row], resamples: int = 12) -> RankResult:
    return rank(frame_of(rows), resamples=resamples)


def entities(result: RankResult) -> dict[str, dict[str, Any]]:
    return {e["entity"]: e for fit in result.to_json()["fits"] for e in fit["entities"]}


def pairs(result: RankResult) -> dict[frozenset[str], list[float | None]]:
    """Numbers of each pair, read from the better named side."""
    found = {}
    for fit in result.to_json()["fits"]:
        for p in fit["pairs"]:
            found[frozenset((p["a"], p["b"]))] = [p[k] for k in ("n", "difference", "ci_low", "ci_high", "mean_score")]
    return found


def assert_close(left: Any, right: Any, tolerance: float = 1e-6) -> None:
    """Equal up to rounding, whatever it holds."""
    if isinstance(left, float) and isinstance(right, float):
        assert left == pytest.approx(right, abs=tolerance, rel=tolerance)
    elif isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_close(left[key], right[key], tolerance)
    elif isinstance(left, list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_close(one, other, tolerance)
    else:
        assert left == right


@given(rows_of_ratings)
@relaxed
def test_the_sides_of_a_row_change_nothing(rows: list[Row]) -> None:
    swapped = [(r, p, b, a, -y) for r, p, a, b, y in rows]
    left, right = ranked(rows), ranked(swapped)
    assert_close(entities(left), entities(right))
    assert_close(pairs(left), pairs(right))


@given(rows_of_ratings, st.randoms(use_true_random=False))
@relaxed
def test_the_order_of_rows_changes_no_digit(rows: list[Row], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    assert ranked(rows).to_json() == ranked(shuffled).to_json()


@given(rows_of_ratings)
@relaxed
def test_new_names_in_the_same_order_change_nothing_else(rows: list[Row]) -> None:
    """Names in the same order: the draws go by their places."""
    named = [(f"x{r}", f"y{p}", f"z{a}", f"z{b}", y) for r, p, a, b, y in rows]
    left = {f"z{name}": e | {"entity": f"z{name}"} for name, e in entities(ranked(rows)).items()}
    assert left == entities(ranked(named))


@given(rows_of_ratings, st.data())
@relaxed
def test_integer_weights_are_repeated_rows(rows: list[Row], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    strengths = {name: e["strength"] for name, e in entities(ranked(repeated, 0)).items()}
    _, selection, problems = parts(rows)
    for problem in problems:
        counts = problem.folded(np.bincount(selection.cell, weights, minlength=selection.cells)[:, None])
        fit = fit_counts(problem, counts[..., 0])
        weighted = {e: None if np.isnan(s) else float(s) for e, s in zip(problem.entities, fit.strengths, strict=True)}
        assert_close(weighted, {e: strengths[e] for e in problem.entities})


@given(rows_of_ratings, rows_of_ratings)
@relaxed
def test_an_unrelated_component_changes_no_contrast(rows: list[Row], foreign: list[Row]) -> None:
    """Of raters and prompts that are there anyway, so the draws stay what they are."""
    known = {r[0] for r in rows}, {r[1] for r in rows}
    others = [(r, p, f"x{a}", f"x{b}", y) for r, p, a, b, y in foreign if r in known[0] and p in known[1]]
    alone, together = ranked(rows), ranked(rows + others)
    mine = {name: e for name, e in entities(together).items() if not name.startswith("x")}
    assert_close(mine, entities(alone))
    assert_close({k: v for k, v in pairs(together).items() if k <= mine.keys()}, pairs(alone))


@given(rows_of_ratings, st.integers(2, 3))
@relaxed
def test_repeating_every_rating_shrinks_no_clustered_interval(rows: list[Row], times: int) -> None:
    once, again = entities(ranked(rows, 40)), entities(ranked(rows * times, 40))
    for name, e in once.items():
        for key in ("strength", "ci_low", "ci_high", "se_sandwich", "sandwich_low", "sandwich_high", "rank", "bound"):
            assert_close(e[key], again[name][key], 1e-4)


@given(rows_of_ratings)
@relaxed
def test_every_document_is_json_without_nan(rows: list[Row]) -> None:
    document = ranked(rows).to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def through_parquet(frame: pl.DataFrame) -> pl.DataFrame:
    stored = io.BytesIO()
    frame.write_parquet(stored)
    return pl.read_parquet(io.BytesIO(stored.getvalue()))


@given(rows_of_ratings)
@relaxed
def test_tables_come_back_as_they_were(rows: list[Row]) -> None:
    result = ranked(rows)
    assert fits_from_frame(through_parquet(fits_to_frame(result.fits))) == result.fits
    back = intervals_from_frame(through_parquet(intervals_to_frame(result.intervals)))
    for left, right in zip(back, result.intervals, strict=True):
        assert (left.fit, left.resamples, left.reason) == (right.fit, right.resamples, right.reason)
        assert (left.entities, left.pairs, left.diagnostics) == (right.entities, right.pairs, right.diagnostics)
        np.testing.assert_array_equal(left.draws, right.draws)
