"""Agreement and bias of raters: Krippendorff's alpha for ordinal scores, correlation, one-sample t.

Alpha compares the disagreement that was seen with the one that chance would give. Let V[u, c] be how often unit u got
score c and m_u its number of scores; units with m_u ≥ 2 count. Then

    coincidences   o[c, k] = Σ_u (V[u, c] V[u, k] − [c = k] V[u, c]) / (m_u − 1),   n_c = Σ_k o[c, k],   n = Σ_c n_c
    distance       δ²[c, k] = (Σ_{g=c..k} n_g − (n_c + n_k) / 2)²
    disagreement   D_o = Σ o[c, k] δ²[c, k] / n,   D_e = Σ n_c (n_k − [c = k]) δ²[c, k] / (n (n − 1))
    alpha          1 − D_o / D_e

1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement. Units are pairs of responses and scores
must be signed to one side of each pair: scores as seen on the screen would measure the order instead. Undefined (None)
where no unit has two scores or all scores are equal. Krippendorff, Content Analysis (2004), chapter 11.
"""

import numpy as np

from s2s_assets.study import Floats, Ints

SCORES = 7
"""Scores of the scale, -3..3."""


def ordinal_alpha(units: Ints, scores: Ints) -> float | None:
    """Krippendorff's alpha with the ordinal distance.

    Args:
        units: (n,) the pair that each score is about, as whole numbers from 0.
        scores: (n,) whole numbers -3..3, signed to one side of the pair.
    """
    if units.size == 0:
        return None
    counts = np.zeros((int(units.max()) + 1, SCORES))
    np.add.at(counts, (units, scores + SCORES // 2), 1.0)
    counts = counts[counts.sum(axis=1) >= 2]
    weights = 1.0 / (counts.sum(axis=1) - 1.0)
    coincidences = (counts * weights[:, None]).T @ counts - np.diag(weights @ counts)
    marginal = coincidences.sum(axis=0)
    total = marginal.sum()
    distance = _ordinal_distance(marginal)
    expected = (np.outer(marginal, marginal) - np.diag(marginal)) * distance
    if total < 2 or expected.sum() <= 0:
        return None
    return float(1.0 - (total - 1.0) * (coincidences * distance).sum() / expected.sum())


def pearson(x: Floats, y: Floats) -> float | None:
    """Correlation of two samples, None where one of them does not vary."""
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def t_of_mean(x: Floats) -> float | None:
    """Student's t of a sample's mean against 0, None where the sample does not vary."""
    if x.size < 2 or np.ptp(x) == 0:
        return None
    return float(x.mean() / (x.std(ddof=1) / np.sqrt(x.size)))


def _ordinal_distance(marginal: Floats) -> Floats:
    # Σ_{g=c..k} n_g − (n_c + n_k) / 2 is the difference of the mid-ranks of c and k
    midrank = np.cumsum(marginal) - marginal / 2.0
    return np.asarray((midrank[:, None] - midrank[None, :]) ** 2)
