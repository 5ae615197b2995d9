"""Ranks: of the estimates, and their range over the joint draws.

An entity's rank is 1 + the number of entities ahead of it; entities closer than rounding share one. Entities above the
rest by an unbounded amount rank ahead, those below behind, by level.

In a draw an entity is at best behind those with a greater value, at worst behind all that are not below it: those with
the same value, and those that the resample lost. The range is the 2.5th percentile of the best and the 97.5th of the
worst, both at ranks that occurred, widened to contain the rank of the full data.
"""

import numpy as np

from s2s_assets.study import Floats, Ints

DECIMALS = 9
"""Of a strength that count in comparisons."""
_LOW, _HIGH = 0.025, 0.975


def estimate_ranks(strengths: Floats, levels: Floats) -> Ints:
    """Ranks (E,), 1 = best, of strengths (NaN where unbounded) and unbounded levels (0 for the rest)."""
    s = np.round(np.where(np.isnan(strengths), 0.0, strengths), DECIMALS)
    key = np.stack([levels, s])
    ahead = (key[0][:, None] < key[0]) | ((key[0][:, None] == key[0]) & (key[1][:, None] < key[1]))
    return np.asarray(1 + ahead.sum(axis=1), np.int64)


def rank_ranges(draws: Floats, ranks: Ints) -> tuple[Ints, Ints]:
    """Best and worst ranks (E,) over draws (E, B), where ±inf are values and NaN is none."""
    best, worst = _draw_ranks(draws)
    resamples = draws.shape[1]
    low = np.sort(best, axis=1)[:, int(np.floor(_LOW * (resamples - 1)))]
    high = np.sort(worst, axis=1)[:, int(np.ceil(_HIGH * (resamples - 1)))]
    return np.minimum(low, ranks), np.maximum(high, ranks)


def _draw_ranks(draws: Floats) -> tuple[Ints, Ints]:
    """Best and worst rank (E, B) of each entity in each draw."""
    rounded = np.round(draws, DECIMALS)
    n_entities = len(draws)
    best, worst = np.ones(draws.shape, np.int64), np.full(draws.shape, n_entities)
    for other in range(n_entities):
        best += rounded[other] > rounded
        worst -= rounded[other] < rounded
    return best, worst
