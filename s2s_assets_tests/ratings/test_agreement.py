"""Agreement against another implementation, published worked examples, identities and slow plain twins."""

import itertools

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from s2s_assets.ratings.agreement import (
    Interval,
    alphas,
    clustered_interval,
    coincidences,
    defined,
    intraclass,
    intraclass_of,
    quadratic_kappa,
    score_counts,
    sign_agreement,
)

LEVELS = np.arange(-3, 4)
Rows = list[tuple[int, int]]
answers = st.lists(st.tuples(st.integers(0, 8), st.integers(-3, 3)), max_size=30)


def split(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    return np.array([u for u, _ in rows], np.int64), np.array([s for _, s in rows], np.int64)


def counts_of(rows: Rows, n: int = 9) -> np.ndarray:
    return score_counts(*split(rows), n)


def ordinal_alpha(units: np.ndarray, scores: np.ndarray) -> float | None:
    """Alpha of all units as one cluster."""
    counts = score_counts(units, scores, int(units.max(initial=0)) + 1)
    return defined(float(alphas(coincidences(counts, np.zeros(len(counts), np.int64), 1))[0]))


def plain_alpha(rows: Rows) -> float | None:
    """Alpha by its definition: sums over every ordered pair of scores, of one unit and of all."""
    lists = [v for u in {u for u, _ in rows} if len(v := [s for w, s in rows if w == u]) >= 2]
    pooled = [s for values in lists for s in values]
    count = {c: pooled.count(c) for c in range(-3, 4)}

    def delta(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        return (sum(count[g] for g in range(low, high + 1)) - (count[c] + count[k]) / 2) ** 2

    n = len(pooled)
    seen = sum(delta(a, b) / (len(v) - 1) for v in lists for a, b in itertools.permutations(v, 2))
    expected = sum(delta(a, b) for a, b in itertools.permutations(pooled, 2))
    return None if expected == 0 else 1 - (seen / n) / (expected / (n * (n - 1)))


@given(answers)
def test_alpha_is_what_its_definition_gives(rows: Rows) -> None:
    fast, slow = ordinal_alpha(*split(rows)), plain_alpha(rows)
    assert (fast is None) == (slow is None)
    assert fast is None or fast == pytest.approx(slow, abs=1e-9)


@given(answers)
def test_alpha_is_what_the_krippendorff_package_gives(rows: Rows) -> None:
    counts = counts_of(rows)
    used = counts[counts.sum(axis=1) >= 2]
    assume((used.sum(axis=0) > 0).sum() >= 2)
    theirs = krippendorff.alpha(value_counts=used.astype(int), value_domain=LEVELS, level_of_measurement="ordinal")
    assert ordinal_alpha(*split(rows)) == pytest.approx(theirs, abs=1e-9)


def test_alpha_of_full_agreement_is_one_and_of_mirrored_scores_negative() -> None:
    units, scores = np.repeat(np.arange(40), 2), np.repeat(np.arange(40) % 7 - 3, 2)
    assert ordinal_alpha(units, scores) == pytest.approx(1.0)
    mirrored = np.where(np.arange(80) % 2, -scores, scores)
    assert ordinal_alpha(units, mirrored) < -0.5
    assert ordinal_alpha(units, np.zeros(80, dtype=np.int64)) is None


@given(answers, st.lists(st.integers(0, 3), min_size=9, max_size=9))
def test_coincidences_of_clusters_add_up_to_those_of_all(rows: Rows, clusters: list[int]) -> None:
    counts = counts_of(rows)
    parts = coincidences(counts, np.array(clusters), 4)
    whole = coincidences(counts, np.zeros(9, np.int64), 1)
    np.testing.assert_allclose(parts.sum(axis=0), whole[0], atol=1e-9)
    np.testing.assert_allclose(whole[0], whole[0].T, atol=1e-9)


# six targets, four judges: Shrout and Fleiss (1979), table 2
TARGETS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], np.float64)


def test_icc_of_the_published_example() -> None:
    single, mean = intraclass_of(np.full(6, 4.0), TARGETS.sum(axis=1), (TARGETS**2).sum(axis=1))
    assert (round(single, 2), round(mean, 2)) == (0.17, 0.44)
    # their mean squares: 11.24 between targets, 6.26 within
    assert single == pytest.approx((11.24 - 6.26) / (11.24 + 3 * 6.26), abs=1e-3)


@given(st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=4), min_size=2, max_size=8))
def test_icc_is_the_analysis_of_variance_of_its_definition(lists: list[list[int]]) -> None:
    rows = [(u, s) for u, values in enumerate(lists) for s in values]
    single, mean = intraclass(counts_of(rows, len(lists)))
    n, groups = len(rows), len(lists)
    grand = sum(s for _, s in rows) / n
    between = sum(len(v) * (np.mean(v) - grand) ** 2 for v in lists) / (groups - 1)
    within = sum((s - np.mean(v)) ** 2 for v in lists for s in v) / (n - groups)
    n0 = (n - sum(len(v) ** 2 for v in lists) / n) / (groups - 1)
    assume(between > 1e-6)
    assert mean == pytest.approx((between - within) / between, abs=1e-9)
    assert single == pytest.approx((between - within) / (between + (n0 - 1) * within), abs=1e-9)


def test_what_varies_nowhere_has_no_icc() -> None:
    assert intraclass(counts_of([(0, 1), (0, 1), (1, 1), (1, 1)])) == (None, None)
    assert intraclass(counts_of([(0, 1), (0, 2)])) == (None, None)


pairs = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=20)


@given(pairs)
def test_quadratic_kappa_is_lins_concordance(scores: list[tuple[int, int]]) -> None:
    """An identity (Fleiss and Cohen 1973): 2 cov / (var + var + squared difference of the means), moments by n."""
    x, y = np.array(scores, np.float64).T
    below = x.var() + y.var() + (x.mean() - y.mean()) ** 2
    units = np.arange(len(x))
    one, other = (score_counts(units, v.astype(np.int64), len(x)) for v in (x, y))
    if below == 0:
        assert quadratic_kappa(one, other) is None
    else:
        assert quadratic_kappa(one, other) == pytest.approx(2 * np.cov(x, y, ddof=0)[0, 1] / below, abs=1e-9)


def test_kappa_is_over_the_units_that_have_both_readings() -> None:
    one, other = counts_of([(0, 3), (1, -2), (2, 1)]), counts_of([(0, 3), (1, -2), (5, 1)])
    assert quadratic_kappa(one, other) == pytest.approx(1.0)
    assert quadratic_kappa(one, np.zeros_like(one)) is None


def test_sign_agreement_leaves_ties_out() -> None:
    rows = [(0, 2), (0, 1), (1, -1), (1, 3), (2, 0), (2, 3), (3, -2), (3, -2)]
    found = coincidences(counts_of(rows), np.zeros(9, np.int64), 1)[0]
    assert sign_agreement(found) == pytest.approx(2 / 3)
    assert sign_agreement(np.zeros((7, 7))) is None


def test_an_interval_is_the_spread_of_resampled_clusters_and_the_same_each_time() -> None:
    totals = np.column_stack([np.random.default_rng(3).normal(5, 2, 400), np.ones(400)])

    def mean(sums: np.ndarray) -> np.ndarray:
        return sums[:, 0] / sums[:, 1]

    found = clustered_interval(totals, mean, "mean")
    middle, error = totals[:, 0].mean(), totals[:, 0].std() / 20
    assert found is not None
    assert (found.low, found.high) == pytest.approx((middle - 1.96 * error, middle + 1.96 * error), abs=0.15 * error)
    assert clustered_interval(totals, mean, "mean") == found
    assert clustered_interval(totals, mean, "other") != found
    assert clustered_interval(totals[:1], mean, "mean") is None
    assert clustered_interval(totals, lambda sums: np.full(len(sums), np.nan), "mean") is None


def test_many_clusters_are_drawn_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    totals = np.column_stack([np.arange(50.0), np.ones(50)])

    def mean(sums: np.ndarray) -> np.ndarray:
        return sums[:, 0] / sums[:, 1]

    at_once = clustered_interval(totals, mean, "mean", resamples=60)
    monkeypatch.setattr("s2s_assets.ratings.agreement._DRAWS", 350)
    assert clustered_interval(totals, mean, "mean", resamples=60) == at_once


def test_the_interval_of_alpha_covers_what_a_large_study_gives() -> None:
    """Scores of two raters from one latent value a pair, five pairs a prompt; of 200 studies 95 % ± 1.5 % cover."""
    rng = np.random.default_rng(8)

    def study(prompts: int) -> np.ndarray:
        prompt = np.repeat(np.arange(prompts), 5)
        latent = rng.normal(size=prompts)[prompt] + rng.normal(size=5 * prompts)
        scores = np.clip(np.rint(latent[:, None] + rng.normal(size=(5 * prompts, 2))), -3, 3).astype(np.int64)
        units = np.repeat(np.arange(5 * prompts), 2)
        return coincidences(score_counts(units, scores.ravel(), 5 * prompts), prompt, prompts)

    truth = float(alphas(study(20_000).sum(axis=0)))
    found = [clustered_interval(study(60), alphas, "alpha", resamples=400) or Interval(0, 0) for _ in range(200)]
    assert 0.9 <= np.mean([i.low <= truth <= i.high for i in found]) < 1.0
