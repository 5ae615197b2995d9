"""Walecki's decomposition of the complete graph into Hamiltonian cycles or paths.

Put 2m vertices on a circle and walk the zigzag ``z_i = i, i+1, i-1, i+2, i-2, …, i+m`` (all mod 2m). The m zigzags
i = 0 … m-1 use every chord exactly once, so they decompose K_2m into m Hamiltonian *paths*. Joining both ends of each
zigzag to one further vertex decomposes K_2m+1 into m Hamiltonian *cycles* (E. Lucas, *Récréations mathématiques* II,
1892, after Walecki). Each member visits all configs, is connected, and together they use each pair once.
"""

import numpy as np

from s2s_assets.study import Ints


def decompose(n: int) -> Ints:
    """Visiting orders of the members of K_n, shape (n // 2, n): cycles where n is odd, paths where it is even.

    Raises:
        ValueError: n is below 1.
    """
    if n < 1:
        raise ValueError(f"a graph has at least one vertex, not {n}")
    m = n // 2
    if m == 0:
        return np.empty((0, n), np.int64)
    step = np.arange(2 * m)
    zigzag = np.where(step % 2 == 1, (step + 1) // 2, -(step // 2))
    orders = (np.arange(m)[:, None] + zigzag) % (2 * m)
    return np.column_stack([orders, np.full(m, 2 * m)]) if n % 2 else orders


def walk(order: Ints, *, closed: bool) -> Ints:
    """Directed edges of a visiting order, shape (edges, 2); a closed walk over two vertices has one edge."""
    if len(order) < 2:
        return np.empty((0, 2), np.int64)
    if closed and len(order) > 2:
        return np.column_stack([order, np.roll(order, -1)])
    return np.column_stack([order[:-1], order[1:]])
