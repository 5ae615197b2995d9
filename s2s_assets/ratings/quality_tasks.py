"""Single answers that `rater_quality` drops: their task was answered before it can have been heard.

`HEARD` has one row a task with what its rater's browser told of the clips. A task without such a row, or without times,
is not judged by them. `heard_s` of the ratings is the length of prompt and both responses.
"""

from collections.abc import Iterator

import polars as pl

from s2s_assets.ratings.measures import Measure, named_alike
from s2s_assets.study import Cleaning

HEARD = pl.Schema({"rater": pl.String(), "pair": pl.String(), "coverage": pl.Float64(), "rate": pl.Float64()})
"""`coverage`: the smallest share of a clip that was played; `rate`: the fastest speed that was seen."""


def task_measures(answers: pl.DataFrame, heard: pl.DataFrame, rules: Cleaning) -> Iterator[Measure]:
    """A row for each answer that is dropped, by rule, and the share of too fast tasks of each rater with times."""
    timed = _timed(answers, rules)
    too_fast = timed.filter(pl.col("share") < 1.0)
    yield from _dropped(too_fast, "elapsed_share", "share", "too_fast")
    by_rater = timed.unique(["rater", "pair"]).group_by("rater").agg((pl.col("share") < 1.0).mean(), pl.len())
    for rater, share, n in by_rater.sort("rater").iter_rows():
        yield Measure("rater", rater, "too_fast_share", share, n)
    played = answers.join(named_alike(heard, answers, rater="rater", pair="pair"), on=["rater", "pair"])
    yield from _dropped(played.filter(pl.col("coverage") < rules.min_coverage), "coverage", "coverage", "not_heard")
    yield from _dropped(played.filter(pl.col("rate") != 1.0), "rate", "rate", "rate_tampered")


def _timed(answers: pl.DataFrame, rules: Cleaning) -> pl.DataFrame:
    """Answers whose task has a time and a length, with the `share` of the least time that it can take."""
    questions = pl.len().over("rater", "pair")
    needed_s = rules.min_heard_share * pl.col("heard_s") + rules.question_s * questions
    known = answers.filter(pl.col("pair").is_not_null()).with_columns(needed_s=needed_s)
    share = pl.col("elapsed_ms") / 1000.0 / pl.col("needed_s")
    told = known.select("rating_id", "rater", "pair", share=pl.when(pl.col("needed_s") > 0).then(share))
    return told.drop_nulls("share")


def _dropped(answers: pl.DataFrame, measure: str, column: str, flag: str) -> Iterator[Measure]:
    for name, value in answers.select("rating_id", column).sort("rating_id").iter_rows():
        yield Measure("rating", name, measure, value, 1).flagged(flag, "drop", fires=True)
