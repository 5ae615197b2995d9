"""Slices beside the whole, and the comparison of one model's voices."""

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import (
    ELO_PER_STRENGTH,
    BoardFit,
    BoardIntervals,
    FitSpec,
    bootstrap_boards,
    diagnose_boards,
    fit_boards,
    rank,
    within_models,
)
from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.diagnostic_records import SliceTest
from s2s_assets.ranking.ordinal import fit_ordinal
from s2s_assets.ranking.problems import problems
from s2s_assets.ranking.sandwich import strength_rows
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.slices import SliceScores, slice_test
from s2s_assets_tests.ranking.cases import frame_of, simulated

WHOLE = FitSpec(by="config")
LEVELS = ("L1", "L2", "L3")
PARTS = [FitSpec(by="config", slice_dimension="level", slice_value=v) for v in LEVELS]


def sliced(
    strengths: list[list[float]], seed: int, n: int = 400, rater_sd: float = 0.4, prompt_sd: float = 0.4
) -> pl.DataFrame:
    """Ratings of the same raters, with strengths of its own for each level; prompts belong to one level."""
    rng = np.random.default_rng(seed)
    entities = len(strengths[0])
    taste = rng.normal(0, rater_sd, (25, entities))  # the same rater has the same taste in every level
    frames = []
    for level, own in zip(LEVELS, strengths, strict=False):
        a = rng.integers(0, entities, n)
        b = (a + rng.integers(1, entities, n)) % entities
        rater, prompt = rng.integers(0, 25, n), rng.integers(0, 30, n)
        felt = np.array(own) + taste[rater] + rng.normal(0, prompt_sd, (30, entities))[prompt]
        latent = felt[range(n), a] - felt[range(n), b] + rng.logistic(size=n)
        score = np.sign(latent) * (np.abs(latent)[:, None] > np.array([0.4, 1.4, 2.6])).sum(axis=1)
        columns = {"rater": rater, "prompt": prompt, "config_a": a, "config_b": b, "score": score}
        named = {"rater": "r", "prompt": level, "config_a": "m", "config_b": "m"}
        frame = pl.DataFrame(columns).with_columns(pl.format("{}{}", pl.lit(v), k).alias(k) for k, v in named.items())
        frames.append(frame.with_columns(rubric=pl.lit("overall"), level=pl.lit(level)))
    return pl.concat(frames)


def boards(frame: pl.DataFrame, resamples: int = 0) -> tuple[tuple[BoardFit, ...], tuple[BoardIntervals, ...]]:
    fits = fit_boards(frame, [WHOLE, *PARTS])
    return fits, diagnose_boards(frame, fits, bootstrap_boards(frame, fits, resamples=resamples))


def slices_of(frame: pl.DataFrame) -> list[SliceScores]:
    """What the test is made from, without all the rest."""
    coded, found = code_ratings(frame), []
    for spec in PARTS:
        (problem,) = problems(select(coded, spec), coded.configs)[0]
        fit = fit_ordinal(problem)
        assert fit.maximum is not None
        scores = ClusteredScores.of(problem, fit.maximum)
        part = SliceScores("level", spec.slice_value, problem.entities, fit.strengths, strength_rows(fit), scores)
        found.append(part)
    return found


def test_of(intervals: BoardIntervals) -> SliceTest:
    assert intervals.diagnostics is not None
    assert intervals.diagnostics.slice_test is not None
    return intervals.diagnostics.slice_test


test_of.__test__ = False  # type: ignore[attr-defined]


def test_difference_to_the_whole_is_read_off_the_same_resamples() -> None:
    frame = sliced([[0.5, 0.0, -0.5]] * 3, seed=1, n=250)
    fits, found = boards(frame, resamples=120)
    whole = dict(zip([e.entity for e in fits[0].entities], found[0].draws, strict=True))
    elo = {e.entity: e.elo or 0.0 for e in fits[0].entities}
    for fit, intervals in zip(fits[1:], found[1:], strict=True):
        for e, i, drawn in zip(fit.entities, intervals.entities, intervals.draws, strict=True):
            assert i.delta == pytest.approx((e.elo or 0.0) - elo[e.entity])
            ends = np.quantile(ELO_PER_STRENGTH * (drawn - whole[e.entity]), [0.025, 0.975])
            assert [i.delta_low, i.delta_high] == pytest.approx(ends.tolist())
    assert all(e.delta is None for e in found[0].entities)


def test_a_slice_that_is_the_whole_differs_by_nothing() -> None:
    frame = sliced([[0.5, 0.0, -0.5]], seed=2, n=250)
    _, found = boards(frame, resamples=50)
    for e in found[1].entities:
        assert (e.delta, e.delta_low, e.delta_high) == (0, 0, 0)


def test_entities_missing_from_a_slice_do_not_move_the_others() -> None:
    """Both boards are centred over the entities that they share."""
    frame = sliced([[0.5, 0.0, -0.5, 2.0]] * 2, seed=3, n=400)
    frame = frame.filter((pl.col("level") == "L1") | ((pl.col("config_a") != "m3") & (pl.col("config_b") != "m3")))
    fits, found = boards(frame, resamples=50)
    without = next(i for f, i in zip(fits, found, strict=True) if f.spec.slice_value == "L2")
    assert {e.entity for e in without.entities} == {"m0", "m1", "m2"}
    assert sum(e.delta or 0.0 for e in without.entities) == pytest.approx(0, abs=1e-9)


def test_slices_that_do_not_differ_are_called_different_about_as_often_as_stated() -> None:
    """Raters keep their tastes in all slices, which must not count as a difference between slices."""
    found = [slice_test(slices_of(sliced([[0.5, 0.0, -0.2, -0.3]] * 3, seed=s))) for s in range(100)]
    p = [t.p for t in found if t is not None]
    assert len(p) == 100
    assert (np.array(p) < 0.05).mean() <= 0.11  # the Monte-Carlo error of 5 % is 2.2 %
    assert 0.35 < np.mean(p) < 0.65


def test_slices_that_differ_are_told_apart() -> None:
    strengths = [[0.5, 0.0, -0.2, -0.3], [0.5, 0.0, -0.2, -0.3], [-0.3, 0.0, -0.2, 0.5]]
    found = [test_of(boards(sliced(strengths, seed=s))[1][1]) for s in range(10)]
    assert sum(t.p < 0.01 for t in found) >= 9
    assert found[0].values == LEVELS
    assert found[0].entities == 4
    assert found[0].df_error == pytest.approx(24 * found[0].df)


def test_every_slice_carries_the_test_and_a_single_one_has_none() -> None:
    _, found = boards(sliced([[0.5, 0.0, -0.5]] * 3, seed=4, n=200))
    tests = [i.diagnostics.slice_test for i in found if i.diagnostics]
    assert tests[0] is None
    assert tests[1] == tests[2] == tests[3]
    _, alone = boards(sliced([[0.5, 0.0, -0.5]], seed=4, n=200))
    assert all(i.diagnostics is not None and i.diagnostics.slice_test is None for i in alone)


def test_rank_by_slice_compares_with_the_whole_that_it_does_not_list() -> None:
    frame = sliced([[0.5, 0.0, -0.5]] * 2, seed=5, n=200)
    document = rank(frame, slice="level", resamples=30).to_json()
    assert [f["slice"]["value"] for f in document["fits"]] == ["L1", "L2"]
    whole = {e["entity"]: e["elo"] for e in rank(frame, resamples=0).to_json()["fits"][0]["entities"]}
    for fit in document["fits"]:
        assert fit["diagnostics"]["slice_test"]["values"] == ["L1", "L2"]
        for e in fit["entities"]:
            assert e["delta"] == pytest.approx(e["elo"] - whole[e["entity"]])
            assert e["delta_low"] <= e["delta_high"]


def test_voices_of_one_model_are_compared_with_a_paired_interval() -> None:
    names = {"m0": "x|alto|none", "m1": "x|bass|none", "m2": "y|alto|none", "m3": "y|bass|none", "m4": "z|alto|none"}
    frame = frame_of(simulated(800, [0.6, -0.2, 0.3, -0.1, -0.6], seed=6)).with_columns(
        pl.col("config_a", "config_b").replace_strict(names)
    )
    result = rank(frame, by="voice", resamples=80)
    pairs = within_models(result.fits[0], result.intervals[0])
    assert [(p.a, p.b) for p in pairs] == [("x|alto", "x|bass"), ("y|alto", "y|bass")]
    assert [p["a"] for p in result.to_json()["fits"][0]["within_model"]] == ["x|alto", "y|alto"]
    assert pairs[0].ci_low is not None
    assert pairs[0].ci_low > 0
    assert within_models(*((rank(frame, resamples=0).fits[0]), rank(frame, resamples=0).intervals[0])) == ()
