"""Numbers found by simulation, each with its Monte-Carlo error (one standard error over the replications).

A replication is one simulated study. What is counted within it (the intervals of its entities, say) goes together, so
its mean is one observation and errors come from the spread of these means. For a share of studies the error is Agresti
and Coull's, from two more studies of either outcome, so that it is not zero where all went one way.
"""

import math
from dataclasses import dataclass

import numpy as np

from s2s_assets.study import Bools, Floats


@dataclass(frozen=True)
class Estimate:
    """A number and its Monte-Carlo error."""

    value: float
    error: float


def mean_of(values: Floats) -> Estimate | None:
    """Of one value (R,) a replication, NaN where it has none; None with fewer than two."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return None
    return Estimate(float(known.mean()), float(known.std(ddof=1) / math.sqrt(len(known))))


def share_of(hits: Bools) -> Estimate:
    """Of replications (R,) in which something is so."""
    n, k = len(hits), int(hits.sum())
    near = (k + 2) / (n + 4)
    return Estimate(k / max(n, 1), math.sqrt(near * (1 - near) / (n + 4)))


def error_ratio(estimates: Floats, errors: Floats) -> Estimate | None:
    """Root mean square of stated errors over the spread of the estimates, mean over the columns; error by jackknife.

    Args:
        estimates: (R, E).
        errors: (R, E), what was stated about each of them.
    """
    known = ~np.isnan(estimates + errors).any(axis=1)
    x, v, n = estimates[known], errors[known] ** 2, int(known.sum())
    if n < 3:
        return None

    def ratio(sum_v: Floats, sum_x: Floats, sum_xx: Floats, count: int) -> Floats:
        variance = (sum_xx - sum_x**2 / count) / (count - 1)
        return np.asarray(np.sqrt(sum_v / count / variance).mean(axis=-1), np.float64)

    x = x - x.mean(axis=0)
    sums = v.sum(axis=0), x.sum(axis=0), (x**2).sum(axis=0)
    without = ratio(sums[0] - v, sums[1] - x, sums[2] - x**2, n - 1)
    return Estimate(float(ratio(*sums, n)), float(without.std() * math.sqrt(n - 1)))
