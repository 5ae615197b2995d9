"""Ratings as counts of (pair, score) between entities: all that any of the engines needs to know.

Strengths depend on ratings only through C[score, pair], the number of ratings of a pair with a score. Fits on other
entities than configs are sums of the same cells: configs that share a model fall together, and a pair within one entity
is left out and counted. Entities that no ratings connect are problems of their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from s2s_assets.ranking.coding import Numbers, Signs
from s2s_assets.ranking.planes import SCORES, mirrored
from s2s_assets.ranking.selection import Selection, part
from s2s_assets.study import Bools, Floats, Ints


@dataclass(frozen=True)
class Rows:
    """The ratings of a problem, one by one."""

    rater: Numbers
    """(rows,) numbers of raters."""
    prompt: Numbers
    cell: Numbers
    """(rows,) plane · P + pair."""
    find_side: Callable[[], Signs]
    """Makes `side`, which few ask for."""

    @cached_property
    def side(self) -> Signs:
        """(rows,) +1 where the pair's first entity was on the left, -1 where its second was, 0 unknown."""
        return self.find_side()


@dataclass(frozen=True)
class Problem:
    """Connected entities with the counts of their pairs: what is fitted as one."""

    entities: tuple[str, ...]
    pairs: Ints
    """(P, 2) numbers of entities, the smaller first."""
    counts: Floats
    """(strata · 7, P) ratings by plane and pair."""
    target: Ints
    """(cells of the selection,) the cell of this problem that each is part of, -1 for none."""
    find_rows: Callable[[], Rows]
    """Makes `rows`: the fit itself needs the counts alone."""

    @cached_property
    def rows(self) -> Rows:
        """The ratings."""
        return self.find_rows()

    # in 64 bits, for whoever makes one number of a rater, a prompt and a cell
    @property
    def rater(self) -> Ints:
        """(rows,) numbers of raters."""
        return self.rows.rater.astype(np.int64)

    @property
    def prompt(self) -> Ints:
        """(rows,) numbers of prompts."""
        return self.rows.prompt.astype(np.int64)

    @property
    def cell(self) -> Ints:
        """(rows,) plane · P + pair."""
        return self.rows.cell.astype(np.int64)

    @cached_property
    def incidence(self) -> csc_array:
        """(entities, P): +1 where an entity is a pair's first, -1 where it is the second."""
        n_pairs = len(self.pairs)
        ends = np.arange(n_pairs + 1) * 2
        return csc_array((np.tile([1.0, -1.0], n_pairs), self.pairs.ravel(), ends), shape=(len(self.entities), n_pairs))

    def folded(self, counts: Floats) -> Floats:
        """A selection's counts (cells, B) as this problem's (planes, P, B)."""
        own = counts if self._fold is None else self._fold @ counts
        return own.reshape(*self.counts.shape, counts.shape[1])

    @cached_property
    def _fold(self) -> csr_array | None:
        """(planes · P, cells of the selection) with ones; None where the cells are the same."""
        if np.array_equal(self.target, np.arange(self.counts.size)):
            return None
        source = np.flatnonzero(self.target >= 0)
        ones, shape = np.ones(len(source)), (self.counts.size, len(self.target))
        return csr_array(coo_array((ones, (self.target[source], source)), shape=shape))


def problems(selection: Selection, labels: Sequence[str]) -> tuple[tuple[Problem, ...], int]:
    """One problem a connected component, and the number of ratings left out because both sides are one entity.

    Args:
        selection: rows on pairs of configs.
        labels: the entity of each config, by the config's number.

    Returns:
        Problems by the name of their first entity.
    """
    names = sorted({labels[c] for c in selection.rated})
    number = {name: k for k, name in enumerate(names)}
    code = np.array([number.get(label, -1) for label in labels], np.int64)
    ends = code[selection.pairs]
    between = ends[:, 0] != ends[:, 1]
    component = components(ends, len(names))
    found = [
        _problem(selection, names, ends, between & (component[ends[:, 0]] == c))
        for c in dict.fromkeys(component[np.unique(ends[between])].tolist())
    ]
    n_within = int(selection.counts.reshape(selection.strata * SCORES, len(ends))[:, ~between].sum())
    return tuple(found), n_within


def components(edges: Ints, n: int) -> Ints:
    """(n,) the least node of each node's component, in the graph of the edges (P, 2)."""
    least = np.arange(n)
    while True:
        lower = least[edges].min(axis=1)
        found = least.copy()
        np.minimum.at(found, least[edges[:, 0]], lower)
        np.minimum.at(found, least[edges[:, 1]], lower)
        found = found[found][least]
        if (found == least).all():
            return least
        least = found


def _problem(selection: Selection, names: list[str], ends: Ints, taken: Bools) -> Problem:
    """The problem of the pairs taken, `ends` being the entities of each pair of configs."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    present, pair = np.unique(low[taken] * len(names) + high[taken], return_inverse=True)
    members, pairs = np.unique(np.column_stack([present // len(names), present % len(names)]), return_inverse=True)
    planes = selection.strata * SCORES
    cells = np.full((planes, len(ends)), -1)
    flipped = ends[:, 0] > ends[:, 1]
    cells[:, taken] = (
        np.where(flipped[taken], mirrored(planes)[:, None], np.arange(planes)[:, None]) * len(present) + pair
    )
    target = cells.ravel()
    own = target >= 0
    size = planes * len(present)
    counts = np.bincount(target[own], selection.counts[own], minlength=size)
    return Problem(
        entities=tuple(names[m] for m in members),
        pairs=pairs.reshape(-1, 2),
        counts=np.asarray(counts, np.float64).reshape(planes, len(present)),
        target=target,
        find_rows=lambda: _rows(selection, target, flipped),
    )


def _rows(selection: Selection, target: Ints, flipped: Bools) -> Rows:
    """The rows whose cell has a target; the pairs marked are turned round."""
    cell = target.astype(np.int32).take(selection.cell)
    kept = None if (cell >= 0).all() else np.flatnonzero(cell >= 0)

    def side() -> Signs:
        turned = np.tile(np.where(flipped, -1, 1).astype(np.int8), len(target) // len(flipped))  # by cell
        return part(selection.side * turned.take(selection.cell), kept)

    return Rows(part(selection.rater, kept), part(selection.prompt, kept), part(cell, kept), side)
