"""Many small positive definite systems side by side, with the same bits whatever stands beside a system.

LAPACK and matrix products choose their order of summation by the size of the whole batch and the number of threads. Here
every operation runs along the last axis, the batch, so that a system's solution depends on that system alone. The batch
holds two systems at least: numpy adds up a single column in another order.
"""

import numpy as np

from s2s_assets.study import Floats


def factor(matrices: Floats) -> None:
    """Overwrite the lower triangles of matrices (n, n, B) with their Cholesky factors; NaN where there is none."""
    with np.errstate(all="ignore"):
        for k in range(len(matrices)):
            below = matrices[k:, k]
            if k:
                below -= np.einsum("ikb,kb->ib", matrices[k:, :k], matrices[k, :k])
            below /= np.sqrt(matrices[k, k])


def solve(factors: Floats, right: Floats) -> Floats:
    """Solutions (n, B) for right sides (n, B), given factors (n, n, B); NaN throughout where a system has none."""
    x = right.copy()
    n = len(x)
    with np.errstate(all="ignore"):
        for k in range(n):
            if k:
                x[k] -= np.einsum("kb,kb->b", factors[k, :k], x[:k])
            x[k] /= factors[k, k]
        for k in reversed(range(n)):
            if k < n - 1:
                x[k] -= np.einsum("kb,kb->b", factors[k + 1 :, k], x[k + 1 :])
            x[k] /= factors[k, k]
        x[:, ~np.isfinite(x).all(axis=0)] = np.nan
    return x
