"""The ordinal fit of many resamples at once.

All resamples share the full data's Hessian H, so the first step is a chord step from the full fit θ: with g_b the
gradient of resample b at θ, θ_b = θ + H⁻¹ g_b · N / N_b. Batched Newton does the rest, each resample until its own step
is below 5e-5. One more step with the same matrix then takes the error, about the square of that step, to about its cube.
Nothing mixes resamples, and no sum's order depends on how many there are: an answer is the same, to the last bit,
whatever else is in the batch. What does not converge is tested for existence and fitted by itself. Separated full data
are the limit fit throughout: a resample of them holds no more than their terms, so the same direction separates it.

A resample has no value for an entity that it lost, nor, where it split the graph, for those outside the largest
component (by entities, then by ratings). One that separates an entity gives it ±infinity. |Scores| that a resample
lost are merged in it, as in any data. Strengths are shifted so that, over the entities with a finite value both in the
resample and in the full data, the means of the two agree: else losing a top entity would move all others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from s2s_assets.ranking.cholesky import factor, solve
from s2s_assets.ranking.layout import layout_of, starting_thresholds, used_magnitudes
from s2s_assets.ranking.likelihood import Terms, as_batch, derivatives, gradient, terms_of
from s2s_assets.ranking.ordinal import SINGULAR, OrdinalFit, fit_counts
from s2s_assets.ranking.planes import SCORES
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Bools, Floats, Ints

Refit = Callable[[Floats], Floats]
"""Strengths (E, B) of resampled counts (planes, P, B)."""
_STEP_TOLERANCE = 5e-5
_MAX_STEPS = 15
_FAR = 30.0
"""Logits from the mean beyond which a resample is taken out of the batch and fitted by itself."""
_DAMPING = 1e-10
"""Share of the mean diagonal added to it: keeps the solver from a singular matrix and leaves the fixed point alone."""
UNBOUNDED = np.array([-np.inf, np.nan, np.inf])
"""Value of an entity below, beside and above the rest by an unbounded amount."""
_TO_BOUNDARY = 0.9
"""Share of a gap that one step may close."""


@dataclass(frozen=True)
class Refitter:
    """What all resamples of a fitted problem share."""

    problem: Problem
    ordinal: OrdinalFit
    chord: Floats
    """(E + T, E + T) generalised inverse of the full data's Hessian."""
    flat: Floats
    """(E + T, q) orthonormal directions along which the full data's likelihood does not change."""

    @classmethod
    def of(cls, problem: Problem, ordinal: OrdinalFit) -> "Refitter":
        """Prepare the chord step."""
        if ordinal.maximum is None:
            return cls(problem, ordinal, np.zeros((0, 0)), np.zeros((0, 0)))
        values, vectors = np.linalg.eigh(ordinal.maximum.information)
        null = values <= SINGULAR * values.max()  # every direction, where the limit fit keeps no term
        return cls(problem, ordinal, (vectors[:, ~null] / values[~null]) @ vectors[:, ~null].T, vectors[:, null])

    def refit(self, counts: Floats) -> Floats:
        """Strengths (E, B) of resampled counts (planes, P, B); ±inf separated, NaN without a value."""
        if counts.shape[2] == 1:  # numpy adds up a single column in another order
            return self.refit(np.repeat(counts, 2, axis=2))[:, :1]
        kept, present = largest_component(self.problem, counts)
        values = np.full((len(self.problem.entities), counts.shape[2]), np.nan)
        used = _patterns(kept)
        for pattern in np.unique(used, axis=1).T:
            at = _several(np.flatnonzero((used == pattern[:, None]).all(axis=0)))
            values[:, at] = self._refit_pattern(_columns(kept, at), present[:, at])
        return self._anchored(np.where(present, values, np.nan))

    def _refit_pattern(self, counts: Floats, present: Bools) -> Floats:
        """Resamples that use the same |scores|."""
        layout = layout_of(used_magnitudes(counts[:, :, 0].sum(axis=1)))
        if not len(layout.below):  # ties only, or nothing: entities cannot be told apart
            return np.full(present.shape, np.nan)
        terms = terms_of(self.problem, layout, counts)
        if self.ordinal.maximum is not None and layout.used == self.ordinal.layout.used:
            values, converged = self._refit_alike(terms, counts)
        else:
            shift = np.concatenate([np.ones(len(present)), np.zeros(layout.thresholds)])[:, None] / len(present) ** 0.5
            values, converged = newton(terms, self._cold(terms, counts), shift)
        for b in np.flatnonzero(~converged):
            values[:, b] = self._refit_alone(counts[:, :, b], present[:, b])
        return values

    def _refit_alike(self, terms: Terms, counts: Floats) -> tuple[Floats, Bools]:
        """Resamples that use the |scores| of the full data: what separates the full data separates them too."""
        ordinal = self.ordinal
        assert ordinal.maximum is not None
        if ordinal.status == "separated":
            full = ordinal.maximum.terms
            terms = replace(
                terms, up=terms.up * (full.up > 0), down=terms.down * (full.down > 0), gap=terms.gap * (full.gap > 0)
            )
        values, converged = newton(terms, self._start(terms, counts), self.flat)
        unbounded = np.isnan(ordinal.strengths)
        values[unbounded] = UNBOUNDED[ordinal.sides[unbounded] + 1][:, None]
        return values, converged

    def _cold(self, terms: Terms, counts: Floats) -> Floats:
        """(E + T, B) equal strengths and marginal thresholds."""
        thresholds = starting_thresholds(terms.layout, counts.sum(axis=1))
        return np.vstack([np.zeros((len(self.problem.entities), counts.shape[2])), thresholds])

    def _start(self, terms: Terms, counts: Floats) -> Floats:
        """(E + T, B) chord step from the full fit, or a cold start where it leads out of bounds."""
        assert self.ordinal.maximum is not None
        share = self.problem.counts.sum() / counts.sum(axis=(0, 1))
        full = np.concatenate([self.ordinal.maximum.strengths, self.ordinal.maximum.thresholds])
        slope = gradient(terms, as_batch(self.ordinal.maximum.strengths), as_batch(self.ordinal.maximum.thresholds))
        start = full[:, None] + np.einsum("nk,kb->nb", self.chord, slope) * share
        closed = (terms.layout.gaps @ start[len(self.problem.entities) :] <= 0) & (terms.gap > 0)
        usable = ~closed.any(axis=0) & (np.abs(start).max(axis=0) < _FAR)
        return np.where(usable, start, self._cold(terms, counts))

    def _refit_alone(self, counts: Floats, present: Bools) -> Floats:
        """(E,) strengths of one resample, existence tested."""
        inside = np.flatnonzero(present)
        number = np.full(len(present), -1)
        number[inside] = np.arange(len(inside))
        rated = counts.sum(axis=0) > 0
        part = replace(
            self.problem,
            entities=tuple(self.problem.entities[e] for e in inside),
            pairs=number[self.problem.pairs[rated]],
        )
        fit = fit_counts(part, counts[:, rated])
        values = np.full(len(present), np.nan)
        values[inside] = np.where(np.isnan(fit.strengths), UNBOUNDED[fit.sides + 1], fit.strengths)
        return values

    def _anchored(self, values: Floats) -> Floats:
        """Shift each resample onto the full data's mean over the entities that are finite in both."""
        full = self.ordinal.strengths[:, None]
        both = np.isfinite(values) & np.isfinite(full)
        n = np.maximum(both.sum(axis=0), 1)
        gap = np.where(both, full - np.where(both, values, 0.0), 0.0).sum(axis=0) / n
        return np.asarray(values + gap, np.float64)


def newton(terms: Terms, start: Floats, flat: Floats) -> tuple[Floats, Bools]:
    """Newton for all data sets of `terms` side by side.

    Args:
        terms: B data sets; an entity without ratings keeps the strength it starts with.
        start: (E + T, B) with open gaps.
        flat: (E + T, q) orthonormal directions in which ℓ does not change; steps have no part in them.

    Returns:
        Strengths (E, B), and whether each data set converged (B,).
    """
    n = terms.incidence.shape[0]
    theta, converged = start.copy(), np.zeros(start.shape[1], bool)
    active, pinned = np.arange(start.shape[1]), flat @ flat.T
    for _ in range(_MAX_STEPS):
        part = _only(terms, active)
        at = np.take(theta, active, axis=1)
        step, factors = _steps(part, at, pinned)
        at += step * _shortening(part, at[n:], step[n:])
        done = np.abs(step).max(axis=0) < _STEP_TOLERANCE
        if done.any():
            near = _several(np.flatnonzero(done))
            at[:, near] += _last_step(_only(part, near), _columns(at, near), _columns(factors, near))
        theta[:, active] = at
        converged[active[done]] = True
        centred = at[:n] - at[:n].mean(axis=0)
        active = _several(active[~done & (np.abs(centred).max(axis=0) < _FAR)])
        if not len(active):
            break
    return theta[:n], converged


def _last_step(terms: Terms, theta: Floats, factors: Floats) -> Floats:
    """(E + T, B) the step from θ with the matrices of the step before."""
    n = terms.incidence.shape[0]
    return solve(factors, gradient(terms, theta[:n], theta[n:]))


def _several(at: Ints) -> Ints:
    """The numbers, a single one twice: numpy adds up a single column in another order."""
    return np.repeat(at, 2) if len(at) == 1 else at


def _only(terms: Terms, at: Ints) -> Terms:
    up, down, gap = (_columns(counts, at) for counts in (terms.up, terms.down, terms.gap))
    return terms if gap is terms.gap else replace(terms, up=up, down=down, gap=gap)


def _columns(values: Floats, at: Ints) -> Floats:
    """The data sets at these numbers: a copy, but where they are all."""
    everything = np.array_equal(at, np.arange(values.shape[-1]))
    return values if everything else np.take(values, at, axis=-1)


def _steps(terms: Terms, theta: Floats, pinned: Floats) -> tuple[Floats, Floats]:
    """(E + T, B) Newton steps, with no part in the pinned directions (a projection), and the factors of the matrices."""
    n = terms.incidence.shape[0]
    at = derivatives(terms, theta[:n], theta[n:])
    information = at.information
    diagonal = np.einsum("kkb->kb", information)
    scale = diagonal[:n].mean(axis=0)
    scale = np.where(scale > 0, scale, 1.0)  # no term is left of a resample in which everything is unbounded
    diagonal += np.where(diagonal == 0, scale, _DAMPING * scale)  # 0: an entity without ratings
    information += pinned[:, :, None] * scale
    factor(information)
    return solve(information, at.gradient), information


def _shortening(terms: Terms, thresholds: Floats, step: Floats) -> Floats:
    """(B,) share of each step that closes no gap by more than the limit."""
    width, change = terms.layout.gaps @ thresholds, terms.layout.gaps @ step
    narrower = (change < 0) & (terms.gap > 0)
    closing = np.where(narrower, -_TO_BOUNDARY * width / np.where(narrower, change, -1.0), 1.0)
    return np.asarray(closing.min(axis=0, initial=1.0), np.float64)


def _patterns(counts: Floats) -> Bools:
    """(strata · 4, B): which |scores| each resample uses."""
    totals = counts.sum(axis=1).reshape(-1, SCORES, counts.shape[2])
    used = totals[:, 3:] + totals[:, 3::-1] > 0
    return np.asarray(used.reshape(-1, counts.shape[2]), bool)


def largest_component(problem: Problem, counts: Floats) -> tuple[Floats, Bools]:
    """Counts without the pairs outside each resample's largest component, and its entities (E, B)."""
    rated = counts.sum(axis=0)
    degree = abs(problem.incidence) @ rated
    present = np.asarray(degree > 0)
    gappy = np.flatnonzero((rated == 0).any(axis=0))
    if not len(gappy):
        return counts, present
    members = _members(problem, rated[:, gappy], degree[:, gappy])
    split = (members != present[:, gappy]).any(axis=0)
    if not split.any():
        return counts, present
    kept = counts.copy()
    kept[:, :, gappy[split]] *= members[problem.pairs[:, 0]][:, split]
    present[:, gappy] = members
    return kept, present


def _members(problem: Problem, rated: Floats, degree: Floats) -> Bools:
    """(E, B) entities of the largest component of each resample: one graph, in which a resample has nodes of its own."""
    n, resamples = degree.shape
    at, pair = np.nonzero(rated.T)
    ends = problem.pairs[pair].T + n * at
    graph = coo_array((np.ones(len(at), np.int8), ends), shape=(n * resamples, n * resamples))
    count, label = connected_components(graph, directed=False)
    weight = degree.T.ravel()
    sizes = np.bincount(label, weights=weight > 0, minlength=count)
    owner = np.empty(count, np.int64)
    owner[label] = np.arange(len(label)) // n
    order = np.lexsort((np.arange(count), -np.bincount(label, weights=weight), -sizes, owner))
    best = order[np.searchsorted(owner[order], np.arange(resamples))]
    return np.asarray((label.reshape(resamples, n) == best[:, None]).T & (degree > 0), bool)
