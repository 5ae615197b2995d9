"""Two engines of another kind, beside the ordinal fit: a ranking that hangs on one engine is not a finding.

Massey: least squares of the score on r_i - r_j over all ratings; in CMOS units, mean 0.

Partial-margin Bradley-Terry: a score is a partial win of (y / 3 + 1) / 2, fitted by fractional logistic regression on
s_i - s_j. Partial wins are counts in a layout with one edge at 0, so this is the ordinal fit of those counts, with the
same test of existence: an entity whose value diverges has none.

Each is compared with the ordinal strengths by Spearman's rank correlation over the entities that have both. The three
have different scales: never put them on one axis.
"""

import numpy as np

from s2s_assets.ranking.diagnostic_records import OrderDifference
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.ordinal import fit_counts
from s2s_assets.ranking.planes import SCORE_VALUES, by_score
from s2s_assets.ranking.problems import Problem
from s2s_assets.ranking.ranks import DECIMALS
from s2s_assets.ranking.records import BoardFit
from s2s_assets.study import Bools, Floats

ENGINES = {"massey": "Massey", "partial_margin_bt": "partial-margin BT"}
"""Columns of the engines' strengths, and the engines' names for people."""
EXPECTED_SPEARMAN = 0.99
"""Correlation with the ordinal fit that either engine is expected to reach; many close entities lower it."""
_ROUNDING = 1e-9
"""Values closer than this are equal."""


def massey(problem: Problem) -> Floats:
    """Least-squares strengths (E,) in CMOS units, mean 0, of a connected problem."""
    incidence = problem.incidence.toarray()
    matrix = incidence * problem.counts.sum(axis=0) @ incidence.T
    return np.asarray(np.linalg.pinv(matrix, hermitian=True) @ (incidence @ margins(problem.counts)), np.float64)


def margins(counts: Floats) -> Floats:
    """(P, ...) sums of the scores of a pair's ratings, from counts (planes, P, ...)."""
    return np.asarray(np.einsum("k,kp...->p...", SCORE_VALUES, by_score(counts)), np.float64)


def partial_margin_bt(problem: Problem) -> Floats:
    """Fractional Bradley-Terry strengths (E,), centred over those that have one; NaN where it diverges.

    Raises:
        FitError: no convergence.
    """
    return fit_counts(problem, partial_wins(problem.counts)).strengths


def partial_wins(counts: Floats) -> Floats:
    """(7, P, ...) wins of a pair's first entity as counts of score 3, of its second of -3; from counts (planes, P, ...)."""
    scored, won = by_score(counts), (SCORE_VALUES / 3 + 1) / 2
    wins = np.zeros_like(scored)
    wins[-1] = np.einsum("k,kp...->p...", won, scored)
    wins[0] = np.einsum("k,kp...->p...", 1 - won, scored)
    return wins


def spearman(x: Floats, y: Floats) -> float | None:
    """Rank correlation over the entries that both have; None with fewer than two, or where one has no spread."""
    found = float(rank_correlations(x[:, None], y[:, None])[0])
    return None if np.isnan(found) else found


def rank_correlations(x: Floats, y: Floats) -> Floats:
    """(B,) `spearman` of each column of x and y (E, B), NaN where there is none."""
    both = np.isfinite(x) & np.isfinite(y)
    left, right = (_centred_ranks(values, both) for values in (x, y))
    spread = np.sqrt((left**2).sum(axis=0) * (right**2).sum(axis=0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip((left * right).sum(axis=0) / np.where(spread > 0, spread, np.nan), -1.0, 1.0))


def _centred_ranks(values: Floats, counted: Bools) -> Floats:
    """(E, B) ranks among those counted in a column, ties sharing their mean, less the mean rank; 0 for the others."""
    values = np.where(counted, np.round(values, DECIMALS), np.nan)
    ranks = np.zeros(values.shape)
    for other in values:
        ranks += np.where(other < values, 1.0, np.where(other == values, 0.5, 0.0))
    return np.where(counted, ranks - counted.sum(axis=0) / 2, 0.0)


def order_differences(fit: BoardFit) -> tuple[OrderDifference, ...]:
    """Pairs that another engine orders otherwise than the ordinal fit, those farthest apart in it first."""
    found = []
    for engine in ENGINES:
        known = [(e.entity, e.strength, getattr(e, engine)) for e in fit.entities if e.strength is not None]
        known = [k for k in known if k[2] is not None]
        for i, (ahead, strength, other) in enumerate(known):  # by rank
            found += [
                OrderDifference(engine, ahead, behind, ELO_PER_STRENGTH * (strength - less))
                for behind, less, more in known[i + 1 :]
                if more - other > _ROUNDING < strength - less
            ]
    return tuple(sorted(found, key=lambda d: (-d.difference, d.engine, d.ahead, d.behind)))
