"""Newton's steps: which of them need no look at the likelihood, and where they lead."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from s2s_assets.ranking.existence import separation
from s2s_assets.ranking.layout import layout_of, starting_thresholds, used_magnitudes
from s2s_assets.ranking.likelihood import Terms, as_batch, derivatives, log_likelihood, starting_strengths, terms_of
from s2s_assets.ranking.ordinal import all_equal, maximise, surely_rises
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Floats
from s2s_assets_tests.ranking.cases import Row, parts, rows_of_ratings, simulated

widths = st.lists(st.floats(1e-3, 3.0), min_size=4, max_size=4)


def terms_and_start(problem: Problem) -> tuple[Terms, Floats]:
    totals = problem.counts.sum(axis=1)
    layout = layout_of(used_magnitudes(totals))
    return terms_of(problem, layout, as_batch(problem.counts)), starting_thresholds(layout, as_batch(totals))[:, 0]


def newton_step(terms: Terms, theta: Floats) -> Floats:
    n = terms.incidence.shape[0]
    here = derivatives(terms, as_batch(theta[:n]), as_batch(theta[n:]))
    inverse = np.linalg.pinv(here.information[..., 0], rcond=1e-10, hermitian=True)
    return np.asarray(inverse @ here.gradient[:, 0], np.float64)


@given(rows_of_ratings, st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4), widths)
def test_a_step_taken_unseen_never_lowers_the_likelihood(rows: list[Row], at: list[float], gaps: list[float]) -> None:
    for problem in parts(rows)[2]:
        terms, _ = terms_and_start(problem)
        n, t = len(problem.entities), terms.layout.thresholds
        assume(t)
        theta = np.concatenate([at[:n], np.linalg.solve(terms.layout.gaps, gaps[:t])])
        step = newton_step(terms, theta)
        for share in (1.0, 0.3, 0.1):  # shorter ones rise too, and are more often short enough
            if surely_rises(terms, theta, share * step):
                before, after = (log_likelihood(terms, x[:n], x[n:]) for x in (theta, theta + share * step))
                assert after >= before - 1e-9 * (1 + abs(before))


@given(rows_of_ratings)
def test_the_start_does_not_matter(rows: list[Row]) -> None:
    for problem in parts(rows)[2]:
        terms, thresholds = terms_and_start(problem)
        if not len(terms.layout.below) or separation(terms) is not None:
            continue
        near = np.concatenate([starting_strengths(terms, thresholds), thresholds])
        found, slow = maximise(terms, near), maximise(terms, all_equal(terms, thresholds))
        assert found.thresholds == pytest.approx(slow.thresholds, abs=1e-9)
        assert found.strengths - found.strengths.mean() == pytest.approx(
            slow.strengths - slow.strengths.mean(), abs=1e-9
        )


def test_the_starting_strengths_are_near_the_maximum() -> None:
    (problem,) = parts(simulated(5_000, [0.5, 0.2, 0.0, -0.7], seed=1))[2]
    terms, thresholds = terms_and_start(problem)
    start = starting_strengths(terms, thresholds)
    best = maximise(terms, all_equal(terms, thresholds)).strengths
    assert np.abs(start - (best - best.mean())).max() < 0.05 * np.abs(best).max()


@pytest.mark.parametrize(
    ("strengths", "widths"),
    [
        ([6.0, 0.0, 0.0, -6.0], [0.01, 1.0, 1.1]),
        ([0.0] * 4, [0.05, 3.0, 3.0]),
        ([0.5, 0.2, 0.0, -0.7], [0.04, 1.1, 1.2]),
    ],
    ids=["strengths too far apart", "gaps too wide", "a gap that a short step closes"],
)
def test_a_bad_start_is_halved_into_place(strengths: list[float], widths: list[float]) -> None:
    rows = [row for k, row in enumerate(simulated(4_000, [0.5, 0.2, 0.0, -0.7], seed=2)) if row[4] or not k % 100]
    (problem,) = parts(rows)[2]  # ties are rare, so their gap is narrow
    terms, thresholds = terms_and_start(problem)
    start = np.concatenate([strengths, np.linalg.solve(terms.layout.gaps, widths)])
    assert not surely_rises(terms, start, newton_step(terms, start))
    expected = maximise(terms, all_equal(terms, thresholds))
    assert maximise(terms, start).thresholds == pytest.approx(expected.thresholds, abs=1e-9)
