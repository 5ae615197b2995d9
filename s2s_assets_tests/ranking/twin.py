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


def massey(rows: Sequence[Row]) -> dict[str, float]:
    """Least squares of the score on the difference of two ratings, a row a rating; the shortest solution has mean 0."""
    names = sorted({r[2] for r in rows} | {r[3] for r in rows})
    design = np.array([[(a == n) - (b == n) for n in names] for _, _, a, b, _ in rows], float)
    found = np.linalg.lstsq(design, np.array([y for *_, y in rows], float), rcond=None)[0]
    return dict(zip(names, found.tolist(), strict=True))


def partial_margin_bt(rows: Sequence[Row]) -> dict[str, float]:
    """Logistic regression of (y / 3 + 1) / 2 on the difference, by a general optimizer on the rows."""
    names = sorted({r[2] for r in rows} | {r[3] for r in rows})
    place = {n: k for k, n in enumerate(names)}

    def loss(x: np.ndarray) -> float:
        total = 5e-10 * float(x @ x)
        for _, _, a, b, y in rows:
            won, p = (y / 3 + 1) / 2, logistic(x[place[a]] - x[place[b]])
            total -= won * math.log(max(p, 1e-300)) + (1 - won) * math.log(max(1 - p, 1e-300))
        return total

    found = minimize(loss, np.zeros(len(names)), method="BFGS", options={"gtol": 1e-7, "maxiter": 500}).x
    return dict(zip(names, (found - found.mean()).tolist(), strict=True))


def sandwich(rows: Sequence[Row], s: dict[str, float], t: Sequence[float]) -> np.ndarray:
    """(E, E) two-way clustered covariance of the centred strengths, by name; derivatives as difference quotients."""
    names, used = sorted(s), sorted({abs(y) for *_, y in rows})
    n = len(names)
    at = np.array([*(s[name] for name in names), *t])

    def log_p(row: Row, x: np.ndarray) -> float:
        low, high = cell_edges(row[4], used, x[n:].tolist())
        d = x[names.index(row[2])] - x[names.index(row[3])]
        return math.log(logistic(high - d) - logistic(low - d))

    def score(row: Row, x: np.ndarray) -> np.ndarray:
        steps = np.eye(len(x)) * 1e-5
        return np.array([(log_p(row, x + h) - log_p(row, x - h)) / 2e-5 for h in steps])

    def summed(x: np.ndarray) -> np.ndarray:
        return np.sum([score(row, x) for row in rows], axis=0)

    steps = np.eye(len(at)) * 1e-4
    hessian = -np.array([(summed(at + h) - summed(at - h)) / 2e-4 for h in steps])
    meat = np.zeros_like(hessian)
    for sign, cluster in ((1, lambda r: r[0]), (1, lambda r: r[1]), (-1, lambda r: r[:2])):
        sums: dict[object, np.ndarray] = {}
        for row in rows:
            sums[cluster(row)] = sums.get(cluster(row), np.zeros(len(at))) + score(row, at)
        factor = len(sums) / (len(sums) - 1)
        for u in sums.values():
            meat += sign * factor * np.outer(u, u)
    bread = np.linalg.pinv((hessian + hessian.T) / 2, rcond=1e-6, hermitian=True)
    centre = np.eye(n) - 1 / n
    return np.asarray(centre @ (bread @ meat @ bread)[:n, :n] @ centre)
