"""Edges between scores, and the thresholds that they are made of.

Edges are symmetric about 0: -t3, -t2, -t1, t1, t2, t3. An unused |score| has no edge of its own: the two thresholds around
it are one (equal to the fit on the reduced scale). Without ties the inner edge is 0 and t1 is left out; without ±3 the outer
edge is infinite. Strata are rubrics that share strengths and have thresholds of their own; their edges stand side by side.
With |score| 3 only there is one edge at 0 and no threshold.

Shapes: K edges, T thresholds; planes as in `planes.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2s_assets.ranking.planes import SCORES
from s2s_assets.study import Floats, Ints


@dataclass(frozen=True)
class Layout:
    """Which edges there are, and what they are made of."""

    used: tuple[tuple[int, ...], ...]
    """|scores| in use, ascending, by stratum."""
    edges: Floats
    """(K, T) of 0 and ±1: edge positions are `edges @ t`."""
    gaps: Floats
    """(T, T): widths of the bounded gaps are `gaps @ t`."""
    below: Ints
    """(K,) plane of the score just below each edge."""
    above: Ints
    gap_planes: Floats
    """(T, planes): which planes' ratings lie inside each gap."""

    @property
    def thresholds(self) -> int:
        """T."""
        return int(self.edges.shape[1])


def used_magnitudes(totals: Floats) -> tuple[tuple[int, ...], ...]:
    """|scores| with any ratings, by stratum, from totals (planes,)."""
    by_stratum = totals.reshape(-1, SCORES)
    either = by_stratum[:, 3:] + by_stratum[:, 3::-1]
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in either)


def layout_of(used: Sequence[Sequence[int]]) -> Layout:
    """The layout of the |scores| in use by stratum; a stratum of ties only has no edge."""
    parts = [_stratum(magnitudes) for magnitudes in used]
    sizes = [gaps.shape[0] for _, gaps, _, _ in parts]
    edges = np.zeros((sum(len(e) for e, *_ in parts), sum(sizes)))
    gaps = np.zeros((sum(sizes), sum(sizes)))
    gap_planes = np.zeros((sum(sizes), SCORES * len(parts)))
    ladder: list[Ints] = []
    row = column = 0
    for stratum, (own_edges, own_gaps, inside, scores) in enumerate(parts):
        n_edges, n_thresholds = own_edges.shape
        block = slice(column, column + n_thresholds)
        edges[row : row + n_edges, block] = own_edges
        gaps[block, block] = own_gaps
        gap_planes[block, stratum * SCORES : (stratum + 1) * SCORES] = inside
        ladder.append(scores + 3 + stratum * SCORES)
        row, column = row + n_edges, column + n_thresholds
    empty = np.zeros(0, np.int64)
    return Layout(
        used=tuple(tuple(m) for m in used),
        edges=edges,
        gaps=gaps,
        below=np.concatenate([empty, *(planes[:-1] for planes in ladder)]),
        above=np.concatenate([empty, *(planes[1:] for planes in ladder)]),
        gap_planes=gap_planes,
    )


def _stratum(magnitudes: Sequence[int]) -> tuple[Floats, Floats, Floats, Ints]:
    """Edges (K, T), gaps (T, T), ratings inside gaps (T, 7) and the scores in use, ascending."""
    ties = 0 in magnitudes
    n = max(len(magnitudes) - 1, 0)
    upper = np.eye(n)
    middle = np.zeros((0 if ties or not magnitudes else 1, n))
    gaps = np.eye(n) - np.eye(n, k=-1)
    inside = np.zeros((n, SCORES))
    for k, magnitude in enumerate(magnitudes[:n]):
        inside[k, [3 - magnitude, 3 + magnitude]] = 1.0
    if ties and n:
        gaps[0, 0] = 2.0
    scores = sorted({*magnitudes, *(-m for m in magnitudes)})
    return np.vstack([-upper[::-1], middle, upper]), gaps, inside, np.array(scores, np.int64)


def starting_thresholds(layout: Layout, totals: Floats) -> Floats:
    """Thresholds (T, B) that give the marginal shares of |score| where all entities are equal.

    Args:
        layout: of the |scores| in use.
        totals: (planes, B) ratings by plane.
    """
    parts = []
    for stratum, magnitudes in enumerate(layout.used):
        own = totals[stratum * SCORES : (stratum + 1) * SCORES]
        by_magnitude = (
            np.stack([own[3 + m] + (own[3 - m] if m else 0.0) for m in magnitudes]) if magnitudes else own[:0]
        )
        share = np.cumsum(by_magnitude, axis=0)[:-1] / np.maximum(by_magnitude.sum(axis=0), 1.0)
        parts.append(np.log1p(share) - np.log1p(-share))
    return np.concatenate(parts) if parts else np.zeros((0, totals.shape[1]))
