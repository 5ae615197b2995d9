"""What `rater_quality` says of each rater from the answers alone; see `quality` for measures and rules."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from s2s_assets.ratings.measures import TASK, Measure, number
from s2s_assets.study import Cleaning, Floats, Ints

_SCORES = range(-3, 4)
_TINY = 1e-9
Row = Mapping[str, Any]


def rater_measures(answers: pl.DataFrame, rules: Cleaning) -> Iterator[Measure]:
    """Every measure of every rater, from `counting_answers`, sorted by rater.

    Sums of floats keep the answers' order throughout: the same answers give the same bits.
    """
    spread = pl.col("screen").fill_null(pl.col("signed")).std().alias("sd")
    found = answers.group_by("rater").agg(pl.len().alias("answers"), spread)
    for part in (_by_task(_tasks(answers)), _rest(answers), _crowd(answers)):
        found = found.join(part, on="rater", how="left")
    for row in found.sort("rater").iter_rows(named=True):
        yield from _of_rater(row, answers.height, found.height, rules)


def _tasks(answers: pl.DataFrame) -> pl.DataFrame:
    """One row a rater and unit, over its questions."""
    signed = pl.col("signed")
    of_score = [(signed == score).sum().cast(pl.Int64) for score in _SCORES]
    return answers.group_by(TASK, maintain_order=True).agg(
        pl.col("screen").mean(),
        pl.len().cast(pl.Int64).alias("n"),
        signed.sum().alias("sum"),
        (signed**2).sum().alias("squares"),
        ((signed.min() == signed.max()) & (signed.first() != 0)).alias("straight"),
        pl.sum_horizontal(n * (n - 1) for n in of_score).alias("equal"),
    )


def _by_task(tasks: pl.DataFrame) -> pl.DataFrame:
    """One row a rater, over the tasks; measures of several questions over the tasks that have them."""
    several = pl.col("n") >= 2
    explained = (pl.col("sum") ** 2 / pl.col("n")).filter(several).sum()
    return tasks.group_by("rater", maintain_order=True).agg(
        pl.len().alias("tasks"),
        pl.col("screen").count().alias("order_tasks"),
        pl.col("screen").mean().alias("order_mean"),
        pl.col("screen").std().alias("order_sd"),
        several.sum().alias("several"),
        (pl.col("straight") & several).sum().alias("straight"),
        (pl.col("equal") / (pl.col("n") * (pl.col("n") - 1))).filter(several).mean().alias("halo"),
        pl.col("n").filter(several).sum().alias("questions"),
        explained.alias("between"),
        (pl.col("squares").filter(several).sum() - explained).alias("within"),
    )


def _rest(answers: pl.DataFrame) -> pl.DataFrame:
    """Correlation with the mean of the other raters' scores on the same unit and rubric, over what they share."""
    rubric = pl.col("rubric").to_physical().cast(pl.Int64)
    # a rater's answers in a cell lie together, the first of them with repeat 0
    cell, own = pl.col("unit") * (rubric.max() + 1) + rubric, (pl.col("repeat") == 0).cum_sum()
    signed = answers["signed"].to_numpy()
    (total, n), (mine, my_n) = (_sums(answers.select(key).to_series().to_numpy(), signed) for key in (cell, own))
    others, rest = n - my_n, (total - mine) / np.maximum(n - my_n, 1)
    shared = answers.select("rater", "unit", "signed", rest=pl.Series(rest)).filter(pl.Series(others > 0))
    return shared.group_by("rater", maintain_order=True).agg(
        pl.corr("signed", "rest").alias("rest_r"), pl.col("unit").n_unique().alias("rest_tasks")
    )


def _sums(keys: Ints, values: Ints) -> tuple[Floats, Ints]:
    """Of each row, the sum and the number of the values with its key; keys are small numbers from 0."""
    sums, counts = np.bincount(keys, values).astype(np.float64), np.bincount(keys).astype(np.int64)
    return sums[keys], counts[keys]


def _crowd(answers: pl.DataFrame) -> pl.DataFrame:
    """How a rater's tasks go with what the others say of the same two configs on all prompts.

    The others' opinion of a config on a rubric is the mean of its scores, the rater's own left out; what they expect of
    a pair is the difference. Task by task both are averaged over the questions and multiplied: the result is the same
    whichever of two configs is called the first.
    """
    sides = [
        answers.select("rater", "rubric", pl.col(side).alias("config"), points=sign * pl.col("signed"))
        for side, sign in (("low", 1), ("high", -1))
    ]
    own = pl.concat(sides).group_by("rater", "rubric", "config").agg(pl.col("points").sum(), pl.len().alias("n"))
    cell = ("rubric", "config")
    others = (pl.col("n").sum().over(cell) - pl.col("n")).cast(pl.Int64)
    mean = (pl.col("points").sum().over(cell) - pl.col("points")) / others
    opinion = own.select("rater", *cell, opinion=pl.when(others > 0).then(mean))
    keys = ("rater", "rubric")
    expected = answers.select("rater", "rubric", "unit", "low", "high", "signed")
    for side in ("low", "high"):
        of_side = opinion.rename({"config": side, "opinion": f"of_{side}"})
        expected = expected.join(of_side, on=[*keys, side], how="left", maintain_order="left")
    tasks = (
        expected.with_columns(expected=pl.col("of_low") - pl.col("of_high"))
        .drop_nulls("expected")
        .group_by(TASK, maintain_order=True)
        .agg(pl.col("signed").mean(), pl.col("expected").mean())
    )
    size = ((pl.col("signed") ** 2).sum() * (pl.col("expected") ** 2).sum()).sqrt()
    together = (pl.col("signed") * pl.col("expected")).sum()
    return tasks.group_by("rater", maintain_order=True).agg(
        pl.when(size > _TINY).then(together / size).alias("crowd_r"), pl.len().alias("crowd_tasks")
    )


def _of_rater(row: Row, answers: int, raters: int, rules: Cleaning) -> Iterator[Measure]:
    def of(measure: str, value: float | None, n: int | None) -> Measure:
        return Measure("rater", row["rater"], measure, number(value), n or 0)

    yield of("tasks", row["tasks"], row["tasks"])
    share = row["answers"] / answers
    yield of("share", share, raters).flagged(
        "heavy", "report", raters >= rules.share_raters and share > rules.max_share
    )
    yield of("order_effect", row["order_mean"], row["order_tasks"])
    t = _t(row["order_mean"], row["order_sd"], row["order_tasks"])
    yield of("order_t", t, row["order_tasks"]).flagged("side_bias", "drop", _side_biased(row, t, rules))
    straight = row["straight"] / row["several"] if row["several"] else None
    lines = row["several"] >= rules.straight_line_tasks and (straight or 0.0) > rules.max_straight_line_share
    yield of("straight_line_share", straight, row["several"]).flagged("straightline", "drop", lines)
    flat = row["tasks"] >= rules.straight_line_tasks and row["sd"] is not None and row["sd"] < rules.min_score_sd
    yield of("score_sd", row["sd"], row["answers"]).flagged("straightline", "drop", flat)
    halo = row["several"] >= rules.halo_tasks and (row["halo"] or 0.0) > rules.max_halo
    yield of("halo", row["halo"], row["several"]).flagged("halo", "report", halo)
    coherence = _coherence(row["between"], row["within"], row["several"], row["questions"])
    loose = row["several"] >= rules.coherence_tasks and coherence is not None and coherence < rules.min_coherence
    yield of("coherence", coherence, row["several"]).flagged("incoherent", "drop", loose)
    rest = number(row["rest_r"])
    low = (row["rest_tasks"] or 0) >= rules.rest_tasks and rest is not None and rest < rules.min_rest_r
    yield of("rest_r", rest, row["rest_tasks"]).flagged("low_irr", "report", low)
    crowd, n = number(row["crowd_r"]), row["crowd_tasks"] or 0
    against = n >= rules.crowd_tasks and crowd is not None and crowd * math.sqrt(n) < -rules.max_against_z
    yield of("crowd_r", crowd, n).flagged("inverted", "drop", against)


def _t(mean: float | None, sd: float | None, n: int) -> float | None:
    return None if mean is None or not sd or sd < _TINY else mean / (sd / math.sqrt(n))


def _side_biased(row: Row, t: float | None, rules: Cleaning) -> bool:
    """Sure and large; a rater who is on one side by the same amount in every task has no t and is sure."""
    mean = row["order_mean"]
    if mean is None or row["order_tasks"] < rules.order_tasks or abs(mean) < rules.min_order_effect:
        return False
    return t is None or abs(t) > rules.max_order_t


def _coherence(between: float, within: float, tasks: int, answers: int) -> float | None:
    """ICC(1, 1) of a rater's scores by task around 0, so that it does not depend on which config is called the first."""
    if tasks < 2:
        return None
    of_tasks, of_rest = between / tasks, within / (answers - tasks)
    below = of_tasks + (answers / tasks - 1.0) * of_rest
    return (of_tasks - of_rest) / below if below > _TINY else None
