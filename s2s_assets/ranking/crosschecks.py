"""Two engines of another kind, beside the ordinal fit: a ranking that hangs on one engine is not a finding.

Massey: least squares of the score on r_i - r_j over all ratings; in CMOS units, mean 0.

Partial-margin Bradley-Terry: a score is a partial win of (y / 3 + 1) / 2, fitted by fractional logistic regression on
s_i - s_j. Partial wins are counts in a layout with one edge at 0, so this is the ordinal fit of those counts, with the
same test of existence: an entity whose value diverges has none.

Each is compared with the ordinal strengths by Spearman's rank correlation over the entities that have both. The three
have different scales: never put them on one axis.
"""

import numpy as np

from s2s_assets.ranking.counts import SCORES, Problem
from s2s_assets.ranking.diagnostic_records import OrderDifference
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.ordinal import fit_counts
from s2s_assets.ranking.ranks import average_ranks
from s2s_assets.ranking.records import BoardFit
from s2s_assets.study import Floats

EXPECTED_SPEARMAN = 0.99
"""Correlation with the ordinal fit that either engine is expected to reach; many close entities lower it."""
_ROUNDING = 1e-9
"""Values closer than this are equal."""
_VALUES = np.arange(SCORES) - 3.0


def massey(problem: Problem) -> Floats:
    """Least-squares strengths (E,) in CMOS units, mean 0, of a connected problem."""
    by_score = problem.counts.reshape(-1, SCORES, len(problem.pairs)).sum(axis=0)
    incidence = problem.incidence.toarray()
    laplacian = incidence * by_score.sum(axis=0) @ incidence.T
    return np.asarray(np.linalg.pinv(laplacian, hermitian=True) @ (incidence @ (_VALUES @ by_score)), np.float64)


def partial_margin_bt(problem: Problem) -> Floats:
    """Fractional Bradley-Terry strengths (E,), centred over those that have one; NaN where it diverges.

    Raises:
        FitError: no convergence.
    """
    by_score = problem.counts.reshape(-1, SCORES, len(problem.pairs)).sum(axis=0)
    won = (_VALUES / 3 + 1) / 2
    counts = np.zeros_like(by_score)
    counts[-1], counts[0] = won @ by_score, (1 - won) @ by_score
    return fit_counts(problem, counts).strengths


def spearman(x: Floats, y: Floats) -> float | None:
    """Rank correlation over the entries that both have; None with fewer than two, or where one has no spread."""
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < 2:
        return None
    ranks = np.stack([average_ranks(x[both]), average_ranks(y[both])])
    ranks -= ranks.mean(axis=1, keepdims=True)
    spread = np.sqrt((ranks**2).sum(axis=1).prod())
    return float(np.clip(ranks[0] @ ranks[1] / spread, -1.0, 1.0)) if spread > 0 else None


def order_differences(fit: BoardFit) -> tuple[OrderDifference, ...]:
    """Pairs that another engine orders otherwise than the ordinal fit, those farthest apart in it first."""
    found = []
    for engine in ("massey", "partial_margin_bt"):
        known = [(e.entity, e.strength, getattr(e, engine)) for e in fit.entities if e.strength is not None]
        known = [k for k in known if k[2] is not None]
        for i, (ahead, strength, other) in enumerate(known):  # by rank
            found += [
                OrderDifference(engine, ahead, behind, ELO_PER_STRENGTH * (strength - less))
                for behind, less, more in known[i + 1 :]
                if more - other > _ROUNDING < strength - less
            ]
    return tuple(sorted(found, key=lambda d: (-d.difference, d.engine, d.ahead, d.behind)))
