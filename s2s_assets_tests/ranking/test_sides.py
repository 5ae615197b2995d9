"""The two fits that loosen the symmetry of left and right."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from s2s_assets.ranking import ELO_PER_STRENGTH
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.problems import Problem, problems
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.sides import flexible_thresholds, order_effect, sided
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, reference_rows, references, simulated
from s2s_assets_tests.ranking.twin import logistic


def problem_of(frame: pl.DataFrame) -> Problem:
    coded = code_ratings(frame)
    (problem,) = problems(select(coded, CONFIG_BOARD), coded.configs)[0]
    return problem


@pytest.mark.parametrize("name", ["six", "sparse8", "hard_unused_pm2", "hard_unused_pm3", "hard_unused_zero"])
def test_likelihood_ratio_is_that_of_clm(name: str) -> None:
    ref = references()[name]
    expected = 2 * (ref["clm_flexible"]["logLik"] - ref["clm_symmetric2"]["logLik"])
    found = flexible_thresholds(sided(problem_of(frame_of(reference_rows(name)))), heard=False)
    assert found is not None
    assert found.left == "config_a"
    assert found.statistic == pytest.approx(expected, abs=1e-6)
    free = [len(ref[k][v]) for k, v in (("clm_flexible", "tau"), ("clm_symmetric2", "t"))]
    assert found.df == free[0] - free[1]


def biased(n: int, shift: float, seed: int, **options: float) -> pl.DataFrame:
    """Ratings in which the answer heard first gains `shift`; half of the pairs are heard b first."""
    plain = simulated(n, [0.6, 0.2, -0.2, -0.6], seed=seed, **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    first = np.where(rng.integers(0, 2, n) == 1, "a", "b")
    s = [0.6, 0.2, -0.2, -0.6]
    d = np.array([s[int(a[1])] - s[int(b[1])] for _, _, a, b, _ in plain]) + np.where(first == "a", shift, -shift)
    latent = d + rng.logistic(size=n)
    score = np.sign(latent) * (np.abs(latent)[:, None] > np.array([0.4, 1.4, 2.6])).sum(axis=1)
    return frame_of(plain).with_columns(score=pl.Series(score.astype(int)), first=pl.Series(first))


def test_order_effect_is_the_maximum_over_rows() -> None:
    """A general optimizer on the rows, written without any of the package's code, finds the same shift."""
    frame = biased(300, 0.5, seed=3)
    rows = frame.select("config_a", "config_b", "score", "first").rows()

    def loss(x: np.ndarray) -> float:
        t = np.cumsum(np.exp(x[4:7]))
        edges = [-math.inf, *-t[::-1], *t, math.inf]
        total = 0.0
        for a, b, y, first in rows:
            d = x[int(a[1])] - x[int(b[1])] + (x[7] if first == "a" else -x[7])
            total += math.log(logistic(edges[y + 4] - d) - logistic(edges[y + 3] - d))
        return -total + 1e-9 * float(x[:4] @ x[:4])

    twin = minimize(loss, np.array([0, 0, 0, 0, -1, 0, 0, 0.0]), method="BFGS", options={"gtol": 1e-6})
    found = order_effect(sided(problem_of(frame)))
    assert found is not None
    assert found.shift == pytest.approx(ELO_PER_STRENGTH * twin.x[7], abs=1e-2)


def test_order_effect_covers_what_was_planted_and_flexible_thresholds_see_it() -> None:
    covered, seen, false_alarms = 0, 0, 0
    for seed in range(40):
        turned = sided(problem_of(biased(800, 0.5, seed=seed, raters=30, prompts=60)))
        found, test = order_effect(turned), flexible_thresholds(turned, heard=True)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= ELO_PER_STRENGTH * 0.5 <= found.high
        assert test is not None
        seen += test.p < 0.05
        plain = flexible_thresholds(sided(problem_of(biased(800, 0.0, seed=seed))), heard=True)
        assert plain is not None
        false_alarms += plain.p < 0.05
    assert covered >= 34
    assert false_alarms <= 6
    assert seen >= 34


def test_swapping_every_side_turns_the_order_effect_round() -> None:
    frame = biased(400, 0.4, seed=9)
    swapped = frame.with_columns(first=pl.col("first").replace({"a": "b", "b": "a"}))
    mirrored = frame.with_columns(
        config_a="config_b",
        config_b="config_a",
        score=-pl.col("score"),
        first=pl.col("first").replace({"a": "b", "b": "a"}),
    )
    found = [order_effect(sided(problem_of(f))) for f in (frame, swapped, mirrored)]
    assert all(f is not None for f in found)
    shifts = [f.shift for f in found if f is not None]
    assert shifts[1] == pytest.approx(-shifts[0])
    assert shifts[2] == pytest.approx(shifts[0])


def test_ratings_with_an_unknown_side_are_left_out() -> None:
    frame = biased(400, 0.4, seed=9)
    part = frame.with_columns(first=pl.when(pl.int_range(pl.len()) < 300).then("first"))
    known = order_effect(sided(problem_of(part)))
    assert known == order_effect(sided(problem_of(frame.head(300))))
    assert known is not None
    assert known.n_ratings == 300


def test_pooling_configs_turns_the_side_with_the_pair() -> None:
    """`b|x` and `a|x` sort otherwise by config than a pooled board's names do when families are named the other way."""
    frame = biased(400, 0.4, seed=9)
    names = {f"m{k}": f"m{9 - k}" for k in range(4)}
    renamed = frame.with_columns(pl.col("config_a", "config_b").replace_strict(names))
    coded = code_ratings(frame)
    (pooled,) = problems(select(coded, CONFIG_BOARD), [names[c] for c in coded.configs])[0]
    first, second = order_effect(sided(pooled)), order_effect(sided(problem_of(renamed)))
    assert first is not None
    assert second is not None
    assert first.shift == pytest.approx(second.shift)


def test_sides_that_go_with_the_entities_have_no_order_effect() -> None:
    """Two entities, one always heard first: what is its strength and what its place cannot be told."""
    rows = simulated(200, [0.4, -0.4])
    always = pl.when(pl.col("config_a") == "m0").then(pl.lit("a")).otherwise(pl.lit("b"))
    turned = sided(problem_of(frame_of(rows).with_columns(first=always)))
    assert order_effect(turned) is None
    test = flexible_thresholds(turned, heard=True)
    assert test is not None
    assert test.df == 2  # the third would be the shift
    mixed = frame_of(rows).with_columns(first=pl.Series(["a", "b"] * 100))
    assert order_effect(sided(problem_of(mixed))) is not None


def test_separated_flexible_thresholds_have_no_test() -> None:
    rows = [("r1", "p1", "m0", "m1", y) for y in (1, 1, 1, -1)] + [("r2", "p2", "m1", "m0", y) for y in (1, 1, 1, -1)]
    frame = frame_of(rows)
    assert flexible_thresholds(sided(problem_of(frame)), heard=False) is not None
    assert flexible_thresholds(sided(problem_of(frame.filter(pl.col("score") > 0))), heard=False) is None
