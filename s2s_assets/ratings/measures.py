"""One row of `rater_quality`, and the answers in the form that its measures are computed from."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import polars as pl

from s2s_assets.ratings.agreement import Interval
from s2s_assets.ratings.reorder import reorder

Scope = Literal["study", "rubric", "questions", "rater", "rating"]
Effect = Literal["report", "drop"]
ALL = "all"
TASK = ("rater", "unit")
_AT_ONCE = 100_000


class Measure(NamedTuple):
    """One row of the table; `n` is what the value was computed over."""

    scope: Scope
    name: str
    measure: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    flag: str | None = None
    effect: Effect | None = None

    def within(self, interval: Interval | None) -> "Measure":
        """With its interval."""
        return self if interval is None else self._replace(low=interval.low, high=interval.high)

    def flagged(self, flag: str, effect: Effect, fires: bool) -> "Measure":
        """With the flag of a rule that fires."""
        return self._replace(flag=flag, effect=effect) if fires else self


def counting_answers(ratings: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """The answers that count, one a row, sorted by rater, unit, rubric, and then by time.

    Columns: `rating_id`, `rater`, `prompt`, `rubric`, `low` and `high` (the two configs by name), `unit` (a number for
    the pair of configs on the prompt), `signed` (the score, positive where `low` is better), `screen` (positive where
    the second heard is; null where it is unknown which that was), `first_low` (whether `low` was heard first),
    `repeat` (0, or how many answers the rater gave before on the same unit and rubric), `towards_a` (the score as it is
    stored, positive where `response_a` is better), and of the ratings' optional columns `pair`, `elapsed_ms`,
    `heard_s`, `response_a`, `response_b`, null where they are missing.

    Names are enumerated in their order (`pl.Enum`), those of configs and of responses together: of millions of answers
    the names would take most of the memory. `named_alike` brings another frame's names to the same form.
    """
    ratings = ratings.lazy()
    columns = {**_enumerated(ratings), **_numbers(ratings)}
    rows = int(ratings.select(pl.len()).collect().item())
    # so that whole columns of text are never in memory together
    slices = (ratings.slice(start, _AT_ONCE) for start in range(0, max(rows, 1), _AT_ONCE))
    answers = pl.concat([_counting(some, columns).collect() for some in slices]).with_columns(unit=_unit())
    keys = ("rater", "unit", "rubric", "submitted_at", "rating_id")
    order = answers.select(pl.arg_sort_by(*keys, nulls_last=True)).to_series()
    answers.drop_in_place("submitted_at")
    reorder(answers, order)
    # told of the order, sums by rater keep it: the same answers give the same bits
    answers = answers.with_columns(pl.col("rater").set_sorted())
    return answers.with_columns(repeat=_repeat("rater", "unit", "rubric"))


def _counting(ratings: pl.LazyFrame, columns: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Of some ratings those that count, in the columns that each row gives by itself."""
    turned, known = pl.col("low") != pl.col("config_a"), pl.col("first").is_in(["a", "b"])
    screen = pl.when(pl.col("first") == "a").then(-pl.col("score")).when(pl.col("first") == "b").then("score")
    return (
        ratings.filter(pl.col("excluded_by").is_null())
        .select("rating_id", "score", "first", "submitted_at", **columns)
        .with_columns(low=pl.min_horizontal("config_a", "config_b"), high=pl.max_horizontal("config_a", "config_b"))
        .with_columns(
            signed=pl.when(turned).then(-pl.col("score")).otherwise("score").cast(pl.Int64),
            screen=screen,
            first_low=pl.when(known).then((pl.col("first") == "a") != turned),
            towards_a=pl.col("score").cast(pl.Int64),
        )
        .drop("score", "first", "config_a", "config_b")
    )


def named_alike(frame: pl.DataFrame, answers: pl.DataFrame, **columns: str) -> pl.DataFrame:
    """A frame with columns of names (by keyword) enumerated as columns of `answers`; a name that these lack is null."""
    return frame.with_columns(pl.col(c).cast(answers.schema[of], strict=False) for c, of in columns.items())


def _enumerated(ratings: pl.LazyFrame) -> dict[str, pl.Expr]:
    """The columns of names."""
    together = (("rater",), ("prompt",), ("rubric",), ("config_a", "config_b"), ("pair",), ("response_a", "response_b"))
    there = set(ratings.collect_schema().names())
    found: dict[str, pl.Expr] = {}
    for names in together:
        if there.issuperset(names):
            of_all = pl.concat([ratings.select(pl.col(name).cast(pl.String).alias("name").unique()) for name in names])
            known = of_all.unique().drop_nulls().sort("name").collect(engine="streaming")
            found |= {name: pl.col(name).cast(pl.Enum(known["name"])) for name in names}
        else:
            found |= {name: pl.lit(None, pl.String) for name in names}
    return found


def _numbers(ratings: pl.LazyFrame) -> dict[str, pl.Expr]:
    there, kinds = set(ratings.collect_schema().names()), {"elapsed_ms": pl.Int64, "heard_s": pl.Float64}
    return {name: pl.col(name) if name in there else pl.lit(None, kind) for name, kind in kinds.items()}


def _repeat(*names: str) -> pl.Expr:
    """How many rows before have the same names, where the rows are sorted by them."""
    row = pl.int_range(pl.len())
    fresh = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in names)
    return row - pl.when(fresh).then(row).forward_fill()


def _unit() -> pl.Expr:
    """Numbers of the pairs of configs on the prompts, from 0, in the order of their names."""
    prompt, low, high = (pl.col(name).to_physical().cast(pl.Int64) for name in ("prompt", "low", "high"))
    configs = pl.max_horizontal(low.max(), high.max()) + 1
    return ((prompt * configs + low) * configs + high).rank("dense").cast(pl.Int64) - 1


def number(value: Any) -> float | None:
    """A value as a float, None where it is missing or no number."""
    return None if value is None or value != value else float(value)
