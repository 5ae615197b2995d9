"""One row of `rater_quality`, and the answers in the form that its measures are computed from."""

from typing import Any, Literal, NamedTuple

import polars as pl

from s2s_assets.ratings.agreement import Interval

Scope = Literal["study", "rubric", "questions", "rater", "rating"]
Effect = Literal["report", "drop"]
ALL = "all"
TASK = ("rater", "unit")


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


def counting_answers(ratings: pl.DataFrame) -> pl.DataFrame:
    """The answers that count, one a row, sorted by rater, unit, rubric, and then by time.

    Columns: `rating_id`, `rater`, `prompt`, `rubric`, `low` and `high` (the two configs by name), `unit` (a number for
    the pair of configs on the prompt), `signed` (the score, positive where `low` is better), `screen` (positive where
    the second heard is; null where it is unknown which that was), `first_low` (whether `low` was heard first),
    `repeat` (0, or how many answers the rater gave before on the same unit and rubric), `towards_a` (the score as it is
    stored, positive where `response_a` is better), and of the ratings' optional columns `pair`, `elapsed_ms`,
    `heard_s`, `response_a`, `response_b`, null where they are missing.
    """
    counted = ratings.filter(pl.col("excluded_by").is_null())
    turned = pl.col("config_a") > pl.col("config_b")
    known = pl.col("first").is_in(["a", "b"])
    optional = {"pair": pl.String, "elapsed_ms": pl.Int64, "heard_s": pl.Float64}
    optional |= {"response_a": pl.String, "response_b": pl.String}
    names = {name: pl.col(name) if name in counted.columns else pl.lit(None, kind) for name, kind in optional.items()}
    answers = counted.select(
        "rating_id",
        "rater",
        "prompt",
        "rubric",
        pl.min_horizontal("config_a", "config_b").alias("low"),
        pl.max_horizontal("config_a", "config_b").alias("high"),
        pl.when(turned).then(-pl.col("score")).otherwise("score").cast(pl.Int64).alias("signed"),
        pl.when(pl.col("first") == "a")
        .then(-pl.col("score"))
        .when(pl.col("first") == "b")
        .then("score")
        .alias("screen"),
        pl.when(known).then((pl.col("first") == "a") != turned).alias("first_low"),
        pl.col("score").cast(pl.Int64).alias("towards_a"),
        "submitted_at",
        **names,
    )
    answers = answers.with_columns(pl.struct("prompt", "low", "high").rank("dense").cast(pl.Int64).alias("unit") - 1)
    answers = answers.sort("rater", "unit", "rubric", "submitted_at", "rating_id", nulls_last=True)
    return answers.with_columns(repeat=pl.int_range(pl.len()).over("rater", "unit", "rubric")).drop("submitted_at")


def number(value: Any) -> float | None:
    """A value as a float, None where it is missing or no number."""
    return None if value is None or value != value else float(value)
