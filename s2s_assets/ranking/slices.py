"""How a slice differs from the whole, and whether the slices differ at all.

Difference to the whole: an entity's Elo in the slice less its Elo on the board of all ratings, both centred over the
entities that the two share. Its interval is the percentile interval of the same difference within each resample: slice
and whole are made from the same draws, so what they share cancels. A slice is a part of the whole, hence the
difference understates that to the rest. A slice's scale is its own, too: steadier answers spread all entities wider.

Test: do the strengths differ between the K slices of an attribute at all? Over the entities that all slices have, let
s_k be the centred strengths of slice k, w_k the inverse of their mean variance, s̄ their weighted mean, and
x_k = √w_k (s_k - s̄). The joint covariance V of all x is a two-way sandwich: raters contribute their sums from every
slice, so that what one rater does in several slices is counted as going together; prompts and units likewise. The
statistic is x'x / tr V (an ANOVA-type statistic; Brunner, Dette & Munk 1997), which needs no inverse of V and so allows
more differences than there are raters. Where the strengths are the same it is close to F with ν = tr(V)² / tr(V²)
degrees, and ν · (min(G_rater, G_prompt) - 1) for the denominator: tr V is a mean over about ν directions, each known
with that many degrees. A small p says that some difference is real, not which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from s2s_assets.ranking.clusters import ClusteredScores, Clusters
from s2s_assets.ranking.diagnostic_records import SliceTest
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.ranking.intervals import finite_ends, percentile_ends
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.study import Floats


@dataclass(frozen=True)
class SliceScores:
    """One slice's strengths with what each rater and prompt adds to them."""

    dimension: str
    value: str
    entities: tuple[str, ...]
    strengths: Floats
    """(E,) centred."""
    rows: Floats
    """(E, E + T) as from `strength_rows`."""
    scores: ClusteredScores


class Delta(NamedTuple):
    """An entity's Elo in a slice less its Elo in the whole, with the ends of the interval."""

    point: float | None
    low: float | None
    high: float | None


def differences(part: tuple[BoardFit, BoardIntervals], whole: tuple[BoardFit, BoardIntervals]) -> dict[str, Delta]:
    """The difference of every entity that both boards have a strength for."""
    strengths = [{e.entity: e.strength for e in fit.entities if e.strength is not None} for fit, _ in (part, whole)]
    shared = [e for e in strengths[0] if e in strengths[1]]
    if not shared:
        return {}
    points = np.array([[s[e] for e in shared] for s in strengths])
    centres = points.mean(axis=1)
    gap = (points[0] - centres[0]) - (points[1] - centres[1])
    drawn = [_draws_of(*board, shared) - centre for board, centre in zip((part, whole), centres, strict=True)]
    with np.errstate(invalid="ignore"):  # ∞ - ∞: no value
        ends, _ = percentile_ends(drawn[0] - drawn[1])
    return {
        entity: Delta(float(ELO_PER_STRENGTH * gap[k]), *finite_ends(ELO_PER_STRENGTH * ends[k]))
        for k, entity in enumerate(shared)
    }


def _draws_of(fit: BoardFit, intervals: BoardIntervals, entities: Sequence[str]) -> Floats:
    place = {e.entity: k for k, e in enumerate(fit.entities)}
    return np.asarray(intervals.draws[[place[e] for e in entities]], np.float64)


def slice_test(slices: Sequence[SliceScores]) -> SliceTest | None:
    """Whether the strengths differ between slices; None with fewer than two slices, entities, raters or prompts."""
    shared = sorted(set.intersection(*(set(s.entities) for s in slices))) if len(slices) > 1 else []
    if len(shared) < 2:
        return None
    size = len(shared)
    centre = np.eye(size) - 1 / size
    picked = [centre @ np.eye(len(s.entities))[[s.entities.index(e) for e in shared]] for s in slices]
    strengths = np.stack([pick @ s.strengths for pick, s in zip(picked, slices, strict=True)])
    rows = [pick @ s.rows for pick, s in zip(picked, slices, strict=True)]
    pieces = [
        _joint([(clusters, r) for clusters, r in zip(way, rows, strict=True)])
        for way in zip(*((s.scores.raters, s.scores.prompts, s.scores.units) for s in slices), strict=True)
    ]
    degrees = min(pieces[0][1], pieces[1][1]) - 1
    covariance = _positive(pieces[0][0] + pieces[1][0] - pieces[2][0])
    variances = np.diag(covariance).reshape(len(slices), size).mean(axis=1)
    if degrees < 1 or (variances <= 0).any():
        return None
    weight = 1 / variances
    contrast = np.sqrt(weight)[:, None] * (np.eye(len(slices)) - weight / weight.sum())
    x = contrast @ strengths
    spread = np.kron(contrast, np.eye(size))
    of_x = spread @ covariance @ spread.T
    trace = float(np.trace(of_x))
    statistic, df = float((x**2).sum()) / trace, trace**2 / float((of_x**2).sum())
    df_error = df * degrees
    p = float(fdtrc(df, df_error, statistic))
    return SliceTest(slices[0].dimension, tuple(s.value for s in slices), size, statistic, df, df_error, p)


def _joint(parts: Sequence[tuple[Clusters, Floats]]) -> tuple[Floats, int]:
    """(K·E, K·E): G / (G - 1) · Σ_g of the stacked sums, a cluster's sums in all slices together; and G."""
    numbers = np.unique(np.concatenate([clusters.number for clusters, _ in parts]))
    stacked = np.zeros((len(numbers), sum(len(rows) for _, rows in parts)))
    at = 0
    for clusters, rows in parts:
        stacked[np.searchsorted(numbers, clusters.number), at : at + len(rows)] = clusters.sums @ rows.T
        at += len(rows)
    factor = len(numbers) / max(len(numbers) - 1, 1)
    return np.asarray(factor * stacked.T @ stacked, np.float64), len(numbers)


def _positive(covariance: Floats) -> Floats:
    """The covariance with negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, np.float64)
