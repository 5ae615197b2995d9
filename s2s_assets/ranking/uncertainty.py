"""What a stored fit knows of its entities, and what one more vote would tell it: what adaptive votes go by.

**Covariance.** Of the stored draws, over the resamples in which every bounded entity has a finite value. So its roots are
the widths of the published intervals, with all that raters and prompts add to them. An entity is *unbounded* where it has no
strength, or more than 5 % of its draws are infinite or missing: its interval has no end. It is given a variance of 25
logits² (a standard error of 869 Elo, beyond any that a fit gives) and no covariance; the others are centred among themselves.

**Information.** A vote about the difference d = s_i - s_j is expected to tell (Fisher's information of the cumulative
logit model at the fitted thresholds; σ the logistic function, e an edge between neighbouring scores)

    I(d) = Σ_e P(the score is just below e or just above it) · σ(d - e) · (1 - σ(d - e))

if votes were independent. They are not: a resample's covariance V is wider than the inverse H⁺ of what they tell,
H = Σ_ij n_ij I(d_ij) xx'. The *design effect* is the ratio of the two, tr V / tr H⁺ over the bounded entities, 1 at least;
w_ij = I(d_ij) over it. Where V is a multiple of H⁺, n more votes then narrow V by what they narrow H⁺, as more votes of
the same design would. In separated data all d are of the ridge values.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from scipy.special import expit

from s2s_assets.ranking.frames import fits_from_frame, intervals_from_frame
from s2s_assets.ranking.layout import layout_of
from s2s_assets.ranking.likelihood import as_batch, laplacian
from s2s_assets.ranking.misfits import probabilities
from s2s_assets.ranking.ordinal import SINGULAR
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import MIN_ADAPTIVE_RESAMPLES, Bools, Floats, Ints, Uncertainty, one_blas_thread

UNBOUNDED_VARIANCE = 25.0
"""Logits²."""
_FINITE = 0.95
"""Share of its draws that a bounded entity has at least."""


@one_blas_thread
def stored_uncertainty(
    fits: pl.DataFrame, intervals: pl.DataFrame, spec: FitSpec, entity_of: Mapping[str, str]
) -> Uncertainty | str:
    """The uncertainty of a stored fit, or in words why it is of no use.

    Args:
        fits: `bt_fits`.
        intervals: `bootstrap_cis`, made from these fits.
        spec: the board.
        entity_of: config key → entity on this board, of the configs that may be compared.
    """
    fit_row, interval_row = (frame.filter(pl.col("fit") == spec.fit) for frame in (fits, intervals))
    if fit_row.is_empty() or interval_row.is_empty():
        return f"there is no single ranking {spec.fit} in the last fit{_apart(fits, spec)}"
    [fit], [drawn] = fits_from_frame(fit_row), intervals_from_frame(interval_row)
    if [e.entity for e in fit.entities] != [e.entity for e in drawn.entities]:
        return f"{spec.fit} and its draws are of two fits: a refit is under way"
    if fit.status == "undefined" or None in fit.thresholds:
        return f"the thresholds of {spec.fit} have no estimate yet"
    bounded, complete = _bounded(fit, drawn.draws)
    if complete.sum() < MIN_ADAPTIVE_RESAMPLES:
        return (
            f"{int(complete.sum())} resamples of {spec.fit} have a value for every name with an interval; expected "
            f"{MIN_ADAPTIVE_RESAMPLES} or more"
        )
    covariance = _covariance(drawn.draws, bounded, complete)
    told = _information(fit)
    effect = _design_effect(covariance, told, _ratings(fit, drawn), bounded)
    return Uncertainty(spec.fit, tuple(e.entity for e in fit.entities), covariance, told / effect, entity_of)


def _apart(fits: pl.DataFrame, spec: FitSpec) -> str:
    """In how many groups a disconnected board is."""
    components = fits.filter(pl.col("fit").str.starts_with(f"{spec.fit}/")).height
    return f": no ratings connect its {components} groups" if components else ""


def _bounded(fit: BoardFit, draws: Floats) -> tuple[Bools, Bools]:
    """(E,) entities whose interval has two ends, and (B,) resamples that have a finite value of all these."""
    finite = np.isfinite(draws)
    known = np.array([e.strength is not None for e in fit.entities])
    bounded = known & (finite.mean(axis=1) >= _FINITE if draws.shape[1] else known)
    return bounded, finite[bounded].all(axis=0)


def _covariance(draws: Floats, bounded: Bools, complete: Bools) -> Floats:
    covariance = UNBOUNDED_VARIANCE * np.eye(len(draws))
    values = draws[bounded][:, complete]
    if len(values):
        covariance[np.ix_(bounded, bounded)] = np.cov(values - values.mean(axis=0))
    return covariance


def _information(fit: BoardFit) -> Floats:
    """(E, E) I(d) of every two entities, 0 on the diagonal."""
    separated = fit.status == "separated"
    strengths = np.array([e.ridge if separated else e.strength for e in fit.entities], np.float64)
    layout = layout_of([[m for m in range(4) if m not in fit.merged_scores]])
    edges = layout.edges @ np.array(fit.thresholds, np.float64)
    difference = (strengths[:, None] - strengths).ravel()
    share = probabilities(layout, difference, np.array(fit.thresholds, np.float64))
    above = expit(difference - edges[:, None])
    told = ((share[layout.below] + share[layout.above]) * above * (1 - above)).sum(axis=0)
    square: Floats = told.reshape(len(strengths), -1) * (1 - np.eye(len(strengths)))
    return (square + square.T) / 2


def _ratings(fit: BoardFit, drawn: BoardIntervals) -> Ints:
    """(E, E) ratings of every two entities."""
    number = {e.entity: k for k, e in enumerate(fit.entities)}
    counts = np.zeros((len(number), len(number)), np.int64)
    for pair in drawn.pairs:
        a, b = number[pair.a], number[pair.b]
        counts[a, b] = counts[b, a] = pair.n
    return counts


def _design_effect(covariance: Floats, told: Floats, ratings: Ints, bounded: Bools) -> float:
    """By how much the covariance exceeds that of as many independent votes; 1 at least."""
    n = len(told)
    pairs = np.column_stack(np.triu_indices(n, 1))
    weight = as_batch((told * ratings)[pairs[:, 0], pairs[:, 1]])
    inverse = np.linalg.pinv(laplacian(pairs, weight, n)[:, :, 0], rcond=SINGULAR, hermitian=True)
    centring = np.eye(n)[bounded] - bounded / max(int(bounded.sum()), 1)
    independent = float(np.trace(centring @ inverse @ centring.T))
    return max(1.0, float(np.diag(covariance)[bounded].sum()) / independent) if independent > 0 else 1.0
