"""Agreement of raters: Krippendorff's alpha for ordinal scores, intraclass correlation, weighted kappa, and their intervals.

All are computed from V[u, c], how often unit u got score c, and m_u, its number of scores; units with m_u ≥ 2 count.
Units are pairs of responses and scores must be signed to one side of each pair: scores as seen on the screen would
measure the order instead.

**Alpha** compares the disagreement that was seen with the one that chance would give:

    coincidences   o[c, k] = Σ_u (V[u, c] V[u, k] − [c = k] V[u, c]) / (m_u − 1),   n_c = Σ_k o[c, k],   n = Σ_c n_c
    distance       δ²[c, k] = (Σ_{g=c..k} n_g − (n_c + n_k) / 2)²
    disagreement   D_o = Σ o[c, k] δ²[c, k] / n,   D_e = Σ n_c (n_k − [c = k]) δ²[c, k] / (n (n − 1))
    alpha          1 − D_o / D_e

1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement (Krippendorff, Content Analysis, 2004,
chapter 11). **ICC(1, 1)** is the share of the scores' variance that lies between units, raters being different ones each
time: (MSB − MSW) / (MSB + (n₀ − 1) MSW) with n₀ = (N − Σ m_u² / N) / (U − 1); ICC(1, k), (MSB − MSW) / MSB, is that of
the mean of a unit's scores (Shrout and Fleiss 1979). **Kappa**, quadratic, is that of the two orders: one reading of a
pair with its first config heard first, the other with its second; 1 − Σ w o / Σ w e with w = (c − k)² (Cohen 1968), each
pair weighing the same. **Sign agreement** is the share of two scores of a unit, neither 0, that prefer the same side.

Intervals are percentiles of a bootstrap over clusters (prompts, or raters) drawn whole, with seeds from names. What is
undefined, such as alpha of equal scores, is None.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2s_assets.study import Floats, Ints, generator

SCORES = 7
"""Scores of the scale, -3..3."""
RESAMPLES = 1000
_LEVELS = np.arange(SCORES, dtype=np.float64) - SCORES // 2
_DRAWS = 2_000_000
"""Draws held at once."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float


def score_counts(units: Ints, scores: Ints, n_units: int) -> Floats:
    """(units, 7) how often each unit got each score.

    Args:
        units: (n,) whole numbers from 0.
        scores: (n,) whole numbers -3..3, signed to one side of the pair.
        n_units: how many units there are.
    """
    flat = np.bincount(units * SCORES + scores + SCORES // 2, minlength=n_units * SCORES)
    return flat.reshape(n_units, SCORES).astype(np.float64)


def coincidences(counts: Floats, clusters: Ints, n_clusters: int) -> Floats:
    """(clusters, 7, 7) coincidences of the units of each cluster; those of several add up.

    Args:
        counts: (units, 7) of `score_counts`.
        clusters: (units,) the cluster, such as the prompt, of each unit, from 0.
        n_clusters: how many there are.
    """
    several = counts.sum(axis=1) >= 2
    counts, clusters = counts[several], clusters[several]
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1.0)
    found = np.empty((n_clusters, SCORES, SCORES))
    for c in range(SCORES):
        for k in range(SCORES):
            of_unit = weighted[:, c] * (counts[:, k] - (c == k))
            found[:, c, k] = np.bincount(clusters, of_unit, n_clusters)
    return found


def alphas(found: Floats) -> Floats:
    """(…,) alpha of each (7, 7) matrix of coincidences (…, 7, 7); NaN where undefined."""
    marginal = found.sum(axis=-1)
    total = marginal.sum(axis=-1)
    # Σ_{g=c..k} n_g − (n_c + n_k) / 2 is the difference of the mid-ranks of c and k
    midrank = np.cumsum(marginal, axis=-1) - marginal / 2.0
    distance = (midrank[..., :, None] - midrank[..., None, :]) ** 2
    chance = marginal[..., :, None] * (marginal[..., None, :] - np.eye(SCORES))
    expected = (chance * distance).sum(axis=(-2, -1))
    seen = (found * distance).sum(axis=(-2, -1))
    defined = (total > 1.5) & (expected > 1e-9)
    return np.where(defined, 1.0 - (total - 1.0) * seen / np.where(defined, expected, 1.0), np.nan)


def intraclass(counts: Floats) -> tuple[float | None, float | None]:
    """ICC(1, 1) and ICC(1, k) of counts (units, 7)."""
    return intraclass_of(counts.sum(axis=1), counts @ _LEVELS, counts @ _LEVELS**2)


def intraclass_of(sizes: Floats, sums: Floats, squares: Floats) -> tuple[float | None, float | None]:
    """ICC(1, 1) and ICC(1, k) of units, each given by its number of scores, their sum and their sum of squares."""
    several = sizes >= 2
    m, total = sizes[several], sizes[several].sum()
    if m.size < 2:
        return None, None
    sums, squares = sums[several], squares[several]
    between = ((sums**2 / m).sum() - sums.sum() ** 2 / total) / (m.size - 1)
    within = (squares.sum() - (sums**2 / m).sum()) / (total - m.size)
    n0 = (total - (m**2).sum() / total) / (m.size - 1)
    below = between + (n0 - 1.0) * within
    single = (between - within) / below if below > 1e-12 else None
    return defined(single), defined((between - within) / between if between > 1e-12 else None)


def quadratic_kappa(one: Floats, other: Floats) -> float | None:
    """Cohen's kappa with quadratic weights of two readings (units, 7), over the units that have both."""
    both = (one.sum(axis=1) > 0) & (other.sum(axis=1) > 0)
    rows, columns = (v[both] / v[both].sum(axis=1, keepdims=True) for v in (one, other))
    if len(rows) == 0:
        return None
    weights = (_LEVELS[:, None] - _LEVELS[None, :]) ** 2
    expected = (weights * np.outer(rows.mean(axis=0), columns.mean(axis=0))).sum()
    seen = (weights * (rows.T @ columns)).sum() / len(rows)
    return defined(1.0 - seen / expected) if expected > 1e-12 else None


def sign_agreement(found: Floats) -> float | None:
    """Share of coincidences (7, 7) between two scores other than 0 that lie on one side."""
    half = SCORES // 2
    low, high = slice(0, half), slice(half + 1, SCORES)
    same = found[low, low].sum() + found[high, high].sum()
    total = same + found[low, high].sum() + found[high, low].sum()
    return defined(same / total) if total > 1e-9 else None


def clustered_interval(
    totals: Floats, statistic: Callable[[Floats], Floats], *names: str, resamples: int = RESAMPLES
) -> Interval | None:
    """Percentile interval of a statistic of sums over clusters; None with one cluster or too few defined values.

    Args:
        totals: (clusters, …) what each cluster adds to the sums.
        statistic: sums (resamples, …) → values (resamples,), NaN where undefined.
        names: what it is for: part of the seed.
        resamples: how many.
    """
    n = len(totals)
    if n < 2:
        return None
    rng, flat = generator("rater_quality", *names), totals.reshape(n, -1)
    values = []
    for start in range(0, resamples, step := max(1, _DRAWS // n)):
        size = min(step, resamples - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        values.append(statistic((weights @ flat).reshape(size, *totals.shape[1:])))
    found = np.concatenate(values)
    found = found[~np.isnan(found)]
    if len(found) < 0.5 * resamples:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return Interval(float(low), float(high))


def defined(value: float | None) -> float | None:
    """A number, None where it is none."""
    return None if value is None or not np.isfinite(value) else float(value)
