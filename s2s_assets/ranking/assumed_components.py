"""The parts of the variance without a pilot: from assumed spreads of raters' and prompts' effects.

Assumed is the model from which studies are simulated elsewhere here: rater r compares i and j on prompt p from the
latent gap

    z = s_i - s_j + u_ri - u_rj + v_pi - v_pj + e,

u and v normal with standard deviations σ_u and σ_v, independent between entities, e standard logistic, strengths the
normal quantiles of a given spread, all pairs equally often. Nothing is drawn:

* P(Y | i, j) over raters and prompts is the integral of the model over u and v (Gauss-Hermite), whose variance in a gap
  is 2σ_u² + 2σ_v². The ordinal fit to these probabilities is what a very large study would find: the scale that people
  see, a little narrower than s (Zeger, Liang & Albert 1988). All that follows is in its units.
* Its scores give the influence φ of each (pair, score), as in `variance_components.py`, and C_1 as the mean of φφ'.
* b_ij = E[x · E[φ | gap + x]] / Var x, with x the effects in a gap, is what a unit of gap adds to φ on average. To
  first order in u and v, with x_ij the pair's incidence vector, f the share of a pair and G = Σ f b_ij x_ij',

      A_R = σ_u² G G',   C_I = 2σ_v² Σ f b_ij b_ij',   C_P = σ_v² (G G' - 2 Σ f² b_ij b_ij') / (1 - Σ f²) · ω / ω_random,

since two ratings of one rater have independent pairs, of one prompt different ones, with ω entities in common
(`arrangement.py`).

There is no effect of a rater on a prompt, and no rater or prompt is busier than others.
"""

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from s2s_assets.ranking.arrangement import regular
from s2s_assets.ranking.layout import layout_of
from s2s_assets.ranking.likelihood import cell_scores
from s2s_assets.ranking.misfits import probabilities
from s2s_assets.ranking.ordinal import OrdinalFit, fit_ordinal
from s2s_assets.ranking.planes import SCORES
from s2s_assets.ranking.problems import Problem, Rows
from s2s_assets.ranking.sandwich import strength_rows
from s2s_assets.ranking.variance_components import VarianceComponents, positive
from s2s_assets.study import Floats, InputError, Ints, one_blas_thread

_NODES = 41
_RATINGS = 1000.0
"""Of a pair in the table of expected counts; it cancels."""
_MOST = 200
"""Entities for which the tables are kept at hand."""
_WIDEST = 5.0
"""Logits of an effect beyond which answers are hardly about the entities."""


@one_blas_thread
def assumed_components(
    entities: int,
    *,
    rater_sd: float,
    prompt_sd: float,
    thresholds: Sequence[float] = (0.45, 1.6, 3.0),
    strengths_sd: float = 0.0,
    pairs_per_prompt: float | None = None,
) -> VarianceComponents:
    """The parts of the variance under assumptions.

    Args:
        entities: how many are ranked.
        rater_sd: of a rater's effect on each entity, in logits.
        prompt_sd: of a prompt's effect on each entity.
        thresholds: one to three |gaps| at which the |score| grows; ascending, > 0.
        strengths_sd: spread of the strengths; 0: all are equal, where answers say most about them.
        pairs_per_prompt: pairs compared on a prompt, each entity in equally many; by default as many as entities, one tour.

    Raises:
        InputError: numbers that make no study.
    """
    pairs = pairs_per_prompt or (entities if entities > 2 else 1)
    _check(entities, rater_sd, prompt_sd, thresholds, pairs)
    arrangement = regular(pairs, entities)
    ends = np.column_stack(np.triu_indices(entities, 1))
    strengths = strengths_sd * ndtri((np.arange(entities) + 0.5) / entities)
    effect, weight = _effects(2.0 * (rater_sd**2 + prompt_sd**2))
    given = _given(strengths[ends[:, 0]] - strengths[ends[:, 1]], effect, thresholds)
    problem = _expected(entities, ends, np.tensordot(weight, given, 1))
    fit = fit_ordinal(problem)
    influence = _influence(problem, fit)
    per_gap = np.tensordot(weight * effect, given, 1) / max(float(weight @ effect**2), np.finfo(float).tiny)
    response = np.einsum("yp,ype->pe", per_gap, influence)
    raters, prompts, items = _parts(problem, response, rater_sd**2, prompt_sd**2, arrangement.shared)
    whole = np.einsum("yp,ype,ypf->ef", problem.counts, influence, influence) / problem.counts.sum()
    noise, none = positive(whole - raters - prompts - items), np.zeros_like(whole)
    return VarianceComponents(problem.entities, fit.strengths, raters, prompts, items, none, noise, arrangement)


def _check(entities: int, rater_sd: float, prompt_sd: float, thresholds: Sequence[float], pairs: float) -> None:
    if not 2 <= entities <= _MOST:
        raise InputError(f"assumed: {entities} entities; expected 2 to {_MOST}")
    if not (0 <= rater_sd <= _WIDEST and 0 <= prompt_sd <= _WIDEST):
        raise InputError(f"assumed: effects of {rater_sd} and {prompt_sd} logits; expected 0 to {_WIDEST:g}")
    ascending = all(low < high for low, high in itertools.pairwise(thresholds))
    if not (1 <= len(thresholds) <= 3 and ascending and thresholds[0] >= 0):
        raise InputError("assumed: expected one to three ascending thresholds, from 0 (no ties) upwards")
    most = entities * (entities - 1) // 2
    if not 1 <= pairs <= most:
        raise InputError(f"assumed: {pairs:g} pairs on a prompt; {entities} entities make 1 to {most}")


def _effects(variance: float) -> tuple[Floats, Floats]:
    """Effects in a gap and their weights: nodes of a normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return np.asarray(np.sqrt(variance) * nodes), np.asarray(weights / weights.sum())


def _given(gap: Floats, effect: Floats, thresholds: Sequence[float]) -> Floats:
    """(nodes, 7, P) probability of each score of each pair at each effect."""
    ties = thresholds[0] > 0
    layout = layout_of([range(0 if ties else 1, len(thresholds) + 1)])
    edges = np.asarray(thresholds if ties else thresholds[1:], np.float64)
    return np.stack([probabilities(layout, gap + x, edges) for x in effect])


def _expected(entities: int, ends: Ints, probability: Floats) -> Problem:
    """The ratings that all pairs are expected to have, without raters and prompts."""
    none = np.zeros(0, np.int32)
    nobody = Rows(none, none, none, lambda: np.zeros(0, np.int8))
    return Problem(
        entities=tuple(f"m{k:0{len(str(entities))}d}" for k in range(1, entities + 1)),
        pairs=ends,
        counts=_RATINGS * probability,
        target=np.zeros(0, np.int64),
        find_rows=lambda: nobody,
    )


def _influence(problem: Problem, fit: OrdinalFit) -> Floats:
    """(7, P, E) φ of one rating with a score."""
    assert fit.maximum is not None
    scores = cell_scores(fit.maximum.terms, fit.maximum.strengths, fit.maximum.thresholds)
    influence = problem.counts.sum() * (scores @ strength_rows(fit).T)
    return np.asarray(influence.reshape(SCORES, len(problem.pairs), -1), np.float64)


def _parts(
    problem: Problem, response: Floats, of_raters: float, of_prompts: float, shared: float
) -> tuple[Floats, Floats, Floats]:
    """A_R, A_P and A_I of effects with these variances; `response` (P, E) is b of each pair."""
    n_pairs, n_entities = response.shape
    mean = response.T @ problem.incidence.T / n_pairs
    crossed, same = mean @ mean.T, 2.0 * response.T @ response / n_pairs
    at_random = 4.0 / (n_entities + 1)
    different = (crossed - same / n_pairs) / (1 - 1 / n_pairs) * shared / at_random if n_pairs > 1 else 0.0 * same
    return of_raters * crossed, positive(of_prompts * different), positive(of_prompts * (same - different))
