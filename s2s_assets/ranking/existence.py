"""Whether a finite maximum of the ordinal likelihood exists, exactly.

ℓ has no finite maximum when a direction (ds, dt) exists along which no term falls and some term rises for ever
(Albert & Anderson 1984, for this model). In the form of `likelihood.py` a term rises or stays when

    up:   de - dd >= 0,      down:   dd - de >= 0,      gap:   dgap >= 0,

so such directions form a cone. No test on the win/loss graph sees this: data may be separated through the thresholds
alone. A pair with ratings on both sides of an edge holds dd = de; where such equations leave only the common shift, the
maximum exists. (Where pairs with ratings on both sides of every edge connect all entities, that is so at a glance.)

Else let A be the rows of the other terms' rises, within those equations. Least squares over λ >= 0 of r = A'(1 + λ)
either reaches r = 0, a balance of all terms with positive weights, so that none can rise (Stiemke's lemma); or r itself
is a direction in which no term falls and some rise, by the conditions of the optimum. Those are set aside, and the rest
are asked again, since a large enough multiple of r makes up for whatever they ask of those set aside. Large data are
asked once, by a linear programme: maximise Σ z over 0 <= z <= 1, z <= term's rise. As the cone is closed under sums and
scaling, its optimum has z = 1 for every term that can rise in any direction.

The terms that cannot rise tie down their arguments. Entities whose strengths they tie together form a group; groups
lie an unbounded (or undetermined) distance apart. The *reference* is the largest group; where two are equally large
there is none. Levels are the smallest, in unbounded steps, that keep every rising term rising (by another programme where
there is more than one direction to choose from): entities at a higher level than the reference are above, at a lower one
below.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from s2s_assets.ranking.likelihood import Terms
from s2s_assets.ranking.problems import components
from s2s_assets.study import Bools, FitError, Floats, Ints

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_TOLERANCE = 1e-7
_ROUNDING = 1e-10
_DENSE = 200_000
"""Numbers in A above which the linear programme, which is sparse, is the faster way."""


@dataclass(frozen=True)
class Separation:
    """What is unbounded in separated data."""

    up: Bools
    """(K, P) terms that rise for ever."""
    down: Bools
    gap: Bools
    """(T,)."""
    groups: tuple[tuple[int, ...], ...]
    """Numbers of entities with bounded differences, by falling level."""
    reference: Bools
    """(E,) members of the largest group; none where two are equally large."""
    levels: Floats
    """(E,) unbounded steps above the reference (or above the middle of all, where there is none)."""
    sides: Ints
    """(E,) sign of the level."""
    bounded_thresholds: Bools
    """(T,)."""


def separation(terms: Terms) -> Separation | None:
    """What is unbounded in one data set (B = 1) whose pairs connect its entities; None where the maximum exists."""
    up, down = terms.up[..., 0] > 0, terms.down[..., 0] > 0
    if surely_none(terms, up & down):
        return None
    n_entities = terms.incidence.shape[0]
    n = n_entities + terms.layout.thresholds
    tied = rises(terms, up & down, np.zeros_like(up))
    if np.linalg.matrix_rank(tied) == n - 1:
        return None
    gap = terms.gap[:, 0] > 0
    free = np.vstack([rises(terms, up & ~down, down & ~up), _gap_rises(terms, gap)])
    rising = can_rise(free, tied)
    if not rising.any():
        return None
    return _describe(terms, rising, (up & ~down, down & ~up, gap), tied, free)


def surely_none(terms: Terms, both: Bools) -> bool:
    """Whether pairs with ratings on both sides of every edge connect all entities: dd = de for all edges of each.

    Then all de are equal; where the edges cannot move together, all are 0, and so is every dd. Quick, and enough for
    most data.
    """
    n_entities, movable = terms.incidence.shape[0], np.column_stack([terms.layout.edges, np.ones(len(both))])
    if np.linalg.matrix_rank(movable) < movable.shape[1]:
        return False
    return not components(terms.pairs[both.all(axis=0)], n_entities).any()


def rises(terms: Terms, up: Bools, down: Bools) -> Floats:
    """(terms, E + T): the rise of each marked term as a linear function of the direction; ups first."""
    rows = []
    n = terms.incidence.shape[0]
    for marked, sign in ((up, 1.0), (down, -1.0)):
        edge, pair = np.nonzero(marked)
        row = np.zeros((len(edge), n + terms.layout.thresholds))
        at = np.arange(len(edge))
        row[at, terms.pairs[pair, 0]] = -sign
        row[at, terms.pairs[pair, 1]] = sign
        row[:, n:] = sign * terms.layout.edges[edge]
        rows.append(row)
    return np.vstack(rows)


def _gap_rises(terms: Terms, gap: Bools) -> Floats:
    n = terms.incidence.shape[0]
    return np.hstack([np.zeros((int(gap.sum()), n)), terms.layout.gaps[gap]])


def can_rise(free: Floats, tied: Floats) -> Bools:
    """Which of the terms with rises `free` (rows) rise in some direction along which none falls and `tied` stays 0."""
    if free.size > _DENSE:
        return by_programme(free, tied)
    within = free @ _null_space(tied)
    within[np.abs(within) < _ROUNDING] = 0.0
    rising = np.zeros(len(free), bool)
    while not rising.all():
        left = np.flatnonzero(~rising)
        rise = _some_rise(within[left])
        if (rise < -_TOLERANCE).any():  # no optimum, whatever the solver says
            return by_programme(free, tied)
        if not rise.any():
            break
        rising[left[rise > _TOLERANCE]] = True
    return rising


def _some_rise(rows: Floats) -> Floats:
    """The rises of all rows along A'(1 + λ) at its shortest, the greatest being 1; all 0 where it is 0."""
    from scipy.optimize import nnls  # 0.1 s to import, and seldom needed

    pull = rows.sum(axis=0)
    weights = np.zeros(len(rows))  # no optimum, which the caller sees
    with suppress(RuntimeError):  # too many iterations
        found, _ = nnls(rows.T, -pull)
        if found.max() < 1 / _TOLERANCE:  # else its balance is one of rounding errors
            weights = found
    direction = pull + rows.T @ weights
    if np.abs(direction).max() < _TOLERANCE:
        return np.zeros(len(rows))
    rise = rows @ direction
    return np.asarray(rise / rise.max(), np.float64)


def by_programme(free: Floats, tied: Floats) -> Bools:
    """`can_rise` by one linear programme.

    Raises:
        FitError: the programme failed.
    """
    from scipy.optimize import linprog

    m, n = free.shape
    solved = linprog(
        np.concatenate([np.zeros(n), -np.ones(m)]),
        A_ub=hstack([csr_array(-free), eye_array(m)], format="csr"),
        b_ub=np.zeros(m),
        A_eq=np.hstack([tied, np.zeros((len(tied), m))]) if len(tied) else None,
        b_eq=np.zeros(len(tied)) if len(tied) else None,
        bounds=[(None, None)] * n + [(0, 1)] * m,
        method="highs",
    )
    return np.asarray(_solution(solved)[n:] > 0.5, bool)


def _solution(solved: "OptimizeResult") -> Floats:
    if solved.x is None:
        raise FitError(f"the linear programme of the existence test failed: {solved.message}")
    return np.asarray(solved.x, np.float64)


def _along(freedom: Floats, rising: Floats, n_entities: int) -> Floats:
    """(E,) levels in the one direction beside the common shift, in which the least rise is one step."""
    shift = freedom[:n_entities].sum(axis=0)
    direction = freedom @ np.array([-shift[1], shift[0]])
    rise = rising @ direction
    return np.asarray(direction[:n_entities] / rise[np.abs(rise).argmin()], np.float64)


def _levels(free: Floats, tied: Floats, rising: Bools, n_entities: int) -> Floats:
    """Smallest strengths' directions (E,) in which every rising term rises by at least one step."""
    from scipy.optimize import linprog

    fixed = np.vstack([tied, free[~rising]])
    n = free.shape[1]
    absolute = np.hstack([np.eye(n_entities), np.zeros((n_entities, n - n_entities)), -np.eye(n_entities)])
    mirrored = absolute * np.concatenate([-np.ones(n), np.ones(n_entities)])
    steps = np.hstack([-free[rising], np.zeros((int(rising.sum()), n_entities))])
    solved = linprog(
        np.concatenate([np.zeros(n), np.ones(n_entities)]),
        A_ub=np.vstack([absolute, mirrored, steps]),
        b_ub=np.concatenate([np.zeros(2 * n_entities), -np.ones(len(steps))]),
        A_eq=np.hstack([fixed, np.zeros((len(fixed), n_entities))]) if len(fixed) else None,
        b_eq=np.zeros(len(fixed)) if len(fixed) else None,
        bounds=[(None, None)] * n + [(0, None)] * n_entities,
        method="highs",
    )
    return _solution(solved)[:n_entities]


def _describe(terms: Terms, rising: Bools, masks: tuple[Bools, Bools, Bools], tied: Floats, free: Floats) -> Separation:
    """Sort the entities into groups and levels."""
    n_entities = terms.incidence.shape[0]
    marked = []
    at = 0
    for mask in masks:
        filled = np.zeros_like(mask)
        size = int(mask.sum())
        filled[mask] = rising[at : at + size]
        marked.append(filled)
        at += size
    freedom = _null_space(np.vstack([tied, free[~rising]]))
    group = _equal_rows(freedom[:n_entities])
    if freedom.shape[1] == 2:
        levels = _along(freedom, free[rising], n_entities)
    else:
        levels = _levels(free, tied, rising, n_entities)
    levels = levels[np.unique(group, return_index=True)[1]][group]  # equal to the last bit within a group
    sizes = np.bincount(group)
    largest = np.flatnonzero(sizes == sizes.max())
    reference = group == largest[0] if len(largest) == 1 else np.zeros(n_entities, bool)
    levels = levels - (levels[reference][0] if reference.any() else np.median(levels))
    levels = np.where(np.abs(levels) < _TOLERANCE, 0.0, levels)
    members = [tuple(np.flatnonzero(group == g).tolist()) for g in range(len(sizes))]
    return Separation(
        up=marked[0],
        down=marked[1],
        gap=marked[2],
        groups=tuple(sorted(members, key=lambda m: (-levels[m[0]], m))),
        reference=reference,
        levels=levels,
        sides=np.sign(levels).astype(np.int64),
        bounded_thresholds=np.abs(freedom[n_entities:]).max(axis=1, initial=0.0) < _TOLERANCE,
    )


def _null_space(rows: Floats) -> Floats:
    """(n, q) orthonormal directions along which no row changes."""
    if len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows).R
    _, singular, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((singular > _TOLERANCE * max(1.0, singular.max(initial=0.0))).sum())
    return right[rank:].T


def _equal_rows(rows: Floats) -> Ints:
    """Number of the first equal row, made consecutive."""
    distance = np.abs(rows[:, None, :] - rows[None, :, :]).max(axis=2, initial=0.0)
    first = np.argmax(distance < _TOLERANCE, axis=1)
    return np.unique(first, return_inverse=True)[1].astype(np.int64)
