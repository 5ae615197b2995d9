"""What is said about a fit beside its ranking, against refits, row-wise twins and simulations with a known truth."""

import math

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import (
    ELO_PER_STRENGTH,
    BoardFit,
    BoardIntervals,
    Diagnostics,
    bootstrap_boards,
    diagnose_boards,
    fit_boards,
    intervals_from_frame,
    intervals_to_frame,
)
from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.influence import removal_shifts
from s2s_assets.ranking.misfits import expected_counts, pair_fits
from s2s_assets.ranking.ordinal import OrdinalFit, fit_ordinal
from s2s_assets.ranking.problems import Problem
from s2s_assets.ranking.sandwich import sandwich, strength_rows
from s2s_assets.ranking.variance_shares import variance_shares
from s2s_assets.study import InputError
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, Row, frame_of, parts, reference_rows, simulated
from s2s_assets_tests.ranking.twin import cell_edges, logistic

STRENGTHS = [0.8, 0.3, -0.3, -0.8]


def fitted(rows: list[Row]) -> tuple[Problem, OrdinalFit, ClusteredScores]:
    _, _, (problem,) = parts(rows)
    ordinal = fit_ordinal(problem)
    assert ordinal.maximum is not None
    return problem, ordinal, ClusteredScores.of(problem, ordinal.maximum)


def diagnosed(frame: pl.DataFrame, resamples: int = 0) -> tuple[BoardFit, BoardIntervals, Diagnostics]:
    fits = fit_boards(frame, [CONFIG_BOARD])
    (found,) = diagnose_boards(frame, fits, bootstrap_boards(frame, fits, resamples=resamples))
    assert found.diagnostics is not None
    return fits[0], found, found.diagnostics


@pytest.mark.parametrize("name", ["six", "hard_unused_pm2", "hard_unused_pm3", "hard_unused_zero"])
def test_expected_scores_are_those_of_the_probabilities_by_row(name: str) -> None:
    rows = reference_rows(name)
    fit, found, _ = diagnosed(frame_of(rows))
    used = sorted({abs(y) for *_, y in rows})
    t = [x for x in fit.thresholds if x is not None]
    strength = {e.entity: e.strength or 0.0 for e in fit.entities}
    for pair in found.pairs:
        if pair.n == 0:
            assert pair.expected_score is None
            continue
        d, expected = strength[pair.a] - strength[pair.b], 0.0
        for score in sorted({*used, *(-u for u in used)}):
            low, high = cell_edges(score, used, t)
            expected += score * (logistic(high - d) - logistic(low - d))
        assert pair.expected_score == pytest.approx(expected, abs=1e-9)


def test_expected_counts_keep_every_pairs_number_of_ratings() -> None:
    problem, ordinal, _ = fitted(simulated(500, STRENGTHS))
    expected = expected_counts(problem, ordinal)
    assert expected.sum(axis=0) == pytest.approx(problem.counts.sum(axis=0))
    assert (expected >= 0).all()


def test_shift_of_a_pair_is_a_newton_step_of_the_fit_with_one_more_parameter() -> None:
    """The twin adds the pair's shift to the likelihood by rows and differentiates it numerically."""
    rows = simulated(400, STRENGTHS, seed=4)
    problem, ordinal, scores = fitted(rows)
    found = pair_fits(problem, ordinal, scores, expected_counts(problem, ordinal))
    edges = [-math.inf, *-ordinal.thresholds[::-1], *ordinal.thresholds, math.inf]
    names = {e: k for k, e in enumerate(problem.entities)}
    cells = [(names[a], names[b], y) if names[a] < names[b] else (names[b], names[a], -y) for *_, a, b, y in rows]

    def loss(x: np.ndarray) -> float:
        """Strengths (4) and the shift of pair (0, 1), thresholds (3)."""
        t = x[5:]
        ladder = [-math.inf, *-t[::-1], *t, math.inf]
        return sum(
            math.log(logistic(ladder[y + 4] - d) - logistic(ladder[y + 3] - d))
            for i, j, y in cells
            for d in [x[i] - x[j] + (x[4] if (i, j) == (0, 1) else 0.0)]
        )

    assert edges[1] == -ordinal.thresholds[-1]
    at = np.concatenate([ordinal.strengths, [0.0], ordinal.thresholds])
    eye, h = np.eye(8), 1e-3
    gradient = np.array([(loss(at + h * e) - loss(at - h * e)) / (2 * h) for e in eye])
    hessian = np.array(
        [
            [
                (loss(at + h * (e + f)) - loss(at + h * (e - f)) - loss(at - h * (e - f)) + loss(at - h * (e + f)))
                / (4 * h * h)
                for f in eye
            ]
            for e in eye
        ]
    )
    hessian = (hessian + hessian.T) / 2
    step = np.linalg.pinv(-hessian, rcond=1e-7) @ gradient
    assert found.shift[0] == pytest.approx(step[4], abs=2e-4)


def test_misfits_of_a_true_model_are_standard_normal_and_a_planted_one_is_found() -> None:
    z, named = [], 0
    for seed in range(25):
        rows = simulated(1500, STRENGTHS, raters=30, prompts=60, rater_sd=0.4, prompt_sd=0.5, seed=seed)
        z += [p.misfit for p in diagnosed(frame_of(rows))[1].pairs if p.misfit is not None]
        turned = [(r, p, a, b, max(-3, y - 2) if (a, b) == ("m0", "m1") else y) for r, p, a, b, y in rows]
        (first, *_) = diagnosed(frame_of(turned))[2].misfits
        named += (first.a, first.b) == ("m0", "m1") and first.shift < 0
    assert 0.8 < float(np.std(z)) < 1.25
    assert named >= 24


@pytest.mark.parametrize("factor", ["raters", "prompts"])
def test_influence_is_close_to_true_refits(factor: str) -> None:
    rows = simulated(1200, STRENGTHS, raters=12, prompts=15, rater_sd=0.5, prompt_sd=0.5, seed=2)
    _, ordinal, scores = fitted(rows)
    shifts = removal_shifts(getattr(scores, factor), strength_rows(ordinal))
    column = 0 if factor == "raters" else 1
    names = sorted({r[column] for r in rows})
    true = np.array([fitted([r for r in rows if r[column] != name])[1].strengths for name in names]) - ordinal.strengths
    assert np.corrcoef(shifts.ravel(), true.ravel())[0, 1] > 0.99
    assert np.abs(shifts - true).max() < 0.15 * np.abs(true).max()


def test_most_influential_rater_is_named_with_what_its_removal_does() -> None:
    rows = simulated(600, STRENGTHS, raters=15, prompts=20, seed=5)
    liar = [("zz", f"p{k % 20}", "m3", "m0", 3) for k in range(60)]
    _, _, found = diagnosed(frame_of(rows + liar))
    first = found.influential_raters[0]
    assert first.name == "zz"
    assert first.share == pytest.approx(60 / 660)
    assert {first.entity} <= {"m0", "m3"}
    assert first.leader == "m0"
    assert found.heaviest_rater == first
    refit = fit_boards(frame_of(rows), [CONFIG_BOARD])[0]
    before = {e.entity: e.elo for e in fit_boards(frame_of(rows + liar), [CONFIG_BOARD])[0].entities}
    moved = {e.entity: (e.elo or 0) - (before[e.entity] or 0) for e in refit.entities}
    assert first.shift == pytest.approx(moved[str(first.entity)], rel=0.35)


def test_the_only_rater_has_no_removal() -> None:
    _, _, found = diagnosed(frame_of(simulated(60, [0.3, -0.3], raters=1)))
    assert found.influential_raters == ()
    assert found.heaviest_rater is not None
    assert (found.heaviest_rater.share, found.heaviest_rater.shift) == (1.0, None)
    assert found.influential_prompts


def test_parts_of_the_variance_add_up_to_the_sandwich() -> None:
    problem, ordinal, scores = fitted(simulated(2000, STRENGTHS, raters=30, prompts=50, rater_sd=0.5, prompt_sd=0.5))
    rows = strength_rows(ordinal)
    robust = sandwich(problem, ordinal).covariance
    assert robust is not None
    assert np.trace(rows @ scores.meat() @ rows.T) == pytest.approx(np.trace(robust), rel=1e-6)
    shares = variance_shares(scores, rows)
    assert shares is not None
    assert shares.raters + shares.prompts + shares.noise == pytest.approx(1)


@pytest.mark.parametrize(("rater_sd", "prompt_sd"), [(0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.5, 0.5)])
def test_variance_shares_are_those_of_simulated_studies(rater_sd: float, prompt_sd: float) -> None:
    """The truth: how much of the spread of estimates goes when an effect is taken out of the simulation."""
    design = {"raters": 25, "prompts": 60}

    def spread(r: float, p: float) -> float:
        drawn = [
            fitted(simulated(1500, STRENGTHS, rater_sd=r, prompt_sd=p, seed=s, **design))[1].strengths
            for s in range(60)
        ]
        return float(np.var(drawn, axis=0, ddof=1).sum())

    found = []
    for seed in range(40):
        _, ordinal, scores = fitted(
            simulated(1500, STRENGTHS, rater_sd=rater_sd, prompt_sd=prompt_sd, seed=seed, **design)
        )
        shares = variance_shares(scores, strength_rows(ordinal))
        assert shares is not None
        found.append((shares.raters, shares.prompts, shares.noise))
    mean = np.mean(found, axis=0)
    total = spread(rater_sd, prompt_sd)
    assert mean[0] == pytest.approx(max(1 - spread(0.0, prompt_sd) / total, 0.0), abs=0.2)
    assert mean[1] == pytest.approx(max(1 - spread(rater_sd, 0.0) / total, 0.0), abs=0.2)


def test_pairs_that_an_engine_orders_otherwise_are_listed() -> None:
    rows = simulated(120, np.linspace(0.1, -0.1, 8).tolist(), seed=3)
    fit, _, found = diagnosed(frame_of(rows))
    by_name = {e.entity: e for e in fit.entities}
    expected = {
        (engine, a.entity, b.entity)
        for engine in ("massey", "partial_margin_bt")
        for a in fit.entities
        for b in fit.entities
        if (a.strength or 0) > (b.strength or 0) and getattr(a, engine) < getattr(b, engine)
    }
    assert {(d.engine, d.ahead, d.behind) for d in found.order_differences} == expected
    assert expected  # eight close entities: some pair differs
    for d in found.order_differences:
        assert d.difference == pytest.approx((by_name[d.ahead].elo or 0) - (by_name[d.behind].elo or 0))


@pytest.mark.parametrize(
    "name", ["hard_separation_always_plus3", "hard_threshold_separation", "hard_all_ties", "hard_single_plus3"]
)
def test_fits_without_a_maximum_are_not_judged_by_one(name: str) -> None:
    _, found, diagnostics = diagnosed(frame_of(reference_rows(name)))
    assert diagnostics.misfits == ()
    assert diagnostics.flexible_thresholds is None
    assert all(p.misfit is None for p in found.pairs)


def test_letters_follow_the_simultaneous_intervals() -> None:
    rows = simulated(900, [0.8, 0.7, 0.0, -0.8], raters=30, prompts=60, seed=6)
    _, found, diagnostics = diagnosed(frame_of(rows))
    letters = {e.entity: e.letters or "" for e in found.entities}
    assert diagnostics.max_t is not None
    assert diagnostics.max_t > 2.045  # wider than one pair's
    for p in found.pairs:
        assert p.simultaneous_low is not None
        assert p.simultaneous_high is not None
        assert p.difference is not None
        assert p.simultaneous_low + p.simultaneous_high == pytest.approx(2 * p.difference)
        apart = p.simultaneous_low > 0 or p.simultaneous_high < 0
        assert apart != bool(set(letters[p.a]) & set(letters[p.b]))


def test_diagnostics_change_no_number_and_survive_parquet() -> None:
    frame = frame_of(simulated(300, STRENGTHS, seed=8)).with_columns(first=pl.lit("a"))
    fits = fit_boards(frame, [CONFIG_BOARD])
    drawn = bootstrap_boards(frame, fits, resamples=40)
    seen = diagnose_boards(frame, fits, drawn)
    before, after = (intervals_to_frame(i).drop("diagnostics") for i in (drawn, seen))
    kept = ["entity", "ci_low", "ci_high", "se_sandwich", "rank_low", "rank_high"]
    parts_of = [
        f.explode("entities").unnest("entities").select(kept)
        for f in (before.select("entities"), after.select("entities"))
    ]
    assert parts_of[0].equals(parts_of[1])
    (back,) = intervals_from_frame(intervals_to_frame(seen))
    assert back.diagnostics == seen[0].diagnostics
    assert back.diagnostics is not None
    assert back.diagnostics.order_effect is not None
    assert back.entities == seen[0].entities
    assert back.pairs == seen[0].pairs


def test_row_order_and_sides_of_names_change_nothing() -> None:
    frame = frame_of(simulated(400, STRENGTHS, seed=9)).with_columns(first=pl.Series(["a", "b"] * 200))
    mirrored = frame.with_columns(
        config_a="config_b",
        config_b="config_a",
        score=-pl.col("score"),
        first=pl.col("first").replace({"a": "b", "b": "a"}),
    ).sample(fraction=1.0, shuffle=True, seed=1)
    one, two = (diagnosed(f)[2] for f in (frame, mirrored))
    assert one.order_effect is not None
    assert two.order_effect is not None
    assert one.order_effect.shift == pytest.approx(two.order_effect.shift)
    assert [m.z for m in one.misfits] == pytest.approx([m.z for m in two.misfits])
    assert [r.name for r in one.influential_raters] == [r.name for r in two.influential_raters]


def test_fits_of_other_ratings_are_refused() -> None:
    frame = frame_of(simulated(300, STRENGTHS))
    fits = fit_boards(frame, [CONFIG_BOARD])
    drawn = bootstrap_boards(frame, fits, resamples=0)
    with pytest.raises(InputError, match="were not made from these ratings"):
        diagnose_boards(frame.with_columns(rubric=pl.lit("clarity")), fits, drawn)


def test_elo_per_strength_is_the_scale_of_shifts() -> None:
    rows = simulated(300, STRENGTHS, seed=8)
    problem, ordinal, scores = fitted(rows)
    found = pair_fits(problem, ordinal, scores, expected_counts(problem, ordinal))
    worst = diagnosed(frame_of(rows))[2].misfits[0]
    assert worst.shift == pytest.approx(ELO_PER_STRENGTH * found.shift[int(np.nanargmax(np.abs(found.z)))])
