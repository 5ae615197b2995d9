"""Ratings as counts of (pair, score): all that any of the engines needs to know.

Strengths depend on ratings only through C[score, pair], the number of ratings of a pair with a score, where a pair is
(i, j) with i < j and the score is turned so that > 0 means i is better. Fits on other entities than configs are sums of
the same cells: configs that share a model fall together, and a pair within one entity is left out and counted.

A *plane* is one score of one stratum: plane 7·r + (score + 3) of stratum r. Strata are rubrics with thresholds of their
own that share strengths; an ordinary board has one. A *cell* is plane · P + pair, P being the number of pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import coo_array, csc_array, csr_array

from s2s_assets.ranking.coding import CodedRatings, Numbers, Signs
from s2s_assets.ranking.spec import CLEANED_BY, FitSpec
from s2s_assets.study import Bools, By, ConfigKey, ConfigKeyError, Floats, InputError, Ints

Places = npt.NDArray[np.intp]
_Kind = TypeVar("_Kind", np.int64, np.int32, np.int8)

SCORES = 7
"""Scores -3..+3, columns 0..6."""
_TABLE = 2**23
"""Numbers in a table of all scores of all pairs of configs, above which the pairs that occur are searched for."""


@dataclass(frozen=True)
class Selection:
    """The rows of one board on pairs of configs."""

    coded: CodedRatings
    taken: Places | None
    """(rows,) places of its rows among the ratings; None: all are."""
    pairs: Ints
    """(P, 2) numbers of configs, the smaller first."""
    strata: int
    counts: Floats
    """(cells,) ratings."""
    cell_of: Callable[[], Numbers]
    """Makes `cell`: a fit needs the counts alone."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.strata * SCORES * len(self.pairs)

    @cached_property
    def rated(self) -> Ints:
        """Numbers of the configs in any pair, ascending."""
        return np.flatnonzero(np.bincount(self.pairs.ravel()))

    @cached_property
    def cell(self) -> Numbers:
        """(rows,) plane · P + pair."""
        return self.cell_of()

    @cached_property
    def rater(self) -> Numbers:
        """(rows,) numbers of raters."""
        return _part(self.coded.rater, self.taken)

    @cached_property
    def prompt(self) -> Numbers:
        """(rows,) numbers of prompts."""
        return _part(self.coded.prompt, self.taken)

    @cached_property
    def side(self) -> Signs:
        """(rows,) +1 where the pair's first config was on the left, -1 where its second was, 0 unknown (`sides.py`)."""
        return _part(self.coded.side, self.taken)


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


def select(coded: CodedRatings, spec: FitSpec) -> Selection:
    """The rows that a board is made of, sign-folded; a slice's attribute must be a column of the ratings."""
    ratings = coded.ratings
    taken = reduce(or_, (_equal(ratings["rubric"], rubric) for rubric in spec.rubrics))
    if spec.slice_dimension != "all":
        taken = taken & _equal(ratings[spec.slice_dimension], spec.slice_value)
    if spec.variant == "cleaned":
        dropped = np.array([name in coded.dropped for name in coded.raters], bool)
        taken = taken & ~pl.Series(dropped[coded.rater])
        if CLEANED_BY in ratings.columns:
            taken = taken & ratings[CLEANED_BY].is_null()
    elif spec.variant == "baseline" and "source" in ratings.columns:
        taken = taken & ~_equal(ratings["source"], "adaptive")
    return _fold_signs(coded, None if taken.all() else np.flatnonzero(taken.to_numpy()), spec.rubrics)


def _equal(column: pl.Series, value: str) -> pl.Series:
    """(rows,) whether a column has the value; a missing one is no value."""
    if column.dtype == pl.Null:
        return pl.Series(np.zeros(len(column), bool))
    same = column == value
    return same.fill_null(value=False) if same.null_count() else same


def _part(values: npt.NDArray[_Kind], taken: Places | None) -> npt.NDArray[_Kind]:
    return values if taken is None else values.take(taken)


def _fold_signs(coded: CodedRatings, taken: Places | None, rubrics: Sequence[str]) -> Selection:
    n, strata = len(coded.configs), len(rubrics)
    size = strata * n * n * SCORES
    key: Numbers | Ints = _part(coded.a, taken) * (np.int32(n * SCORES) if size < 2**31 else np.int64(n * SCORES))
    if strata > 1:
        numbers = range(0, size, max(n * n * SCORES, 1))
        of_rubric = coded.ratings["rubric"].replace_strict(list(rubrics), numbers, default=0, return_dtype=pl.Int64)
        key += _part(of_rubric.to_numpy(), taken).astype(key.dtype)
    key += _part(coded.b, taken) * np.int32(SCORES)
    key += _part(coded.score, taken) + np.int8(SCORES // 2)
    present, ratings = _tally(key, size)
    stratum, a, b, column = np.unravel_index(present, (strata, n, n, SCORES))
    rated = np.zeros((n, n), bool)
    rated[np.minimum(a, b), np.maximum(a, b)] = True
    pairs = np.argwhere(rated)
    number = np.zeros((n, n), np.int32)
    number[tuple(pairs.T)] = number[tuple(pairs.T[::-1])] = np.arange(len(pairs))
    cell = (stratum * SCORES + np.where(a < b, column, SCORES - 1 - column)) * len(pairs) + number[a, b]
    weights = ratings.astype(np.float64)
    counts = np.asarray(np.bincount(cell, weights, minlength=strata * SCORES * len(pairs)), np.float64)
    return Selection(coded, taken, pairs, strata, counts, lambda: _look_up(key, present, cell.astype(np.int32)))


def _tally(key: Numbers | Ints, size: int) -> tuple[Ints, Ints]:
    """The keys below `size` that occur, ascending, and how often."""
    if size > _TABLE:
        present, ratings = np.unique(key, return_counts=True)
        return present.astype(np.int64), ratings
    ratings = np.bincount(key, minlength=size)
    present = np.flatnonzero(ratings)
    return present, ratings[present]


def _look_up(key: Numbers | Ints, present: Ints, values: Numbers) -> Numbers:
    """For each key the value of the same place as among the keys present."""
    size = int(present.max(initial=0)) + 1
    if size > _TABLE:
        return values[np.searchsorted(present, key)]
    table = np.zeros(size, np.int32)
    table[present] = values
    return table[key]


def entity_of(config: str, by: By, families: Mapping[str, str]) -> str:
    """What a config counts as on a board.

    Raises:
        ConfigKeyError: the board pools configs, and this one is no config key.
        InputError: the board is by family, and the model has none.
    """
    if by == "config":
        return config
    try:
        key = ConfigKey.parse(config)
    except ConfigKeyError as error:
        raise ConfigKeyError(f"{error}; only a board by config takes other names") from error
    if by == "family":
        if key.model not in families:
            raise InputError(f"model {key.model!r} has no family: add it to the families file or to the study")
        return families[key.model]
    return {"model": key.model, "voice": f"{key.model}|{key.voice}", "thinking": f"{key.model}|{key.thinking}"}[by]


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
    plane = np.arange(planes)[:, None]
    mirrored = plane // SCORES * SCORES + SCORES - 1 - plane % SCORES
    cells = np.full((planes, len(ends)), -1)
    flipped = ends[:, 0] > ends[:, 1]
    cells[:, taken] = np.where(flipped[taken], mirrored, plane) * len(present) + pair
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
        return _part(selection.side * turned.take(selection.cell), kept)

    return Rows(_part(selection.rater, kept), _part(selection.prompt, kept), _part(cell, kept), side)
