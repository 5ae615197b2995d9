"""Ratings with names as numbers: raters, prompts and configs are sorted by name.

Strengths need the configs alone. Raters and prompts are numbered when something asks for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from s2s_assets.study import InputError

Numbers = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]
Codes = npt.NDArray[np.intp]

_HASH_BITS = 14
"""Of a name's hash: enough to tell a few dozen names apart, in a third of the time that categories take."""
_FIRST_ROWS = 4096
"""Rows in which all names are looked for at first."""
_CODED = (pl.String, pl.Categorical, pl.Enum)
_NAMES = ("rater", "prompt", "config_a", "config_b")


@dataclass(frozen=True)
class CodedRatings:
    """Counting ratings; arrays have one entry a rating."""

    ratings: pl.DataFrame
    """The ratings that count, with the attributes a board may select by."""
    configs: tuple[str, ...]
    a: Numbers
    """Numbers of configs."""
    b: Numbers
    score: Signs
    """-3 to 3, > 0 where `a` is better."""
    dropped: frozenset[str]
    """Raters left out of the `cleaned` variant."""

    @cached_property
    def _raters(self) -> tuple[tuple[str, ...], Numbers]:
        names, (rater,) = _numbered(self.ratings["rater"])
        return names, rater

    @cached_property
    def _prompts(self) -> tuple[tuple[str, ...], Numbers]:
        names, (prompt,) = _numbered(self.ratings["prompt"])
        return names, prompt

    @property
    def raters(self) -> tuple[str, ...]:
        """Names, sorted."""
        return self._raters[0]

    @property
    def prompts(self) -> tuple[str, ...]:
        """Names, sorted."""
        return self._prompts[0]

    @property
    def rater(self) -> Numbers:
        """Numbers of raters."""
        return self._raters[1]

    @property
    def prompt(self) -> Numbers:
        """Numbers of prompts."""
        return self._prompts[1]

    @property
    def heard(self) -> bool:
        """Whether it is known which answer was heard first."""
        return "first" in self.ratings.columns and self.ratings["first"].null_count() < self.ratings.height

    @cached_property
    def left(self) -> Signs:
        """1 where `a` was heard first, -1 where `b` was, 0 where that is unknown (1 throughout where it always is)."""
        if not self.heard:
            return np.ones(self.ratings.height, np.int8)
        first = self.ratings["first"]
        return first.replace_strict({"a": 1, "b": -1}, default=0, return_dtype=pl.Int8).to_numpy()

    @cached_property
    def side(self) -> Signs:
        """1 where that of `a` and `b` which comes first by name was heard first, -1 where the other was, 0 unknown."""
        return np.where(self.a > self.b, -self.left, self.left)


def code_ratings(ratings: pl.DataFrame, dropped_raters: frozenset[str] = frozenset()) -> CodedRatings:
    """Number the names of a `ratings` table; answers that carry an exclusion do not count.

    Raises:
        InputError: a missing name, a score that is no integer from -3 to 3, or a config paired with itself.
    """
    if "excluded_by" in ratings.columns and ratings["excluded_by"].null_count() < ratings.height:
        ratings = ratings.filter(pl.col("excluded_by").is_null())
    score = ratings["score"]
    if not score.dtype.is_integer():
        score = score.cast(pl.Float64)
    if any(ratings[name].null_count() for name in _NAMES) or not _are_scores(score):
        raise _first_wrong(ratings)
    configs, (a, b) = _numbered(ratings["config_a"], ratings["config_b"])
    if (a == b).any():
        raise _first_wrong(ratings)
    return CodedRatings(ratings, configs, a, b, score.cast(pl.Int8).to_numpy(), dropped_raters)


def _are_scores(score: pl.Series) -> bool:
    if score.null_count():
        return False
    values = score.to_numpy()
    whole = score.dtype.is_integer() or bool((values == np.rint(values)).all())  # NaN is not equal to itself
    return whole and -3 <= values.min(initial=0) <= values.max(initial=0) <= 3


def _first_wrong(ratings: pl.DataFrame) -> InputError:
    ratings = ratings.with_columns(pl.col(*_NAMES).cast(pl.String), pl.col("score").cast(pl.Float64))
    wrong = ratings.filter(
        pl.any_horizontal(pl.col(*_NAMES, "score").is_null())
        | ~pl.col("score").is_between(-3, 3)
        | (pl.col("score") != pl.col("score").round())
        | (pl.col("config_a") == pl.col("config_b"))
    )
    first = wrong.row(0, named=True)
    return InputError(
        f"rating of {first['config_a']!r} against {first['config_b']!r} on prompt {first['prompt']!r} by "
        f"{first['rater']!r}, score {first['score']}: expected a rater, a prompt, two configs and an integer from "
        "-3 to 3"
    )


def _numbered(*columns: pl.Series) -> tuple[tuple[str, ...], list[Numbers]]:
    """The names in columns without nulls, sorted, and for each column the numbers of its names."""
    known = [column if column.dtype in _CODED else column.cast(pl.String) for column in columns]
    found = _by_hash(known) if all(column.dtype == pl.String for column in known) else None
    return found or _by_category(
        [column.cast(pl.Categorical) if column.dtype == pl.String else column for column in known]
    )


def _by_hash(columns: Sequence[pl.Series]) -> tuple[tuple[str, ...], list[Numbers]] | None:
    """Numbers by some bits of each name's hash; None where two names share them, or where so many are likely to."""
    hashes = [column.to_frame().hash_rows().to_numpy() for column in columns]
    coded = [(found >> np.uint64(64 - _HASH_BITS)).view(np.intp) for found in hashes]
    for rows in (_FIRST_ROWS, None):
        name_of: dict[int, str] = {}
        for codes, column in zip(coded, columns, strict=True):
            name_of |= _names_of(codes[:rows], column[:rows])
        names = tuple(sorted(set(name_of.values())))
        place = {name: k for k, name in enumerate(names)}
        number = np.full(2**_HASH_BITS, -1, np.int32)
        number[list(name_of)] = [place[name] for name in name_of.values()]
        numbers = [number.take(codes) for codes in coded]
        if len(names) ** 2 > len(number) or all(own.min(initial=0) >= 0 for own in numbers):
            break
    if not 0 < len(names) ** 2 <= len(number):
        return None
    right = (pl.Series(names)[own].equals(column) for own, column in zip(numbers, columns, strict=True))
    return (names, numbers) if all(right) else None


def _by_category(columns: Sequence[pl.Series]) -> tuple[tuple[str, ...], list[Numbers]]:
    """Numbers by the categories of each column."""
    coded = [column.to_physical().to_numpy().astype(np.intp) for column in columns]
    names_of = [_names_of(codes, column) for codes, column in zip(coded, columns, strict=True)]
    names = tuple(sorted({name for found in names_of for name in found.values()}))
    place = {name: k for k, name in enumerate(names)}
    numbers = []
    for codes, found in zip(coded, names_of, strict=True):
        number = np.zeros(max(found, default=0) + 1, np.int32)
        number[list(found)] = [place[name] for name in found.values()]
        numbers.append(number.take(codes))
    return names, numbers


def _names_of(codes: Codes, column: pl.Series) -> dict[int, str]:
    """Each code's name, from some row that has it."""
    row = np.full(int(codes.max(initial=0)) + 1, -1)
    row[codes] = np.arange(len(codes))
    present = np.flatnonzero(row >= 0)
    return dict(zip(present.tolist(), column[row[present]].cast(pl.String).to_list(), strict=True))
