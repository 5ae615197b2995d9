"""The ratings of one board, counted on pairs of configs.

A pair is (i, j) with i < j, and a score is turned so that > 0 means i is better. Boards of one rubric, slice and variant
are made of one selection, whatever they rank: it is pooled by entity afterwards (`problems.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from s2s_assets.ranking.coding import CodedRatings, Numbers, Signs
from s2s_assets.ranking.planes import SCORES
from s2s_assets.ranking.spec import CLEANED_BY, FitSpec
from s2s_assets.study import Floats, Ints

Places = npt.NDArray[np.intp]
_Kind = TypeVar("_Kind", np.int64, np.int32, np.int8)

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
        return part(self.coded.rater, self.taken)

    @cached_property
    def prompt(self) -> Numbers:
        """(rows,) numbers of prompts."""
        return part(self.coded.prompt, self.taken)

    @cached_property
    def side(self) -> Signs:
        """(rows,) +1 where the pair's first config was on the left, -1 where its second was, 0 unknown (`sides.py`)."""
        return part(self.coded.side, self.taken)


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


def part(values: npt.NDArray[_Kind], taken: Places | None) -> npt.NDArray[_Kind]:
    """The values at these places; None: all of them."""
    return values if taken is None else values.take(taken)


def _fold_signs(coded: CodedRatings, taken: Places | None, rubrics: Sequence[str]) -> Selection:
    """Counts of the rows as they are, then turned: what occurs is a thousandth of what there is."""
    n, strata = len(coded.configs), len(rubrics)
    key = _keys(coded, taken, rubrics)
    present, ratings = _tally(key, strata * n * n * SCORES)
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


def _keys(coded: CodedRatings, taken: Places | None, rubrics: Sequence[str]) -> Numbers | Ints:
    """(rows,) one number for (stratum, config a, config b, score), in 32 bits where that suffices."""
    n, strata = len(coded.configs), len(rubrics)
    size = strata * n * n * SCORES
    key: Numbers | Ints = part(coded.a, taken) * (np.int32(n * SCORES) if size < 2**31 else np.int64(n * SCORES))
    if strata > 1:
        numbers = range(0, size, max(n * n * SCORES, 1))
        of_rubric = coded.ratings["rubric"].replace_strict(list(rubrics), numbers, default=0, return_dtype=pl.Int64)
        key += part(of_rubric.to_numpy(), taken).astype(key.dtype)
    key += part(coded.b, taken) * np.int32(SCORES)
    key += part(coded.score, taken) + np.int8(SCORES // 2)
    return key


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
