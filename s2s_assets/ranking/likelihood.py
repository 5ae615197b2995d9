"""The ordinal Bradley-Terry likelihood with symmetric thresholds.

P(Y <= k) = σ(τ_k - d), d = s_i - s_j, σ the logistic function, τ symmetric about 0: edges -t3, -t2, -t1, t1, t2, t3.
With σ(b) - σ(a) = σ(b) · σ(-a) · (1 - e^(a - b)) the log-likelihood of counts falls apart into one logistic term per
edge and side, and one term per gap between edges:

    ℓ = Σ_pair Σ_edge [ up · log σ(e - d) + down · log σ(d - e) ] + Σ_gap N · log(1 - e^-gap)

`up` are the ratings in the score just below the edge, `down` those just above it, N the ratings inside a gap. There is
no cancellation in it, its derivatives are those of logistic regression, and it is concave in (s, t) (Pratt 1981).

Which edges there are is in `layout.py`; fractional Bradley-Terry is the layout with one edge at 0 and no thresholds.

Shapes: E entities, P pairs, K edges, T thresholds, B data sets (resamples) fitted side by side, always last. A data set's
numbers do not depend, to the last bit, on those beside it: all sums run over axes before the last, and matrix products
are of layouts only, which add up two numbers at most. (Alone, B = 1, numpy adds up in another order.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, kron
from scipy.special import log_expit

from s2s_assets.ranking.layout import Layout
from s2s_assets.ranking.planes import SCORES
from s2s_assets.ranking.problems import Problem
from s2s_assets.study import Floats, Ints

_FAR = 300.0
"""Logits from the mean up to which e^(s_i - s_j) is taken as a quotient of powers."""


@dataclass(frozen=True)
class Terms:
    """The counts that enter the likelihood, with the pairs they belong to."""

    layout: Layout
    pairs: Ints
    """(P, 2)."""
    incidence: csc_array
    """(E, P)."""
    up: Floats
    """(K, P, B)."""
    down: Floats
    """(K, P, B)."""
    gap: Floats
    """(T, B)."""

    @cached_property
    def total(self) -> Floats:
        """(K, P, B) ratings on either side of each edge."""
        return self.up + self.down

    @cached_property
    def fall(self) -> Floats:
        """(P, B) ratings above their edges, over all edges."""
        return np.asarray(self.down.sum(axis=0), np.float64)

    @cached_property
    def drop(self) -> Floats:
        """(K, B) ratings above each edge, over all pairs."""
        return np.asarray(self.down.sum(axis=1), np.float64)


@dataclass(frozen=True)
class Derivatives:
    """Gradient (E + T, B) and negative Hessian (E + T, E + T, B) at one point."""

    gradient: Floats
    information: Floats


def terms_of(problem: Problem, layout: Layout, counts: Floats) -> Terms:
    """The terms of counts (planes, P, B) in a layout that uses all of their |scores|."""
    return Terms(
        layout=layout,
        pairs=problem.pairs,
        incidence=problem.incidence,
        up=counts[layout.below],
        down=counts[layout.above],
        gap=layout.gap_planes @ counts.sum(axis=1),
    )


def starting_strengths(terms: Terms, thresholds: Floats) -> Floats:
    """(E,) one Newton step from equal strengths with thresholds (T,) held: there each edge has one share for all pairs.

    For one data set (B = 1) whose pairs connect its entities; the mean is 0.
    """
    total, share = terms.total[..., 0], 1.0 / (1.0 + np.exp(terms.layout.edges @ thresholds))
    slope, weight = terms.fall[:, 0] - share @ total, (share * (1.0 - share)) @ total
    n = terms.incidence.shape[0]
    information = laplacian(terms.pairs, as_batch(weight), n)[..., 0]
    return np.asarray(np.linalg.solve(information + information.trace() / n**2, terms.incidence @ slope), np.float64)


def log_likelihood(terms: Terms, strengths: Floats, thresholds: Floats) -> float:
    """ℓ of one data set (B = 1) at strengths (E,) and thresholds (T,)."""
    difference = strengths[terms.pairs[:, 0]] - strengths[terms.pairs[:, 1]]
    below = (terms.layout.edges @ thresholds)[:, None] - difference
    logistic = terms.total[..., 0] * log_expit(below) - terms.down[..., 0] * below  # log σ(-x) = log σ(x) - x
    gap = terms.gap[:, 0]
    width = np.where(gap > 0, terms.layout.gaps @ thresholds, 1.0)
    return float(logistic.sum() + (gap * np.log(-np.expm1(-width))).sum())


def derivatives(terms: Terms, strengths: Floats, thresholds: Floats) -> Derivatives:
    """Gradient and negative Hessian of ℓ at strengths (E, B) and thresholds (T, B)."""
    layout, odds = terms.layout, _odds(terms, strengths, thresholds)
    sums = _at_once(terms, *odds) if strengths.shape[1] == 1 else _by_edge(terms, *odds)
    gap_gradient, gap_weight = _gap_derivatives(terms, thresholds)
    of_strengths, *borders = _net(terms, sums.slope, *sums.mixed)
    gradient = np.vstack([of_strengths, _of_thresholds(terms, sums.above, gap_gradient)])
    threshold_block = _quadratic(layout.edges, sums.edge_weight) + _quadratic(layout.gaps, gap_weight)
    return Derivatives(gradient, _information(terms, sums.weight, borders, threshold_block))


def gradient(terms: Terms, strengths: Floats, thresholds: Floats) -> Floats:
    """Gradient (E + T, B) of ℓ at strengths (E, B) and thresholds (T, B), or at one point (E, 1), (T, 1) for all."""
    ratio, edges = _odds(terms, strengths, thresholds)
    slope, above = terms.fall.copy(), np.empty_like(terms.drop)
    for k, edge in enumerate(edges):
        expected = terms.total[k] * (ratio / (ratio + edge))
        slope -= expected
        above[k] = expected.sum(axis=0)
    gap_gradient, _ = _gap_derivatives(terms, thresholds)
    return np.vstack([*_net(terms, slope), _of_thresholds(terms, above, gap_gradient)])


class _Sums(NamedTuple):
    """The derivatives' sums over edges or pairs."""

    slope: Floats
    """(P, B) ∂ℓ/∂d."""
    weight: Floats
    """(P, B) -∂²ℓ/∂d²."""
    mixed: Floats
    """(T, P, B) ∂²ℓ/∂d∂t."""
    above: Floats
    """(K, B) ratings expected above each edge."""
    edge_weight: Floats
    """(K, B) -∂²ℓ/∂e²."""


def _odds(terms: Terms, strengths: Floats, thresholds: Floats) -> tuple[Floats, Floats]:
    """e^d by pair (P, B) and e^edge (K, B)."""
    (i, j), edges = terms.pairs.T, np.exp(terms.layout.edges @ thresholds)
    centred = strengths - strengths.mean(axis=0)
    far = np.abs(centred) > _FAR
    if not far.any():
        power = np.exp(centred)
        return power[i] / power[j], edges
    power, differences = np.exp(np.where(far, 0.0, centred)), centred[i] - centred[j]
    apart = np.exp(np.clip(differences, -2 * _FAR, 2 * _FAR))
    return np.where(far.any(axis=0), apart, power[i] / power[j]), edges


def _by_edge(terms: Terms, ratio: Floats, edges: Floats) -> _Sums:
    """Edge by edge, so that what is at hand stays in cache."""
    slope, above = terms.fall.copy(), np.empty_like(terms.drop)
    weight, edge_weight = np.zeros_like(slope), np.empty_like(above)
    mixed = np.zeros((terms.layout.thresholds, *slope.shape))
    for k, edge in enumerate(edges):
        share = ratio / (ratio + edge)  # σ(d - e)
        expected = terms.total[k] * share
        slope -= expected
        above[k] = expected.sum(axis=0)
        curvature = np.multiply(expected, np.subtract(1.0, share, out=share), out=expected)
        weight += curvature
        edge_weight[k] = curvature.sum(axis=0)
        for t in np.flatnonzero(terms.layout.edges[k]):
            (np.add if terms.layout.edges[k, t] > 0 else np.subtract)(mixed[t], curvature, out=mixed[t])
    return _Sums(slope, weight, mixed, above, edge_weight)


def _at_once(terms: Terms, ratio: Floats, edges: Floats) -> _Sums:
    """All edges of one data set (B = 1) in one go."""
    share = ratio.T / (ratio.T + edges)
    expected = terms.total[..., 0] * share
    curvature = expected * (1.0 - share)
    mixed = terms.layout.edges.T @ curvature
    sums = (curvature.sum(axis=0), mixed, expected.sum(axis=1), curvature.sum(axis=1))
    return _Sums(terms.fall - expected.sum(axis=0)[:, None], *(as_batch(each) for each in sums))


def _of_thresholds(terms: Terms, above: Floats, gap_gradient: Floats) -> Floats:
    """(T, B) gradient, from the ratings (K, B) expected above each edge."""
    layout = terms.layout
    return np.asarray(layout.edges.T @ (above - terms.drop) + layout.gaps.T @ gap_gradient, np.float64)


def _net(terms: Terms, *by_pair: Floats) -> Floats:
    """(.., E, B): values of pairs (P, B) added up for their first entity, taken off for their second."""
    side_by_side = terms.incidence @ np.concatenate(by_pair, axis=1)
    return np.asarray(side_by_side.reshape(len(side_by_side), len(by_pair), -1).swapaxes(0, 1), np.float64)


def _gap_derivatives(terms: Terms, thresholds: Floats) -> tuple[Floats, Floats]:
    """First and negative second derivative (T, B) of N · log(1 - e^-gap) in the gap's width."""
    width = np.where(terms.gap > 0, terms.layout.gaps @ thresholds, 1.0)
    rate = 1.0 / np.expm1(width)
    return terms.gap * rate, terms.gap * rate * (1.0 + rate)


def _quadratic(matrix: Floats, weight: Floats) -> Floats:
    """For each b: matrix' · diag(weight_b) · matrix, (T, T, B)."""
    n_thresholds = matrix.shape[1]
    outer = (matrix[:, :, None] * matrix[:, None, :]).reshape(len(matrix), n_thresholds**2)
    return (outer.T @ weight).reshape(n_thresholds, n_thresholds, weight.shape[1])


def _information(terms: Terms, weight: Floats, borders: Sequence[Floats], threshold_block: Floats) -> Floats:
    """(E + T, E + T, B): the weighted Laplacian of the pairs, bordered by the thresholds."""
    n_entities = terms.incidence.shape[0]
    information = laplacian(terms.pairs, weight, n_entities, len(borders))
    for t, border in enumerate(borders, n_entities):
        information[:n_entities, t] = information[t, :n_entities] = -border
    information[n_entities:, n_entities:] = threshold_block
    return information


def laplacian(pairs: Ints, weight: Floats, n: int, beside: int = 0) -> Floats:
    """(n + beside, n + beside, B): the Laplacian of `n` nodes joined by weighted pairs (P, B), with room beside it."""
    (i, j), filled = pairs.T, np.zeros((n + beside, n + beside, weight.shape[1]))
    filled[i, j] = filled[j, i] = -weight
    np.einsum("kkb->kb", filled)[:n] = -filled[:n, :n].sum(axis=1)
    return filled


def cell_scores(terms: Terms, strengths: Floats, thresholds: Floats) -> csr_array:
    """Gradient of one rating's log-likelihood by cell: (planes · P, E + T), for one data set.

    Args:
        terms: with B = 1; where a term is masked out (count 0) it has no score either.
        strengths: (E,).
        thresholds: (T,).
    """
    layout, n_pairs = terms.layout, len(terms.pairs)
    n_planes = SCORES * len(layout.used)
    d = strengths[terms.pairs[:, 0]] - strengths[terms.pairs[:, 1]]
    slope, turn = np.zeros((n_planes, n_pairs)), np.zeros((n_planes, n_pairs, layout.thresholds))
    above = 1.0 / (1.0 + np.exp((layout.edges @ thresholds)[:, None] - d))
    for k, (low, high) in enumerate(zip(layout.below, layout.above, strict=True)):
        pull = np.where(terms.up[k, :, 0] > 0, -above[k], 0.0)
        push = np.where(terms.down[k, :, 0] > 0, 1.0 - above[k], 0.0)
        slope[low] += pull
        slope[high] += push
        turn[low] -= pull[:, None] * layout.edges[k]
        turn[high] -= push[:, None] * layout.edges[k]
    gap_gradient, _ = _gap_derivatives(terms, thresholds[:, None])
    per_rating = np.where(terms.gap > 0, gap_gradient / np.maximum(terms.gap, 1.0), 0.0)
    turn += ((layout.gap_planes * per_rating).T @ layout.gaps)[:, None, :]
    return _score_table(terms, slope.ravel(), turn.reshape(n_planes * n_pairs, -1))


def _score_table(terms: Terms, slope: Floats, turn: Floats) -> csr_array:
    n_planes = len(slope) // max(len(terms.pairs), 1)
    sides = kron(np.ones((n_planes, 1)), terms.incidence.T, format="csr")
    return csr_array(hstack([sides.multiply(slope[:, None]), csr_array(turn)], format="csr"))


def as_batch(values: Floats) -> Floats:
    """One data set as a batch of one: a last axis of length 1."""
    return values[..., None]
