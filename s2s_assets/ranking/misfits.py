"""Where the ratings say something else than the fit does.

By |score|: ratings observed, and expected: Σ over pairs of the number of their ratings times the fitted probability.

By pair: the mean score observed and expected, and what the pair's own ratings add to its difference. Give the pair a
shift δ of its own, d = s_i - s_j + δ. One Newton step from δ = 0 is δ = U / i, where U is the sum of the slopes ∂ℓ/∂d of
the pair's ratings and i = w - a' H⁻¹ a the information about δ left when strengths and thresholds follow (w the pair's
curvature, a its derivative in s and t). The variance of U is two-way clustered like the sandwich, of the ratings'
slopes less a' H⁻¹ times their scores; it is not taken below that of independent units, which few clusters can undercut.
z = U / √var. A pair that alone links two parts of the graph has no misfit.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.special import expit

from s2s_assets.ranking.clusters import ClusteredScores, Clusters
from s2s_assets.ranking.diagnostic_records import Misfit, ScoreFit
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.layout import Layout
from s2s_assets.ranking.ordinal import OrdinalFit
from s2s_assets.ranking.planes import SCORE_VALUES, SCORES, by_score
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Floats

ENOUGH = 10
"""Ratings of a pair from which its z is near normal; with one or two it cannot be large."""
_IDENTIFIED = 1e-9
"""Share of a pair's curvature that must be left for its shift to be known."""


@dataclass(frozen=True)
class PairFits:
    """Observed against expected, by pair (P,)."""

    n: Floats
    mean_score: Floats
    expected_score: Floats
    shift: Floats
    """Logits; NaN where unknown."""
    z: Floats


def probabilities(layout: Layout, difference: Floats, thresholds: Floats) -> Floats:
    """(planes, P) probability of each score within its stratum at differences (P,); 0 for scores not in use."""
    planes = layout.gap_planes.shape[1]
    low, high = np.full(planes, -np.inf), np.full(planes, np.inf)
    edges = layout.edges @ thresholds
    high[layout.below], low[layout.above] = edges, edges
    used = np.zeros(planes, bool)
    used[layout.below] = used[layout.above] = True
    low, high = low[:, None], high[:, None]
    inside = expit(high - difference) * expit(difference - low) * -np.expm1(low - high)  # no cancellation in the tails
    return np.asarray(np.where(used[:, None], inside, 0.0), np.float64)


def expected_counts(problem: Problem, ordinal: OrdinalFit) -> Floats:
    """(planes, P) ratings that the fit expects of each pair's number of ratings in each stratum."""
    difference = ordinal.strengths[problem.pairs[:, 0]] - ordinal.strengths[problem.pairs[:, 1]]
    by_stratum = problem.counts.reshape(-1, SCORES, len(problem.pairs)).sum(axis=1)
    share = probabilities(ordinal.layout, difference, ordinal.thresholds)
    return np.asarray(share * np.repeat(by_stratum, SCORES, axis=0), np.float64)


def score_fits(problem: Problem, expected: Floats) -> tuple[ScoreFit, ...]:
    """Each |score| in use, observed and expected."""
    totals = [by_score(counts).sum(axis=1) for counts in (problem.counts, expected)]
    found = []
    for score in range(4):
        observed, fitted = (t[3 + score] + (t[3 - score] if score else 0.0) for t in totals)
        if observed:
            found.append(ScoreFit(score, int(observed), float(fitted)))
    return tuple(found)


def pair_fits(problem: Problem, ordinal: OrdinalFit, scores: ClusteredScores, expected: Floats) -> PairFits:
    """Every pair with ratings, in the problem's order."""
    observed = by_score(problem.counts)
    n = observed.sum(axis=0)
    curvature, follows = _curvature(problem, ordinal)
    assert ordinal.maximum is not None
    adjusted = ordinal.maximum.inverse @ follows
    left = curvature - (follows * adjusted).sum(axis=0)
    known = left > _IDENTIFIED * curvature
    slope = _slopes(problem, scores)
    total = slope.T @ problem.counts.ravel()
    by_unit = scores.units.factor * _own_variance(scores.units, slope, adjusted)
    both = sum(sign * c.factor * _own_variance(c, slope, adjusted) for sign, c in scores.signed())
    variance = np.maximum(both, by_unit)
    known &= variance > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        shift, z = np.where(known, total / left, np.nan), np.where(known, total / np.sqrt(variance), np.nan)
    return PairFits(n, SCORE_VALUES @ observed / n, SCORE_VALUES @ by_score(expected) / n, shift, z)


def largest_misfits(problem: Problem, fits: PairFits, keep: int = 5) -> tuple[Misfit, ...]:
    """The pairs of largest |z|."""
    order = np.argsort(-np.abs(fits.z), kind="stable")  # NaN last
    return tuple(
        Misfit(
            a=problem.entities[problem.pairs[p, 0]],
            b=problem.entities[problem.pairs[p, 1]],
            n=int(fits.n[p]),
            mean_score=float(fits.mean_score[p]),
            expected_score=float(fits.expected_score[p]),
            shift=float(ELO_PER_STRENGTH * fits.shift[p]),
            z=float(fits.z[p]),
        )
        for p in order[:keep]
        if np.isfinite(fits.z[p])
    )


def misfit_share(fits: PairFits) -> float | None:
    """Share of the pairs with |z| above 1.96 among those with ratings enough; None where there is no such pair."""
    known = np.isfinite(fits.z) & (fits.n >= ENOUGH)
    return float((np.abs(fits.z[known]) > 1.96).mean()) if known.any() else None


def _curvature(problem: Problem, ordinal: OrdinalFit) -> tuple[Floats, Floats]:
    """-∂²ℓ/∂δ² by pair (P,), and -∂²ℓ/∂δ∂(s, t) (E + T, P)."""
    assert ordinal.maximum is not None
    edges, terms = ordinal.layout.edges, ordinal.maximum.terms
    difference = ordinal.strengths[problem.pairs[:, 0]] - ordinal.strengths[problem.pairs[:, 1]]
    above = expit(difference - (edges @ ordinal.thresholds)[:, None])
    by_edge = terms.total[:, :, 0] * above * (1 - above)
    curvature = by_edge.sum(axis=0)
    return curvature, np.vstack([problem.incidence.toarray() * curvature, -edges.T @ by_edge])


def _slopes(problem: Problem, scores: ClusteredScores) -> csr_array:
    """(cells, P): ∂ℓ/∂d of one rating, in its pair's column."""
    n_pairs = len(problem.pairs)
    cell = np.arange(problem.counts.size)
    pair = cell % n_pairs
    slope = scores.by_cell[:, : len(problem.entities)].toarray()[cell, problem.pairs[pair, 0]]
    return csr_array(coo_array((slope, (cell, pair)), shape=(len(cell), n_pairs)))


def _own_variance(clusters: Clusters, slope: csr_array, adjusted: Floats) -> Floats:
    """(P,) Σ_g (slopes of g - adjusted' scores of g)², without a matrix of clusters × pairs."""
    own = clusters.counts @ slope
    cross = (own.T @ clusters.sums) * adjusted.T
    scores = (clusters.sums.T @ clusters.sums @ adjusted) * adjusted
    return np.asarray(own.multiply(own).sum(axis=0) - 2 * cross.sum(axis=1) + scores.sum(axis=0), np.float64)
