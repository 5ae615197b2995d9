"""Average linkage (UPGMA, Sokal & Michener 1958) of many small distance matrices at once.

The two clusters with the least mean distance are merged until k are left. Adding a constant to all distances changes
nothing, so distances below 0 are used as they are; clipping them would make ties. A cut between two merges of the same
height is no partition into k clusters: it is reported as none.
"""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from s2s_assets.study import Floats

Labels = npt.NDArray[np.int64]
"""Cluster of each rubric: 0 for the first rubric's, then in order of first appearance; all -1 where there is none."""

TIE = 1e-9
"""Heights closer than this are the same."""


def average_linkage(distance: Floats, cuts: Collection[int]) -> dict[int, Labels]:
    """Labels (B, K) for each number of clusters in `cuts` (2 … K-1), of symmetric distances (B, K, K)."""
    n_sets, n = distance.shape[:2]
    d = distance.copy()
    d[:, range(n), range(n)] = np.inf
    sizes = np.ones((n_sets, n))
    heads = np.tile(np.arange(n), (n_sets, 1))
    found: dict[int, Labels] = {}
    last = np.full(n_sets, -np.inf)
    for left in range(n, min(cuts) - 1, -1):
        nearest = d.reshape(n_sets, n * n).argmin(axis=1)
        height = d.reshape(n_sets, n * n)[np.arange(n_sets), nearest]
        if left in cuts:
            found[left] = np.where((height - last > TIE)[:, None], canonical(heads), -1)
        heads = _merge(d, sizes, heads, nearest)
        last = height
    return found


def _merge(d: Floats, sizes: Floats, heads: Labels, nearest: Labels) -> Labels:
    """Merge the two clusters at each set's flat place, `d` and `sizes` in place; a cluster is known by its first rubric."""
    sets = np.arange(len(d))
    place = np.divmod(nearest, d.shape[1])
    i, j = np.minimum(*place), np.maximum(*place)  # rounding may leave the lower triangle the smaller
    n_i, n_j = sizes[sets, i, None], sizes[sets, j, None]
    mean = (n_i * d[sets, i] + n_j * d[sets, j]) / (n_i + n_j)
    mean[sets, i] = mean[sets, j] = np.inf
    d[sets, i] = d[sets, :, i] = mean
    d[sets, j] = d[sets, :, j] = np.inf
    sizes[sets, i] += sizes[sets, j]
    return np.where(heads == j[:, None], i[:, None], heads)


def canonical(heads: Labels) -> Labels:
    """Labels (B, K) from the first rubric of each rubric's cluster (B, K)."""
    number = np.cumsum(heads == np.arange(heads.shape[1]), axis=1) - 1
    return np.take_along_axis(number, heads, axis=1)
