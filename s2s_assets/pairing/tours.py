"""A cycle or path over some configs whose pairs have met least, by 2-opt.

The weight of a pair is its surplus: how often it has met less what its shared prompts would make it. A tour of small
total weight takes up the pairs that fall short. 2-opt (Croes 1958) replaces edges (a, b), (c, d) by (a, c), (b, d) as
long as that lowers the total, best exchange first. A path is a cycle with one more vertex of weight 0, cut there.
"""

import numpy as np

from s2s_assets.study import Floats, Ints

STARTS = 3
"""Random tours that are improved; the best is taken."""
_LEAST_GAIN = 1e-9


def least_met_tour(weight: Floats, *, closed: bool, rng: np.random.Generator) -> Ints:
    """A visiting order of all n vertices, shape (n,), for symmetric weights of shape (n, n)."""
    n = len(weight)
    padded = weight if closed else np.pad(weight, (0, 1))
    tours = [_two_opt(padded, rng.permutation(len(padded))) for _ in range(STARTS)]
    totals = [padded[tour, np.roll(tour, -1)].sum() for tour in tours]
    best = tours[int(np.argmin(np.round(totals, 9)))]
    if closed:
        return best
    return np.roll(best, -int(np.flatnonzero(best == n)[0]))[1:]


def _two_opt(weight: Floats, tour: Ints) -> Ints:
    tour = tour.copy()
    while len(tour) > 3:
        along = weight[tour][:, tour]
        step = along[np.arange(len(tour)), np.roll(np.arange(len(tour)), -1)]
        gain = np.triu(step[:, None] + step - along - np.roll(along, (-1, -1), (0, 1)), 1)
        i, j = divmod(int(np.argmax(np.round(gain, 9))), len(tour))
        if gain[i, j] <= _LEAST_GAIN:
            break
        tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
    return tour
