"""The slow plain twin: the model written down row by row, with none of the package's code."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from s2s_assets_tests.ranking.cases import Row


def cell_edges(score: int, used: Sequence[int], t: Sequence[float]) -> tuple[float, float]:
    """Lower and upper edge of a score's cell; `used` are the |scores| in use, ascending."""
    ladder = ([] if used[0] == 0 else [0.0]) + [float(x) for x in t] + [math.inf]
    if score == 0:
        return -ladder[0], ladder[0]
    place = [u for u in used if u].index(abs(score))
    low, high = ladder[place], ladder[place + 1]
    return (low, high) if score > 0 else (-high, -low)


def logistic(x: float) -> float:
    """1 / (1 + e^-x), without overflow."""
    return 0.5 * (1 + math.tanh(x / 2))


def log_likelihood(rows: Sequence[Row], strength: dict[str, float], t: Sequence[float]) -> float:
    """Σ log P(score) over rows."""
    used = sorted({abs(y) for *_, y in rows})
    total = 0.0
    for _, _, a, b, y in rows:
        low, high = cell_edges(y, used, t)
        d = strength[a] - strength[b]
        total += math.log(max(logistic(high - d) - logistic(low - d), 1e-300))
    return total


def fit(rows: Sequence[Row], ridge: float = 0.0) -> tuple[dict[str, float], list[float]]:
    """Strengths (mean 0) and thresholds by a general optimizer on the rows; thresholds as sums of exponentials."""
    names = sorted({r[2] for r in rows} | {r[3] for r in rows})
    used = sorted({abs(y) for *_, y in rows})
    n = len(names)

    def unpack(x: np.ndarray) -> tuple[dict[str, float], list[float]]:
        return dict(zip(names, x[:n], strict=True)), np.cumsum(np.exp(x[n:])).tolist()

    def loss(x: np.ndarray) -> float:
        s, t = unpack(x)
        return -log_likelihood(rows, s, t) + (ridge / 2 + 1e-9) * float(x[:n] @ x[:n])

    found = minimize(loss, np.zeros(n + len(used) - 1), method="BFGS", options={"gtol": 1e-7, "maxiter": 500})
    s, t = unpack(found.x)
    mean = sum(s.values()) / n
    return {k: v - mean for k, v in s.items()}, t
