"""How far two partitions agree.

Adjusted Rand index (Hubert & Arabie 1985): with n_ij rubrics in cluster i of one and j of the other, and C(n) pairs in
n,

    ARI = (Σ C(n_ij) - e) / ((Σ C(n_i.) + Σ C(n_.j)) / 2 - e),       e = Σ C(n_i.) Σ C(n_.j) / C(n).

1 is the same partition, 0 what chance gives with these sizes; it may be negative, and is undefined where both are one
cluster or both all singletons.
"""

from itertools import permutations

import numpy as np

from s2s_assets.rubrics.linkage import Labels
from s2s_assets.study import Floats


def adjusted_rand_index(a: Labels, b: Labels) -> float | None:
    """Agreement of two labellings (K,); None where it is 0 / 0."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    together, rows, columns = (_pairs(n).sum() for n in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array(float(len(a)))), 1.0)
    highest = (rows + columns) / 2
    return None if highest == expected else float((together - expected) / (highest - expected))


def _pairs(n: Floats) -> Floats:
    return n * (n - 1) / 2


def moved_share(labels: Labels, reference: Labels) -> Floats:
    """Share of partitions (B, K) in which a rubric is not in its cluster of the reference (K,), shape (K,).

    Each partition's clusters are first named so that as many rubrics as possible stay. Partitions that are none (-1)
    are left out; NaN where all are.
    """
    labels = labels[(labels >= 0).all(axis=1)]
    if len(labels) == 0:
        return np.full(len(reference), np.nan)
    names = np.array(list(permutations(range(int(reference.max()) + 1))))
    stays = names[:, labels] == reference
    best = stays.sum(axis=2).argmax(axis=0)
    moved: Floats = 1.0 - stays[best, np.arange(len(labels))].mean(axis=0)
    return moved
