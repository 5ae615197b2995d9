"""Two-way cluster-robust ("sandwich") standard errors, with raters and prompts as crossed clusters.

V = H⁻¹ (S_rater + S_prompt - S_rater∩prompt) H⁻¹ (Cameron, Gelbach & Miller 2011), where H is the negative Hessian of
the fit and S_g = G / (G - 1) · Σ_g u_g u_g' sums the ratings' score vectors within each of G clusters. In simulations
its 95 % intervals cover as stated, where product-weight resampling is conservative: it is reported beside the
bootstrap. Intervals use the t quantile with min(G_rater, G_prompt) - 1 degrees.

Strengths are centred, so V is projected to mean zero. In small data V may fail to be positive: its negative eigenvalues
are then set to zero, which is said where it changes a standard error by more than 5 %. With one rater or one prompt there is no V.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.ordinal import OrdinalFit
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Floats, Ints

_CLIPPED = 0.05
"""Share of a standard error that clipping may change before it is said."""


@dataclass(frozen=True)
class Sandwich:
    """Standard errors of strengths, and what is to be said about them."""

    se: Floats
    """(E,) in logits; NaN where there is none."""
    quantile: float
    """Half-width of the 95 % interval in standard errors; NaN where there is none."""
    reason: str | None
    covariance: Floats | None = None
    """(E, E) of the centred strengths, zero where unbounded; None where there is none."""
    degrees: int = 0
    """Effective raters or prompts, whichever are fewer, less one: what claims about all pairs rest on."""


def sandwich(
    problem: Problem, ordinal: OrdinalFit, scores: ClusteredScores | None = None, *, uneven_loads: bool = False
) -> Sandwich:
    """Two-way cluster-robust standard errors of a fit's strengths (those that have one).

    Args:
        problem: what was fitted.
        ordinal: its fit.
        scores: the fit's scores by cluster, where they are at hand.
        uneven_loads: correct for how uneven the loads of raters and prompts are, in the place of G / (G - 1).
    """
    none = np.full(len(problem.entities), np.nan)
    if ordinal.maximum is None:
        return Sandwich(none, np.nan, None)
    n_raters, n_prompts = (len(np.unique(of)) for of in (problem.rows.rater, problem.rows.prompt))
    if min(n_raters, n_prompts) < 2:
        alone = "rater" if n_raters < 2 else "prompt"
        why = f"no sandwich interval: all ratings are of one {alone}, and a bootstrap interval speaks of no other"
        return Sandwich(none, np.nan, why)
    scores = scores or ClusteredScores.of(problem, ordinal.maximum)
    meat = scores.uneven_meat() if uneven_loads else scores.meat()
    covariance, clipped = _clipped(strength_rows(ordinal), meat)
    finite = ~np.isnan(ordinal.strengths)
    se = np.sqrt(np.where(finite, np.diag(covariance), np.nan))
    se = np.where(se > 0, se, np.nan)
    reason = "sandwich covariance was not positive: negative eigenvalues were set to zero" if clipped else None
    degrees = max(round(min(effective_clusters(problem.rater), effective_clusters(problem.prompt))) - 1, 1)
    return Sandwich(se, float(stdtrit(min(n_raters, n_prompts) - 1, 0.975)), reason, covariance, degrees)


def effective_clusters(cluster: Ints) -> float:
    """(Σ n)² / Σ n² of the ratings n in each cluster: as many equally large ones would be worth the same."""
    sizes = np.bincount(cluster).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes))


def strength_rows(ordinal: OrdinalFit) -> Floats:
    """(E, E + T): what a score vector adds to the centred strengths, H⁻¹ with the mean taken out."""
    assert ordinal.maximum is not None
    finite = ~np.isnan(ordinal.strengths)
    centre = (np.eye(len(finite)) - finite / max(finite.sum(), 1)) * finite[:, None]
    return np.asarray(centre @ ordinal.maximum.inverse[: len(finite)], np.float64)


def _clipped(half: Floats, meat: Floats) -> tuple[Floats, bool]:
    """(E, E) covariance without negative eigenvalues, and whether that mattered."""
    covariance = half @ meat @ half.T
    values, vectors = np.linalg.eigh(covariance)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    before, after = (np.sqrt(np.maximum(np.diag(v), 0.0)) for v in (covariance, clipped))
    return clipped, bool((after - before > _CLIPPED * after + 1e-12).any())
