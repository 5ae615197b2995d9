"""What each rater and prompt weighs, and what the ranking would be without it, without fitting again.

Removing cluster g moves the estimates by about -H⁻¹ u_g · N / (N - n_g): one Newton step, in which the Hessian of what
is left is taken as H in proportion to the ratings left (u_g the sum of the cluster's scores, n_g of N ratings). The
clusters named are those whose removal would move some entity's Elo most; how many pairs would change their order, and
who would lead, is read off the moved strengths. A cluster with most of the ratings moves more than one step says.
"""

from collections.abc import Sequence

import numpy as np

from s2s_assets.ranking.clusters import Clusters
from s2s_assets.ranking.diagnostic_records import Removal
from s2s_assets.ranking.elo import ELO_PER_STRENGTH
from s2s_assets.study import Floats


def removal_shifts(clusters: Clusters, rows: Floats) -> Floats:
    """(G, E) logits by which each cluster's removal moves the centred strengths; NaN where nothing would be left.

    Args:
        clusters: raters or prompts.
        rows: (E, E + T) as from `strength_rows`.
    """
    total, size = clusters.sizes.sum(), clusters.sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(size < total, total / (total - size), np.nan)
    return np.asarray(-(clusters.sums @ rows.T) * scale[:, None], np.float64)


def influential(
    clusters: Clusters,
    rows: Floats,
    strengths: Floats,
    entities: Sequence[str],
    names: Sequence[str],
    keep: int = 5,
) -> tuple[tuple[Removal, ...], Removal]:
    """The clusters whose removal moves an entity most, and the one with most ratings.

    Args:
        clusters: raters or prompts.
        rows: (E, E + T) as from `strength_rows`.
        strengths: (E,) finite.
        entities: names of the entities.
        names: names of all raters or prompts, by number.
        keep: how many to name.
    """
    shifts = removal_shifts(clusters, rows)
    known = np.flatnonzero(~np.isnan(shifts).any(axis=1))
    order = known[np.argsort(-np.abs(shifts[known]).max(axis=1), kind="stable")]
    found = [_removal(int(g), clusters, shifts[g], strengths, entities, names) for g in order[:keep]]
    heaviest = int(np.argmax(clusters.sizes))
    return tuple(found), _removal(heaviest, clusters, shifts[heaviest], strengths, entities, names)


def heaviest(clusters: Clusters, names: Sequence[str]) -> Removal:
    """The cluster with most ratings, where nothing can be said about its removal."""
    nothing = np.full(1, np.nan)
    return _removal(int(np.argmax(clusters.sizes)), clusters, nothing, nothing, (), names)


def _removal(
    g: int, clusters: Clusters, shift: Floats, strengths: Floats, entities: Sequence[str], names: Sequence[str]
) -> Removal:
    size = clusters.sizes
    name, n, share = names[clusters.number[g]], int(size[g]), float(size[g] / size.sum())
    if np.isnan(shift).any():
        return Removal(name, n, share, None, None, None, None)
    moved = strengths + shift
    before, after = (np.sign(np.round(s[:, None] - s, 9)) for s in (strengths, moved))
    farthest = int(np.argmax(np.abs(shift)))
    return Removal(
        name=name,
        n_ratings=n,
        share=share,
        entity=entities[farthest],
        shift=float(ELO_PER_STRENGTH * shift[farthest]),
        swaps=int((before * after < 0).sum() // 2),
        leader=entities[int(np.argmax(moved))],
    )
