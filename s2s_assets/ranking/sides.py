"""Whether it matters which answer is on the left, that is, heard first.

The model is symmetric: it gives (i, j, score) and (j, i, -score) the same probability. Two fits loosen that, with every
score taken as the left answer's. Left is the answer heard first; where no rating says which that was, it is `config_a`.

Order effect: d = s_left - s_right + γ, one γ for all ratings. γ in Elo is how much better an answer is judged for being
heard first. Its standard error is the two-way sandwich of this fit, its interval uses the t quantile with
min(G_rater, G_prompt) - 1 degrees. Fitted only where it is known which answer was heard first.

Flexible thresholds: every edge between two scores has a position of its own, τ_-3 < … < τ_3, instead of ±t (this holds γ,
and asymmetry beyond it). Twice the rise of ℓ is compared with χ² on the number of parameters more that the ratings tell. That
takes ratings as independent; with effects of raters and prompts the statistic is larger, so that a small p is a reason
to look, not a proof. Ratings whose left side is unknown are left out of both fits of either comparison.
"""

from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, stdtrit

from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.diagnostic_records import OrderEffect, ThresholdTest
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.existence import separation
from s2s_assets.ranking.layout import Layout, layout_of, starting_thresholds, used_magnitudes
from s2s_assets.ranking.likelihood import as_batch, terms_of
from s2s_assets.ranking.ordinal import Maximum, all_equal, maximise
from s2s_assets.ranking.planes import SCORES, mirrored
from s2s_assets.ranking.problems import Problem, Rows
from s2s_assets.study import Floats

_FLAT = 1e-11
"""Eigenvalues of the information below this share of the largest are directions without information."""
_PART = 1e-4
"""Part of a parameter in such a direction from which it is not known."""


def sided(problem: Problem) -> Problem:
    """The ratings whose left side is known, with twice the planes: those with the pair's second on the left come last."""
    rows = problem.rows
    known = rows.side != 0
    planes, n_pairs = problem.counts.shape
    cell = rows.cell[known] + planes * n_pairs * (rows.side[known] < 0)
    turned = Rows(rows.rater[known], rows.prompt[known], cell, lambda: rows.side[known])
    return replace(
        problem,
        counts=np.bincount(cell, minlength=2 * planes * n_pairs).astype(np.float64).reshape(2 * planes, n_pairs),
        target=np.zeros(0, np.int64),
        find_rows=lambda: turned,
    )


def left_totals(turned: Problem) -> Floats:
    """(planes,) ratings by the score of the left answer, from a `sided` problem."""
    straight, reverse = np.split(turned.counts.sum(axis=1), 2)
    return np.asarray(straight + reverse[mirrored(len(reverse))], np.float64)


def both_sides(layout: Layout) -> Layout:
    """The layout of left scores on the planes of a `sided` problem: turned round, edge e lies at -e."""
    planes = layout.gap_planes.shape[1]
    mirror = mirrored(planes)
    return Layout(
        used=layout.used + layout.used,
        edges=np.vstack([layout.edges, -layout.edges]),
        gaps=layout.gaps,
        below=np.concatenate([layout.below, planes + mirror[layout.above]]),
        above=np.concatenate([layout.above, planes + mirror[layout.below]]),
        gap_planes=np.hstack([layout.gap_planes, layout.gap_planes[:, mirror]]),
    )


def order_effect(turned: Problem) -> OrderEffect | None:
    """The shift towards the answer heard first, from a `sided` problem.

    None where no finite fit exists, or where sides and entities cannot be told apart (each pair heard in one order only,
    and no three that close a circle).
    """
    totals = left_totals(turned)
    layout = layout_of(used_magnitudes(totals))
    shifted = replace(
        layout,
        edges=np.hstack([layout.edges, -np.ones((len(layout.edges), 1))]),
        gaps=np.hstack([layout.gaps, np.zeros((len(layout.gaps), 1))]),
    )
    start = np.append(starting_thresholds(layout, as_batch(totals))[:, 0], 0.0)
    found = _fit(turned, shifted, start)
    if found is None or not _identified(found):
        return None
    shift = ELO_PER_STRENGTH * float(found.thresholds[-1])
    half = _half_width(turned, found)
    return OrderEffect(
        n_ratings=len(turned.rows.cell),
        shift=shift,
        low=None if half is None else shift - half,
        high=None if half is None else shift + half,
    )


def flexible_thresholds(turned: Problem, heard: bool) -> ThresholdTest | None:
    """Symmetric against flexible thresholds on a `sided` problem; None where either has no finite fit."""
    totals = left_totals(turned)
    symmetric = layout_of(used_magnitudes(totals))
    flexible = flexible_layout(totals)
    start = starting_thresholds(symmetric, as_batch(totals))[:, 0]
    fits = [_fit(turned, symmetric, start), _fit(turned, flexible, _marginal_edges(totals))]
    found = [fit for fit in fits if fit is not None]
    degrees = _rank(found[1]) - _rank(found[0]) if len(found) == 2 else 0
    if degrees < 1:
        return None
    statistic = max(2 * (found[1].log_likelihood - found[0].log_likelihood), 0.0)
    return ThresholdTest(
        n_ratings=len(turned.rows.cell),
        left="heard first" if heard else "config_a",
        statistic=statistic,
        df=degrees,
        p=float(chdtrc(degrees, statistic)),
    )


def flexible_layout(totals: Floats) -> Layout:
    """A layout with an edge of its own between any two neighbouring scores in use, from totals (planes,)."""
    ladders = [stratum + np.flatnonzero(totals[stratum : stratum + SCORES]) for stratum in _strata(totals)]
    below = np.concatenate([planes[:-1] for planes in ladders])
    above = np.concatenate([planes[1:] for planes in ladders])
    inner = np.flatnonzero(above[:-1] == below[1:])  # neighbouring edges of one stratum, with a score between them
    gaps = np.eye(len(below))[inner + 1] - np.eye(len(below))[inner]
    return Layout(
        used=used_magnitudes(totals),
        edges=np.eye(len(below)),
        gaps=gaps,
        below=below,
        above=above,
        gap_planes=np.eye(len(totals))[above[inner]],
    )


def _marginal_edges(totals: Floats) -> Floats:
    """Edges (K,) that give the marginal shares of the scores where all entities are equal."""
    parts = []
    for stratum in _strata(totals):
        own = totals[stratum : stratum + SCORES]
        share = np.cumsum(own[own > 0])[:-1] / max(own.sum(), 1.0)
        parts.append(np.log(share) - np.log1p(-share))
    return np.concatenate(parts)


def _strata(totals: Floats) -> range:
    return range(0, len(totals), SCORES)


def _fit(problem: Problem, layout: Layout, start: Floats) -> Maximum | None:
    """The maximum, or None where there is none."""
    terms = terms_of(problem, both_sides(layout), as_batch(problem.counts))
    if not len(layout.below) or separation(terms) is not None:
        return None
    return maximise(terms, all_equal(terms, start))


def _rank(found: Maximum) -> int:
    """Number of parameters that the ratings tell."""
    values = np.linalg.eigvalsh(found.information)
    return int((values > _FLAT * values.max()).sum())


def _identified(found: Maximum) -> bool:
    """Whether the last threshold has no part in a direction along which ℓ does not change."""
    values, vectors = np.linalg.eigh(found.information)
    return bool(np.abs(vectors[-1, values <= _FLAT * values.max()]).max(initial=0.0) < _PART)


def _half_width(problem: Problem, found: Maximum) -> float | None:
    """Half the 95 % interval of the last threshold, in Elo; None with one rater or one prompt."""
    scores = ClusteredScores.of(problem, found)
    degrees = min(len(scores.raters.number), len(scores.prompts.number)) - 1
    row = found.inverse[-1]
    variance = float(row @ scores.meat() @ row)
    if degrees < 1 or variance <= 0:
        return None
    return float(ELO_PER_STRENGTH * stdtrit(degrees, 0.975) * np.sqrt(variance))
