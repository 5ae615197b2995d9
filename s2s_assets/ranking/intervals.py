"""Percentile intervals of draws that may be infinite or missing.

The ends are the 2.5th and 97.5th percentiles (numpy's "linear" definition) over the resamples that have a value, ±∞
being values. Below 95 % of resamples with a value the interval is withheld: what is missing is not missing at random.
An infinite end is None, and the bound says which. The estimate is always the full data's, never a mean of the draws.
"""

import numpy as np

from s2s_assets.ranking.fits import none_if_nan
from s2s_assets.study import Floats, Ints

VALID_SHARE = 0.95
"""Share of resamples with a value below which an interval is withheld."""
_ENDS = np.array([0.025, 0.975])


def percentile_ends(draws: Floats) -> tuple[Floats, Ints]:
    """Ends (rows, 2) of intervals of draws (rows, B), NaN where withheld; and the number of values (rows,)."""
    ordered = np.sort(draws, axis=1)  # NaN last
    valid = (~np.isnan(draws)).sum(axis=1)
    ends = np.full((len(draws), 2), np.nan)
    enough = (valid > 0) & (valid >= VALID_SHARE * draws.shape[1])
    for n in np.unique(valid[enough]):
        rows = enough & (valid == n)
        ends[rows] = _linear_quantiles(ordered[rows, :n])
    return ends, valid


def _linear_quantiles(ordered: Floats) -> Floats:
    """Both ends (rows, 2) of sorted values (rows, n); between a finite and an infinite neighbour the latter, if it counts."""
    n = ordered.shape[1]
    place = _ENDS * (n - 1)
    low, share = np.floor(place).astype(int), place % 1
    left, right = ordered[:, low], ordered[:, np.minimum(low + 1, n - 1)]
    finite = np.isfinite(left) & np.isfinite(right)
    step = np.where(finite, right, 0.0) - np.where(finite, left, 0.0)
    infinite = np.where(share > 0, np.where(np.isinf(left), left, right), left)
    return np.asarray(np.where(finite, left + share * step, infinite), np.float64)


def bound_of(ends: Floats) -> str | None:
    """Which ends (2,) are infinite."""
    low, high = bool(np.isinf(ends[0])), bool(np.isinf(ends[1]))
    if low and high:
        return "both" if ends[0] != ends[1] else ("above" if ends[0] > 0 else "below")
    return "below" if low else "above" if high else None


def finite_ends(ends: Floats) -> tuple[float | None, float | None]:
    """Ends (2,) with None for what is infinite or withheld."""
    return none_if_nan(float(ends[0])), none_if_nan(float(ends[1]))
