"""Max-t intervals and compact letters."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import stdtrit
from scipy.stats import studentized_range

from s2s_assets.ranking.clusters import Clusters
from s2s_assets.ranking.ordinal import fit_ordinal
from s2s_assets.ranking.sandwich import Sandwich, effective_clusters, sandwich
from s2s_assets.ranking.simultaneous import compact_letters, simultaneous, told_apart
from s2s_assets_tests.ranking.cases import parts, simulated


def independent(n: int, degrees: int, scale: float = 0.3) -> Sandwich:
    """Equal, uncorrelated strengths, centred."""
    covariance = scale**2 * (np.eye(n) - 1 / n)
    return Sandwich(np.sqrt(np.diag(covariance)), 2.0, None, covariance, degrees)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_quantile_is_tukeys_where_variances_are_equal_and_known(n: int) -> None:
    found = simultaneous(independent(n, 100_000), draws=40_000)
    assert found is not None
    assert found.quantile == pytest.approx(studentized_range.ppf(0.95, n, np.inf) / np.sqrt(2), rel=0.02)
    assert found.se[0, 1] == pytest.approx(0.3 * np.sqrt(2))
    assert np.isnan(found.se[0, 0])


@pytest.mark.parametrize("degrees", [1, 3, 10, 100])
def test_quantile_of_one_difference_is_students(degrees: int) -> None:
    found = simultaneous(independent(2, degrees), draws=100_000)
    assert found is not None
    assert found.quantile == pytest.approx(stdtrit(degrees, 0.975), rel=0.04)


@pytest.mark.parametrize("degrees", [3, 6, 20])
def test_quantile_is_that_of_covariances_estimated_from_samples(degrees: int) -> None:
    """The plain twin: a covariance from so many vectors, row by row; fewer than entities too."""
    rng = np.random.default_rng(8)
    root = rng.normal(size=(5, 5)) * [1, 1, 2, 3, 0.5]
    covariance = root @ root.T
    found = simultaneous(Sandwich(np.sqrt(np.diag(covariance)), 2.0, None, covariance, degrees), draws=40_000)
    assert found is not None
    largest = []
    for _ in range(20_000):
        sample, z = rng.normal(size=(degrees, 5)) @ root.T, rng.normal(size=5) @ root.T
        estimated = [
            (z[a] - z[b]) ** 2 / np.mean((sample[:, a] - sample[:, b]) ** 2)
            for a, b in itertools.combinations(range(5), 2)
        ]
        largest.append(np.sqrt(max(estimated)))
    assert found.quantile == pytest.approx(np.quantile(largest, 0.95), rel=0.04)


def test_intervals_hold_together_as_often_as_stated() -> None:
    """Unequal and correlated strengths, the covariance known: the largest |t| is within c in 95 % of draws."""
    rng = np.random.default_rng(5)
    root = rng.normal(size=(6, 6))
    covariance = root @ root.T
    found = simultaneous(Sandwich(np.sqrt(np.diag(covariance)), 2.0, None, covariance, 10_000))
    assert found is not None
    drawn = rng.multivariate_normal(np.zeros(6), covariance, size=20_000)
    gaps = np.abs(drawn[:, :, None] - drawn[:, None, :]) > found.half_widths()
    assert gaps.any(axis=(1, 2)).mean() == pytest.approx(0.05, abs=0.008)


def test_intervals_hold_together_where_few_clusters_give_the_covariance() -> None:
    """Twelve equal entities, a covariance estimated with 29 degrees: a multivariate t would be left in 7 % of studies."""
    rng = np.random.default_rng(11)
    outside = 0
    for _ in range(2000):
        sample, z = rng.normal(size=(29, 12)), rng.normal(size=12)
        covariance = sample.T @ sample / 29
        found = simultaneous(Sandwich(np.sqrt(np.diag(covariance)), 2.0, None, covariance, 29), draws=1000)
        assert found is not None
        outside += bool(told_apart(z, found))
    assert outside / 2000 == pytest.approx(0.05, abs=0.012)  # two and a half Monte-Carlo errors


def test_equal_entities_are_rarely_told_apart() -> None:
    """Eight equal entities, 28 pairs, effects of raters and prompts: studies with any false claim are about 5 %."""
    false = 0
    for seed in range(80):
        rows = simulated(1500, [0.0] * 8, raters=30, prompts=100, rater_sd=0.35, prompt_sd=0.5, seed=500 + seed)
        _, _, (problem,) = parts(rows)
        fit = fit_ordinal(problem)
        found = simultaneous(sandwich(problem, fit), draws=2000)
        assert found is not None
        false += bool(told_apart(fit.strengths, found))
    assert false <= 9  # 5 % of 80 is 4, with a Monte-Carlo error of 2


def test_claims_rest_on_the_raters_that_do_the_work() -> None:
    """Equal loads count as they are; where one rater of twenty gives half of the ratings, there are about four."""
    assert effective_clusters(np.repeat(np.arange(20), 30)) == pytest.approx(20)
    assert effective_clusters(np.array([3, 3, 3, 7])) == pytest.approx(1.6)
    rows = simulated(1200, [0.3, 0.0, -0.3], raters=20, prompts=60, rater_sd=0.3, seed=3)
    heavy = [("r0", *row[1:]) if k % 2 else row for k, row in enumerate(rows)]
    for study, degrees in ((rows, 19), (heavy, 3)):
        _, _, (problem,) = parts(study)
        assert sandwich(problem, fit_ordinal(problem)).degrees == pytest.approx(degrees, abs=1)


@pytest.mark.parametrize("loads", [[5, 5, 5], [1, 2, 3, 4], [50, 1, 1, 1, 1, 1], [3] * 40 + [60]])
def test_what_effects_of_clusters_lose_to_the_fit_is_given_back(loads: list[int]) -> None:
    """The plain twin: effects less their weighted mean, as a matrix."""
    n = np.array(loads, float)
    left = np.diag(n) @ (np.eye(len(n)) - np.ones((len(n), 1)) * (n / n.sum()))
    clusters = Clusters(np.arange(len(n)), csr_array(n[:, None]), np.zeros((len(n), 1)))
    assert clusters.uneven_factor == pytest.approx((n @ n) / np.trace(left @ left.T))
    if len(set(loads)) == 1:
        assert clusters.uneven_factor == pytest.approx(clusters.factor)


def test_uneven_loads_widen_errors_and_equal_ones_leave_them() -> None:
    rows = simulated(2000, [0.3, 0.0, -0.3], raters=20, prompts=40, rater_sd=0.5, seed=3)
    heavy = [("r0", *row[1:]) if k % 3 == 0 else row for k, row in enumerate(rows)]
    ratios = []
    for study in (rows, heavy):
        _, _, (problem,) = parts(study)
        fit = fit_ordinal(problem)
        plain, corrected = sandwich(problem, fit), sandwich(problem, fit, uneven_loads=True)
        ratios.append((corrected.se / plain.se).mean())
        assert corrected.quantile == plain.quantile
    assert ratios[0] == pytest.approx(1.0, abs=0.01)
    assert ratios[1] > 1.1


def test_entities_without_an_error_are_not_compared() -> None:
    robust = independent(3, 20)
    se = np.append(robust.se, np.nan)
    covariance = np.zeros((4, 4))
    assert robust.covariance is not None
    covariance[:3, :3] = robust.covariance
    found = simultaneous(Sandwich(se, 2.0, None, covariance, 20))
    assert found is not None
    assert np.isnan(found.se[3]).all()
    assert told_apart(np.array([9.0, 0.0, 0.0, np.nan]), found) == [(0, 1), (0, 2)]
    assert simultaneous(Sandwich(np.array([np.nan]), np.nan, None)) is None


def test_letters_of_a_plain_order() -> None:
    """Neighbours share, others do not: the textbook's staircase."""
    apart = [(0, 2), (0, 3), (1, 3)]
    assert compact_letters([0, 1, 2, 3], apart) == {0: "a", 1: "ab", 2: "bc", 3: "c"}
    assert compact_letters([3, 2, 1, 0], apart) == {3: "a", 2: "ab", 1: "bc", 0: "c"}
    assert compact_letters([0, 1], []) == {0: "a", 1: "a"}


def test_more_letters_than_the_alphabet_has_are_none() -> None:
    """Each disjoint pair told apart doubles the columns."""
    apart = [(k, k + 1) for k in range(0, 12, 2)]
    assert compact_letters(range(12), apart) == {}  # 2 to the 6th columns
    assert set(compact_letters(range(10), apart[:5])) == set(range(10))
    assert compact_letters(range(100), [(k, k + 1) for k in range(0, 100, 2)]) == {}


@given(st.data())
def test_two_share_a_letter_exactly_if_they_are_not_told_apart(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    pairs = list(itertools.combinations(range(n), 2))
    apart = set(data.draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else set()
    order = data.draw(st.permutations(range(n)))
    letters = compact_letters(order, apart)
    for a, b in pairs:
        assert bool(set(letters[a]) & set(letters[b])) == ((a, b) not in apart)
    assert letters[order[0]].startswith("a")


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=7), st.floats(0.1, 2))
def test_letters_of_equal_errors_are_runs_of_the_ranking(strengths: list[float], width: float) -> None:
    """With one width for all pairs no letter skips an entity between two that have it."""
    order = sorted(range(len(strengths)), key=lambda e: -strengths[e])
    apart = [
        (a, b) for a, b in itertools.combinations(range(len(strengths)), 2) if abs(strengths[a] - strengths[b]) > width
    ]
    letters = compact_letters(order, apart)
    for letter in set("".join(letters.values())):
        held = [k for k, e in enumerate(order) if letter in letters[e]]
        assert held == list(range(held[0], held[-1] + 1))
