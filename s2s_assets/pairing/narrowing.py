"""Which entities to compare once more, so that the widest intervals become narrower: a greedy optimal design.

Let V be the covariance of the entities' strengths as the intervals have it, and w_ij what a vote on i against j is
expected to tell about s_i - s_j (its information). A pair of i and j that k people rate adds k · w_ij · xx' to the
information V⁻¹, with x = e_i - e_j, so that (Sherman & Morrison 1950)

    V' = V - Vx (Vx)' / (1 / (k · w_ij) + x'Vx),   v_e' = v_e - (V_ei - V_ej)² / (1 / (k · w_ij) + v_i + v_j - 2V_ij)

where v_e = V_ee. An interval's width goes with √v_e. What is made small is

    Φ(V) = (Σ_e v_e^p)^(1/p),   p = 8,

over the entities that can still be asked about: of p-th powers, a wide one that cannot would leave nothing but rounding of
the others. Φ is a smooth stand-in for the largest variance, which it exceeds by a factor of E^(1/8) at most (1.45 for 19
entities, 1.2 in width): where several intervals are equally wide, narrowing one of them counts, though the largest stays
(Kiefer's Φ_p criterion, 1974, on the variances). Pairs are chosen one by one, each the one with the least Φ(V') given those
before it (sequential design: Wynn 1970, Fedorov 1972); a pair of entities is chosen no more often than it can be asked. Ties
fall by the order that a generator draws.

Assumed are strengths and thresholds as the fit has them, and votes that add up. V may be centred on any entities: x sums
to 0, so V' is centred on the same.
"""

from dataclasses import dataclass

import numpy as np

from s2s_assets.study import Floats, InputError, Ints

POWER = 8
_SAME = 1e-12
"""Share of Φ^p within which two choices are equally good."""


@dataclass(frozen=True)
class Narrowing:
    """Pairs of entities in the order chosen, and the covariance that is expected after them."""

    ends: Ints
    """(n, 2) numbers of the entities, the lower one first."""
    covariance: Floats
    """(E, E)."""


def narrow(
    covariance: Floats, information: Floats, capacity: Ints, *, votes: int, pairs: int, rng: np.random.Generator
) -> Narrowing:
    """Choose pairs of entities.

    Args:
        covariance: (E, E) of the strengths, logits²; symmetric, variances >= 0.
        information: (E, E) of one vote about each difference, logits⁻²; symmetric, >= 0.
        capacity: (E, E) symmetric: how often each two can be asked.
        votes: ratings asked of a pair, at least 1.
        pairs: how many are wanted; fewer are chosen where nothing more can be asked or would tell anything.
        rng: how ties fall.

    Raises:
        InputError: shapes that do not agree, a value that is not finite, or one below what it can be.
    """
    _check(covariance, information, capacity, votes, pairs)
    i, j = np.nonzero(np.triu(np.minimum(capacity, information > 0), 1))
    left, precision = capacity[i, j].copy(), votes * information[i, j]
    luck, v, chosen = rng.permutation(len(i)), covariance.copy(), []
    for _ in range(pairs):
        counted = np.union1d(i[left > 0], j[left > 0])
        if not counted.size:
            break
        best = _best(_after(v, i, j, precision, counted), left, luck)
        if best is None:
            break
        along = v[:, i[best]] - v[:, j[best]]
        v -= np.outer(along, along) / (1 / precision[best] + along[i[best]] - along[j[best]])
        left[best] -= 1
        chosen.append((i[best], j[best]))
    return Narrowing(np.array(chosen, np.int64).reshape(-1, 2), v)


def _after(v: Floats, i: Ints, j: Ints, precision: Floats, counted: Ints) -> Floats:
    """(C,) Φ^p over some entities after each candidate, as a share of Φ^p now; 1 where all is known."""
    now = np.diag(v)[counted]
    largest = now.max(initial=0.0)
    if largest <= 0:
        return np.ones(len(i))
    along = v[:, i] - v[:, j]
    columns = np.arange(len(i))
    left = now[:, None] - along[counted] ** 2 / (1 / precision + along[i, columns] - along[j, columns])
    powered: Floats = ((left / largest) ** POWER).sum(axis=0) / ((now / largest) ** POWER).sum()
    return powered


def _best(after: Floats, left: Ints, luck: Ints) -> int | None:
    """The candidate that can be asked and leaves least; None where none is better than nothing."""
    open_to = np.where(left > 0, after, np.inf)
    least = open_to.min()
    if least >= 1:
        return None
    ties = np.flatnonzero(open_to <= least + _SAME)
    return int(ties[np.argmin(luck[ties])])


def _check(covariance: Floats, information: Floats, capacity: Ints, votes: int, pairs: int) -> None:
    size = len(covariance)
    if any(each.shape != (size, size) for each in (covariance, information, capacity)):
        shapes = ", ".join(str(each.shape) for each in (covariance, information, capacity))
        raise InputError(f"covariance, information and capacity are {shapes}; expected one square shape")
    if not (np.isfinite(covariance).all() and np.isfinite(information).all()):
        raise InputError("covariance and information: expected finite numbers")
    if np.diag(covariance).min(initial=0) < 0 or information.min(initial=0) < 0:
        raise InputError("covariance and information: expected variances and informations of 0 or more")
    if votes < 1 or pairs < 0:
        raise InputError(f"{votes} votes a pair and {pairs} pairs; expected at least 1 and 0")
