"""Planes: how ratings are counted by score.

A *plane* is one score of one stratum: plane 7·r + (score + 3) of stratum r. Strata are rubrics with thresholds of their
own that share strengths; an ordinary board has one. A *cell* is plane · P + pair, P being the number of pairs, whose
first member a score > 0 speaks for.
"""

import numpy as np

from s2s_assets.study import Floats, Ints

SCORES = 7
"""Scores -3..+3, planes 0..6 of a stratum."""
SCORE_VALUES = np.arange(SCORES) - 3.0
"""(7,) the scores."""


def by_score(counts: Floats) -> Floats:
    """(7, ...) from counts (planes, ...): the strata added up."""
    return np.asarray(counts.reshape(-1, SCORES, *counts.shape[1:]).sum(axis=0), np.float64)


def mirrored(planes: int) -> Ints:
    """(planes,) for each plane, that of the score with the other sign."""
    plane = np.arange(planes)
    return np.asarray(plane // SCORES * SCORES + SCORES - 1 - plane % SCORES, np.int64)
