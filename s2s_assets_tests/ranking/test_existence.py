"""Which terms can rise, by balances and by a linear programme; largest components against a plain search."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.ranking.existence import by_programme, can_rise, rises, surely_none
from s2s_assets.ranking.fits import prepare
from s2s_assets.ranking.layout import layout_of, used_magnitudes
from s2s_assets.ranking.likelihood import as_batch, terms_of
from s2s_assets.ranking.problems import components
from s2s_assets.ranking.refit import Refitter
from s2s_assets.study import Floats
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, Row, parts, rows_of_ratings, simulated


def random_rises(rng: np.random.Generator, n_rows: int, n_entities: int, n_thresholds: int) -> Floats:
    """Rows as those of the likelihood's terms: one entity less another, and often a threshold."""
    rows = np.zeros((n_rows, n_entities + n_thresholds))
    for row in rows:
        row[rng.choice(n_entities, 2, replace=False)] = [-1.0, 1.0]
        if n_thresholds and rng.random() < 0.7:
            row[n_entities + rng.integers(n_thresholds)] = rng.choice([-1.0, 1.0])
    return rows


@given(
    seed=st.integers(0, 2**32 - 1),
    n_free=st.integers(1, 40),
    n_tied=st.integers(0, 6),
    n_entities=st.integers(2, 7),
    n_thresholds=st.integers(0, 3),
    separable=st.booleans(),
)
def test_balances_say_what_the_linear_programme_says(
    seed: int, n_free: int, n_tied: int, n_entities: int, n_thresholds: int, separable: bool
) -> None:
    rng = np.random.default_rng(seed)
    free = random_rises(rng, n_free, n_entities, n_thresholds)
    tied = random_rises(rng, n_tied, n_entities, n_thresholds)
    if separable:
        direction = rng.integers(-1, 2, n_entities + n_thresholds)
        free, tied = free[free @ direction >= 0], tied[tied @ direction == 0]
    if len(free):
        np.testing.assert_array_equal(can_rise(free, tied), by_programme(free, tied))


def test_what_rises_only_along_another_direction_is_found_too() -> None:
    """a - b rises alone; c - d and d - c cannot."""
    free = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [0.0, 0.0, -1.0, 1.0]])
    assert can_rise(free, np.zeros((0, 4))).tolist() == [True, False, False]


def plain_components(names: int, pairs: list[tuple[int, int]]) -> list[set[int]]:
    found: list[set[int]] = [{k} for k in range(names)]
    for i, j in pairs:
        left, right = (next(c for c in found if k in c) for k in (i, j))
        if left is not right:
            left |= right
            found.remove(right)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_entities_outside_the_largest_component_have_no_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    coded, selection, (problem,) = parts(simulated(300, [0.3] * 7, seed=seed))
    resampled = problem.counts[:, :, None] * (rng.random((1, len(problem.pairs), 40)) < 0.2)
    refitter = Refitter.of(problem, prepare(CONFIG_BOARD, selection, coded, {})[0].ordinal)
    valued = ~np.isnan(refitter.refit(resampled))
    exact = 0
    for b in range(40):
        rated = resampled[:, :, b].sum(axis=0)
        components = plain_components(7, [tuple(p) for p in problem.pairs[rated > 0].tolist()])
        weight = [sum(n for n, (i, _) in zip(rated, problem.pairs, strict=True) if i in c) for c in components]
        best = max(range(len(components)), key=lambda k: (len(components[k]), weight[k], -min(components[k])))
        found = set(np.flatnonzero(valued[:, b]).tolist())
        assert found <= components[best]
        exact += found == components[best]
    assert exact > 25  # the rest hold entities that are neither above nor below by an unbounded amount


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 30), n_edges=st.integers(0, 40))
def test_components_are_those_of_a_plain_search(seed: int, n: int, n_edges: int) -> None:
    edges = np.random.default_rng(seed).integers(0, n, (n_edges, 2))
    expected = {
        member: min(part) for part in plain_components(n, [tuple(e) for e in edges.tolist()]) for member in part
    }
    assert components(edges, n).tolist() == [expected[k] for k in range(n)]


@given(rows_of_ratings)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_what_exists_at_a_glance_exists(rows: list[Row]) -> None:
    for problem in parts(rows)[2]:
        layout = layout_of(used_magnitudes(problem.counts.sum(axis=1)))
        terms = terms_of(problem, layout, as_batch(problem.counts))
        both = (terms.up[..., 0] > 0) & (terms.down[..., 0] > 0)
        if len(layout.below) and surely_none(terms, both):
            tied = rises(terms, both, np.zeros_like(both))
            assert np.linalg.matrix_rank(tied) == len(problem.entities) + layout.thresholds - 1
