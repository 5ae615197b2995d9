"""Maximum likelihood for the ordinal Bradley-Terry model, by Newton in (s, t).

The likelihood of `likelihood.py` is concave; from the marginal thresholds 3 to 9 full steps suffice, halved only while
a gap would close or ℓ would fall. The negative Hessian is singular along the shift of all strengths, which steps leave
alone; where it is singular along more (in the limit of separated data, along what goes to infinity), they use its
pseudo-inverse.

A short step p needs no halving, and ℓ is not asked. Let φ(u) = ℓ(θ + u p), so φ′(0) = λ² = -φ″(0). Of a term f of one
argument, |∂³f| <= |∂²f| for an edge and |∂³f| = coth(w/2) |∂²f| <= (1 + 2/w) |∂²f| for a gap of width w. With M the
largest change of an argument times that factor, -φ″(u) <= λ² e^(M u) and φ(1) - φ(0) >= λ² (1 - (e^M - 1 - M) / M²),
which is above 0 up to M = 1.79 (as in Bach 2010, "Self-concordant analysis for logistic regression", section 2).

Existence comes first (`existence.py`): separated data have no finite maximum. Then the unbounded groups have no
strength, and the rest are the limit values: the maximum over the terms that do not vanish. A declared ridge penalty
λ/2 · Σ s² on all entities is given beside it, flagged, because it always exists; its size is set by λ.

The estimates equal `ordinal::clm(threshold = "symmetric2")` in R on the scores in use.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from s2s_assets.ranking.existence import Separation, separation
from s2s_assets.ranking.layout import Layout, layout_of, starting_thresholds, used_magnitudes
from s2s_assets.ranking.likelihood import Terms, as_batch, derivatives, log_likelihood, starting_strengths, terms_of
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import FitError, Floats, Ints

RIDGE_LAMBDA = 0.1
"""The declared penalty of the flagged fallback, on strengths in logits."""
_MAX_STEPS = 200
_STEP_TOLERANCE = 3e-5
"""Of a step, after which the next is about its square, and the error then about its fourth power."""
_SHORT_STEP, _SHORT_SHARE = 0.25, 0.25
"""Of a step, in logits and as a share of each gap: M is at most 1 for edges, 1/2 + 2/3 for gaps."""
_FLAT = 1e-8
"""Share of a parameter's information that must be left when those before it are known: else more than the shift may be flat."""
SINGULAR = 1e-13
"""Eigenvalues below this share of the largest count as zero."""

Status = Literal["ok", "separated", "disconnected", "undefined"]


@dataclass(frozen=True)
class Maximum:
    """Where the likelihood of some terms is greatest (or was, less a penalty)."""

    terms: Terms
    strengths: Floats
    """(E,) up to a shift of each part that nothing links to the rest."""
    thresholds: Floats
    """(T,)."""

    @cached_property
    def log_likelihood(self) -> float:
        """ℓ, without the penalty."""
        return log_likelihood(self.terms, self.strengths, self.thresholds)

    @cached_property
    def information(self) -> Floats:
        """(E + T, E + T) negative Hessian of ℓ."""
        return derivatives(self.terms, as_batch(self.strengths), as_batch(self.thresholds)).information[..., 0]

    @cached_property
    def inverse(self) -> Floats:
        """(E + T, E + T) H⁻¹: the pseudo-inverse of the information, which tells nothing of the common shift."""
        return _pseudo_inverse(self.information)


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
    layout: Layout
    maximum: Maximum | None
    """Over the terms that do not vanish; None where nothing was fitted."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Separated: entities with bounded differences, the uppermost group first."""

    @property
    def log_likelihood(self) -> float:
        """At the maximum, or the limit that it tends to."""
        return 0.0 if self.maximum is None else self.maximum.log_likelihood


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
    found = maximise(terms, np.concatenate([starting_strengths(terms, start), start]))
    n = len(problem.entities)
    return OrdinalFit(
        status="ok",
        strengths=found.strengths - found.strengths.mean(),
        sides=np.zeros(n, np.int64),
        levels=np.zeros(n),
        thresholds=found.thresholds,
        layout=layout,
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
    found = maximise(terms, all_equal(terms, starting_thresholds(layout, counts.sum(axis=1))[:, 0]), penalty)
    return np.asarray(found.strengths - found.strengths.mean(), np.float64)


def maximise(terms: Terms, start: Floats, penalty: float = 0.0) -> Maximum:
    """Newton with step halving from `start` (E + T,), for one data set.

    Raises:
        FitError: no convergence, or ℓ not finite.
    """
    n, theta, length = terms.incidence.shape[0], start, np.inf
    newton_step = None
    for _ in range(_MAX_STEPS):
        at = derivatives(terms, as_batch(theta[:n]), as_batch(theta[n:]))
        gradient, information = at.gradient[:, 0], at.information[..., 0]
        if penalty:
            gradient[:n] -= penalty * theta[:n]
            information[range(n), range(n)] += penalty
        newton_step = newton_step or (_pinned_step if _only_shift_is_flat(information, n) else _shortest_step)
        step = newton_step(information, gradient, n)
        if length < _STEP_TOLERANCE:
            return Maximum(terms, *np.split(theta + step, [n]))
        taken = step if surely_rises(terms, theta, step) else _halved(terms, theta, step, penalty)
        if taken is None:
            break
        theta, length = theta + taken, np.abs(step).max(initial=0.0)
    raise FitError(
        f"ordinal fit of {n} entities did not converge within {_MAX_STEPS} Newton steps; "
        "this is a fault of the method, not of the ratings: report it with the counts"
    )


def all_equal(terms: Terms, thresholds: Floats) -> Floats:
    """(E + T,) equal strengths and these thresholds (T,)."""
    return np.concatenate([np.zeros(terms.incidence.shape[0]), thresholds])


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
    return np.asarray(_pseudo_inverse(information) @ gradient, np.float64)


def _pseudo_inverse(information: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(information, rcond=SINGULAR, hermitian=True), np.float64)


def _objective(terms: Terms, theta: Floats, penalty: float) -> float:
    """ℓ less the penalty; -inf where a gap with ratings in it is closed."""
    n = terms.incidence.shape[0]
    s, t = theta[:n], theta[n:]
    if np.any((terms.gap[:, 0] > 0) & (terms.layout.gaps @ t <= 0)):
        return -np.inf
    return log_likelihood(terms, s, t) - penalty / 2 * float(s @ s)


def surely_rises(terms: Terms, theta: Floats, step: Floats) -> bool:
    """Whether a Newton step is so short that ℓ cannot fall and no gap can close."""
    if np.abs(step).max(initial=0.0) > _SHORT_STEP:
        return False
    n, gaps = terms.incidence.shape[0], terms.layout.gaps
    return bool(np.all(np.abs(gaps @ step[n:]) < _SHORT_SHARE * (gaps @ theta[n:])))


def _halved(terms: Terms, theta: Floats, step: Floats, penalty: float) -> Floats | None:
    """The first of the step, its half, its quarter … that does not lower the objective."""
    value = _objective(terms, theta, penalty)
    slack = 1e-12 * (1 + abs(value))  # rounding of the sum
    for share in 0.5 ** np.arange(60):
        part = np.asarray(share * step, np.float64)
        if _objective(terms, theta + part, penalty) >= value - slack:
            return part
    return None


def _all_ties(problem: Problem, layout: Layout) -> OrdinalFit:
    n = len(problem.entities)
    return OrdinalFit("undefined", np.zeros(n), np.zeros(n, np.int64), np.zeros(n), np.zeros(0), layout, None)


def _limit(problem: Problem, terms: Terms, start: Floats, apart: Separation) -> OrdinalFit:
    """The fit of separated data: limit values for the reference group and the bounded thresholds."""
    kept = replace(
        terms,
        up=np.where(apart.up[..., None], 0.0, terms.up),
        down=np.where(apart.down[..., None], 0.0, terms.down),
        gap=np.where(apart.gap[:, None], 0.0, terms.gap),
    )
    found = maximise(kept, all_equal(kept, start))
    strengths = np.where(apart.reference, found.strengths, np.nan)
    if apart.reference.any():
        strengths -= np.nanmean(strengths)
    return OrdinalFit(
        status="separated",
        strengths=strengths,
        sides=apart.sides,
        levels=apart.levels,
        thresholds=np.where(apart.bounded_thresholds, found.thresholds, np.nan),
        layout=terms.layout,
        maximum=found,
        groups=tuple(tuple(problem.entities[e] for e in group) for group in apart.groups),
    )
