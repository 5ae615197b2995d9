"""Maximum likelihood for the ordinal Bradley-Terry model, by Newton in (s, t).

The likelihood of `likelihood.py` is concave; from the marginal thresholds 4 to 9 full steps suffice, halved only while
a gap would close or ℓ would fall. The negative Hessian is singular along the shift of all strengths, which steps leave
alone; where it is singular along more (in the limit of separated data, along what goes to infinity), they use its
pseudo-inverse.

Existence comes first (`existence.py`): separated data have no finite maximum. Then the unbounded groups have no
strength, and the rest are the limit values: the maximum over the terms that do not vanish. A declared ridge penalty
λ/2 · Σ s² on all entities is given beside it, flagged, because it always exists; its size is set by λ.

The estimates equal `ordinal::clm(threshold = "symmetric2")` in R on the scores in use.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from s2s_assets.ranking.counts import Problem
from s2s_assets.ranking.existence import Separation, separation
from s2s_assets.ranking.likelihood import (
    Layout,
    Terms,
    as_batch,
    derivatives,
    layout_of,
    log_likelihood,
    starting_thresholds,
    terms_of,
    used_magnitudes,
)
from s2s_assets.study import FitError, Floats, Ints

RIDGE_LAMBDA = 0.1
"""The declared penalty of the flagged fallback, on strengths in logits."""
_MAX_STEPS = 200
_STEP_TOLERANCE = 1e-6
"""Of a step, after which the error is about its square."""
_FLAT = 1e-8
"""Share of a parameter's information that must be left when those before it are known: else more than the shift may be flat."""
SINGULAR = 1e-13
"""Eigenvalues below this share of the largest count as zero."""

Status = Literal["ok", "separated", "disconnected", "undefined"]


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of some terms is greatest."""

    strengths: Floats
    """(E,) up to a shift of each part that nothing links to the rest."""
    thresholds: Floats
    """(T,)."""
    log_likelihood: float
    information: Floats
    """(E + T, E + T) negative Hessian."""


@dataclass(frozen=True)
class OrdinalFit:
    """The fit of one connected problem."""

    status: Literal["ok", "separated", "undefined"]
    strengths: Floats
    """(E,) centred over the entities that have one; NaN where unbounded."""
    sides: Ints
    """(E,) +1 above and -1 below the rest by an unbounded amount, 0 otherwise."""
    levels: Floats
    """(E,) how many unbounded steps above (negative: below) the rest."""
    thresholds: Floats
    """(T,) NaN where it diverges."""
    log_likelihood: float
    layout: Layout
    terms: Terms | None
    """The terms that do not vanish, with B = 1; None where nothing was fitted."""
    maximum: Maximum | None
    groups: tuple[tuple[str, ...], ...] = ()
    """Separated: entities with bounded differences, the uppermost group first."""


def fit_ordinal(problem: Problem) -> OrdinalFit:
    """Fit one connected problem.

    Raises:
        FitError: Newton did not converge, which concavity rules out but for lost precision.
    """
    return fit_counts(problem, problem.counts)


def fit_counts(problem: Problem, counts: Floats) -> OrdinalFit:
    """Fit counts (planes, P) of a problem's pairs, which must connect its entities.

    Raises:
        FitError: as `fit_ordinal`.
    """
    layout = layout_of(used_magnitudes(counts.sum(axis=1)))
    if not len(layout.below):
        return _all_ties(problem, layout)
    terms = terms_of(problem, layout, as_batch(counts))
    start = starting_thresholds(layout, as_batch(counts.sum(axis=1)))[:, 0]
    apart = separation(terms)
    if apart is not None:
        return _limit(problem, terms, start, apart)
    found = maximise(terms, start)
    n = len(problem.entities)
    return OrdinalFit(
        status="ok",
        strengths=found.strengths - found.strengths.mean(),
        sides=np.zeros(n, np.int64),
        levels=np.zeros(n),
        thresholds=found.thresholds,
        log_likelihood=found.log_likelihood,
        layout=layout,
        terms=terms,
        maximum=found,
    )


def fit_ridge(problem: Problem, penalty: float = RIDGE_LAMBDA) -> Floats:
    """Strengths (E,), mean 0, at the maximum of ℓ - λ/2 · Σ s²; finite whatever the data.

    Raises:
        FitError: as `fit_ordinal`.
    """
    counts = as_batch(problem.counts)
    layout = layout_of(used_magnitudes(problem.counts.sum(axis=1)))
    terms = terms_of(problem, layout, counts)
    found = maximise(terms, starting_thresholds(layout, counts.sum(axis=1))[:, 0], penalty)
    return np.asarray(found.strengths - found.strengths.mean(), np.float64)


def maximise(terms: Terms, start: Floats, penalty: float = 0.0) -> Maximum:
    """Newton with step halving from equal strengths and thresholds `start` (T,), for one data set.

    Raises:
        FitError: no convergence, or ℓ not finite.
    """
    n = terms.incidence.shape[0]
    theta = np.concatenate([np.zeros(n), start])
    value = _objective(terms, theta, penalty)
    newton_step = None
    for _ in range(_MAX_STEPS):
        at = derivatives(terms, as_batch(theta[:n]), as_batch(theta[n:]))
        gradient, information = at.gradient[:, 0], at.information[..., 0]
        if penalty:
            gradient[:n] -= penalty * theta[:n]
            information[range(n), range(n)] += penalty
        newton_step = newton_step or (_pinned_step if _only_shift_is_flat(information, n) else _shortest_step)
        step = newton_step(information, gradient, n)
        theta, value = _halved(terms, theta, step, value, penalty)
        if not np.isfinite(value):
            break
        if np.abs(step).max(initial=0.0) < _STEP_TOLERANCE:
            final = derivatives(terms, as_batch(theta[:n]), as_batch(theta[n:]))
            return Maximum(theta[:n], theta[n:], value, final.information[..., 0])
    raise FitError(
        f"ordinal fit of {n} entities did not converge within {_MAX_STEPS} Newton steps (objective {value:.6g}); "
        "this is a fault of the method, not of the ratings: report it with the counts"
    )


def _only_shift_is_flat(information: Floats, n: int) -> bool:
    """Whether the shift of all `n` strengths is the one direction without information: which terms there are decides it."""
    with suppress(np.linalg.LinAlgError):
        pinned = _pinned(information, n)
        return bool((np.diag(np.linalg.cholesky(pinned)) ** 2 > _FLAT * np.diag(pinned)).all())
    return False


def _pinned(information: Floats, n: int) -> Floats:
    pinned = information.copy()
    pinned[:n, :n] += information.trace() / n**2
    return pinned


def _pinned_step(information: Floats, gradient: Floats, n: int) -> Floats:
    """H⁻¹ g with no part in the shift of all strengths."""
    return np.asarray(np.linalg.solve(_pinned(information, n), gradient), np.float64)


def _shortest_step(information: Floats, gradient: Floats, _n: int) -> Floats:
    """H⁻¹ g with no part in any direction without information."""
    return np.asarray(np.linalg.pinv(information, rcond=SINGULAR, hermitian=True) @ gradient, np.float64)


def _objective(terms: Terms, theta: Floats, penalty: float) -> float:
    """ℓ less the penalty; -inf where a gap with ratings in it is closed."""
    n = terms.incidence.shape[0]
    s, t = theta[:n], theta[n:]
    if np.any((terms.gap[:, 0] > 0) & (terms.layout.gaps @ t <= 0)):
        return -np.inf
    return log_likelihood(terms, s, t) - penalty / 2 * float(s @ s)


def _halved(terms: Terms, theta: Floats, step: Floats, value: float, penalty: float) -> tuple[Floats, float]:
    """The first of the step, its half, its quarter … that does not lower the objective."""
    slack = 1e-12 * (1 + abs(value))  # rounding of the sum
    for halving in range(60):
        candidate = theta + step / 2**halving
        reached = _objective(terms, candidate, penalty)
        if reached >= value - slack:
            return candidate, reached
    return theta, -np.inf


def _all_ties(problem: Problem, layout: Layout) -> OrdinalFit:
    n = len(problem.entities)
    return OrdinalFit(
        "undefined", np.zeros(n), np.zeros(n, np.int64), np.zeros(n), np.zeros(0), 0.0, layout, None, None
    )


def _limit(problem: Problem, terms: Terms, start: Floats, apart: Separation) -> OrdinalFit:
    """The fit of separated data: limit values for the reference group and the bounded thresholds."""
    kept = replace(
        terms,
        up=np.where(apart.up[..., None], 0.0, terms.up),
        down=np.where(apart.down[..., None], 0.0, terms.down),
        gap=np.where(apart.gap[:, None], 0.0, terms.gap),
    )
    found = maximise(kept, start)
    strengths = np.where(apart.reference, found.strengths, np.nan)
    if apart.reference.any():
        strengths -= np.nanmean(strengths)
    return OrdinalFit(
        status="separated",
        strengths=strengths,
        sides=apart.sides,
        levels=apart.levels,
        thresholds=np.where(apart.bounded_thresholds, found.thresholds, np.nan),
        log_likelihood=found.log_likelihood,
        layout=terms.layout,
        terms=kept,
        maximum=found,
        groups=tuple(tuple(problem.entities[e] for e in group) for group in apart.groups),
    )
