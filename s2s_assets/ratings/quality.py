"""The table `rater_quality`: agreement, order effect and cleaning flags, from the answers that count.

A *task* is a rater on a pair: the scores that one rater gave on all rubrics asked about it. Scores of a pair are signed
to the config whose name comes first, so that imports which name the configs the other way round meet the same pair.

Study and rubric: Krippendorff's ordinal alpha (see `agreement`; over all rubrics a unit is a rubric of a pair), the same
without the raters that a rule drops (`alpha_cleaned`), the mean screen score (`order_effect`: above 0 the second heard
is preferred) and, of the study, the share of answers that the busiest rater gave.

Rater: `tasks`, `share` of all answers, `order_effect` and its `order_t` over tasks, `straight_line_share` of tasks with
one and the same score other than 0 on all of two or more rubrics, `score_sd` of the screen scores, `halo` (mean share of
equal scores among a task's pairs of rubrics), `rest_r` (correlation with the mean of the others' scores on the same
pairs and rubrics).

Rules are fixed before data is seen, and nothing is deleted: a flag with the effect `drop` takes a rater out of the
`cleaned` variant of a board, one with `report` is only shown.

| flag | rule | effect |
|---|---|---|
| straightline | `straight_line_share` > 0.6 or `score_sd` < 0.3, over 10 tasks or more | drop |
| side_bias | `order_t` beyond ±4, or every task on the same side by the same amount, over 20 tasks or more | drop |
| low_irr | `rest_r` < 0.2 over 15 tasks or more | report |
| halo | `halo` > 0.95 over 10 tasks or more | report |
| heavy | `share` > 0.2 where there are 10 raters or more | report |
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from s2s_assets.ratings.agreement import ordinal_alpha, pearson, t_of_mean

QUALITY_VERSION = "quality-1"
"""Version of the rules and measures; moves with every change of them."""
ALL = "all"
RATER_QUALITY = pl.Schema(
    {
        "scope": pl.String(),
        "name": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "n": pl.Int64(),
        "flag": pl.String(),
        "effect": pl.String(),
    }
)
"""Columns of `rater_quality`."""


@dataclass(frozen=True)
class QualityRules:
    """Thresholds of the cleaning rules."""

    max_straight_line_share: float = 0.6
    min_score_sd: float = 0.3
    straight_line_tasks: int = 10
    max_order_t: float = 4.0
    order_tasks: int = 20
    min_rest_r: float = 0.2
    rest_tasks: int = 15
    max_halo: float = 0.95
    max_share: float = 0.2
    share_raters: int = 10


class Measure(NamedTuple):
    """One row of the table; `n` is what the value was computed over."""

    scope: Literal["study", "rubric", "rater"]
    name: str
    measure: str
    value: float | None
    n: int
    flag: str | None = None
    effect: Literal["report", "drop"] | None = None


def rater_quality_table(ratings: pl.DataFrame, rules: QualityRules | None = None) -> pl.DataFrame:
    """Measure the answers that count (docs/tables.md, `ratings` and `rater_quality`).

    Returns:
        The long table, sorted by scope, name, measure; a value that is undefined is null.
    """
    rules = rules or QualityRules()
    answers = _prepared(ratings)
    of_raters = list(_rater_measures(answers, rules))
    dropped = sorted({m.name for m in of_raters if m.effect == "drop"})
    kept = answers.filter(~pl.col("rater").is_in(dropped))
    rows = [*_study_measures(answers, kept), *_rubric_measures(answers, kept), *of_raters]
    order = pl.col("scope").replace_strict({"study": 0, "rubric": 1, "rater": 2}, return_dtype=pl.Int8)
    return pl.DataFrame(rows, schema=RATER_QUALITY, orient="row").sort(order, "name", "measure")


def _prepared(ratings: pl.DataFrame) -> pl.DataFrame:
    """Counting answers with `unit` (a pair of responses), `task`, `signed` and `screen` scores."""
    counted = ratings.filter(pl.col("excluded_by").is_null())
    turned = pl.col("config_a") > pl.col("config_b")
    low, high = pl.min_horizontal("config_a", "config_b"), pl.max_horizontal("config_a", "config_b")
    return counted.select(
        "rater",
        "rubric",
        pl.struct("prompt", low.alias("low"), high.alias("high")).rank("dense").cast(pl.Int64).alias("unit"),
        pl.when(turned).then(-pl.col("score")).otherwise("score").cast(pl.Int64).alias("signed"),
        # a pair of the same rows' own order: null where it is not known which was heard first
        pl.when(pl.col("first") == "a")
        .then(-pl.col("score"))
        .when(pl.col("first") == "b")
        .then("score")
        .alias("screen"),
    ).sort("rater", "unit", "rubric")


def _study_measures(answers: pl.DataFrame, kept: pl.DataFrame) -> Iterator[Measure]:
    yield from _agreement("study", ALL, answers, kept, ("unit", "rubric"))
    counts = answers["rater"].value_counts()["count"].to_numpy()
    busiest = float(counts.max() / answers.height) if counts.size else None
    yield Measure("study", ALL, "heavy_rater_share", busiest, counts.size)


def _rubric_measures(answers: pl.DataFrame, kept: pl.DataFrame) -> Iterator[Measure]:
    for (rubric,), part in sorted(answers.group_by("rubric"), key=lambda item: item[0]):
        yield from _agreement("rubric", str(rubric), part, kept.filter(pl.col("rubric") == rubric), ("unit",))


def _agreement(
    scope: Literal["study", "rubric"], name: str, answers: pl.DataFrame, kept: pl.DataFrame, unit: tuple[str, ...]
) -> Iterator[Measure]:
    for measure, part in (("alpha", answers), ("alpha_cleaned", kept)):
        yield Measure(scope, name, measure, _alpha(part, unit), part.height)
    screen = answers["screen"].drop_nulls()
    yield Measure(scope, name, "order_effect", _number(screen.mean()), len(screen))


def _alpha(answers: pl.DataFrame, unit: tuple[str, ...]) -> float | None:
    units = answers.select(pl.struct(unit).rank("dense").cast(pl.Int64) - 1).to_series()
    return ordinal_alpha(units.to_numpy(), answers["signed"].to_numpy())


def _rater_measures(answers: pl.DataFrame, rules: QualityRules) -> Iterator[Measure]:
    rest = _with_rest(answers)
    raters = answers["rater"].n_unique()
    for (rater,), part in sorted(rest.group_by("rater"), key=lambda item: item[0]):
        tasks = part.group_by("unit", maintain_order=True).agg(
            pl.col("screen").mean().alias("screen"),
            pl.col("signed").n_unique().alias("scores"),
            pl.col("signed").alias("values"),
            (pl.len() >= 2).alias("several"),
        )
        measures: Iterable[Measure] = (
            Measure("rater", str(rater), "tasks", float(tasks.height), tasks.height),
            _share(str(rater), part.height / answers.height, raters, rules),
            *_order(str(rater), tasks, rules),
            *_straight_line(str(rater), part, tasks, rules),
            _halo(str(rater), tasks, rules),
            _rest(str(rater), part, rules),
        )
        yield from measures


def _with_rest(answers: pl.DataFrame) -> pl.DataFrame:
    """Add `rest`: the mean of the other raters' scores on the same pair and rubric, null where there is none."""
    cell, own = ("unit", "rubric"), ("unit", "rubric", "rater")
    total, n = pl.col("signed").sum(), pl.len().cast(pl.Int64)
    others = n.over(cell) - n.over(own)
    mean = (total.over(cell) - total.over(own)) / others
    return answers.with_columns(rest=pl.when(others > 0).then(mean))


def _share(rater: str, share: float, raters: int, rules: QualityRules) -> Measure:
    heavy = raters >= rules.share_raters and share > rules.max_share
    return _flagged(Measure("rater", rater, "share", share, raters), "heavy" if heavy else None, "report")


def _order(rater: str, tasks: pl.DataFrame, rules: QualityRules) -> Iterator[Measure]:
    screen = tasks["screen"].drop_nulls().to_numpy()
    mean = _number(screen.mean()) if screen.size else None
    t = t_of_mean(screen)
    yield Measure("rater", rater, "order_effect", mean, screen.size)
    stuck = t is None and bool(mean)
    biased = screen.size >= rules.order_tasks and (stuck or (t is not None and abs(t) > rules.max_order_t))
    yield _flagged(Measure("rater", rater, "order_t", t, screen.size), "side_bias" if biased else None, "drop")


def _straight_line(rater: str, part: pl.DataFrame, tasks: pl.DataFrame, rules: QualityRules) -> Iterator[Measure]:
    several = tasks.filter("several")
    same = several.filter((pl.col("scores") == 1) & (pl.col("values").list.first() != 0)).height
    share = same / several.height if several.height else None
    lines = several.height >= rules.straight_line_tasks and share is not None and share > rules.max_straight_line_share
    measure = Measure("rater", rater, "straight_line_share", share, several.height)
    yield _flagged(measure, "straightline" if lines else None, "drop")
    screen = part["screen"].fill_null(part["signed"]).to_numpy()
    sd = float(screen.std(ddof=1)) if screen.size > 1 else None
    flat = tasks.height >= rules.straight_line_tasks and sd is not None and sd < rules.min_score_sd
    yield _flagged(Measure("rater", rater, "score_sd", sd, screen.size), "straightline" if flat else None, "drop")


def _halo(rater: str, tasks: pl.DataFrame, rules: QualityRules) -> Measure:
    several = [np.asarray(values) for values in tasks.filter("several")["values"]]
    upper = [np.triu_indices(len(values), 1) for values in several]
    shares = [float((v[a] == v[b]).mean()) for v, (a, b) in zip(several, upper, strict=True)]
    mean = float(np.mean(shares)) if shares else None
    halo = len(shares) >= rules.straight_line_tasks and mean is not None and mean > rules.max_halo
    return _flagged(Measure("rater", rater, "halo", mean, len(shares)), "halo" if halo else None, "report")


def _rest(rater: str, part: pl.DataFrame, rules: QualityRules) -> Measure:
    shared = part.filter(pl.col("rest").is_not_null())
    tasks = shared["unit"].n_unique()
    r = pearson(shared["signed"].to_numpy().astype(np.float64), shared["rest"].to_numpy())
    low = tasks >= rules.rest_tasks and r is not None and r < rules.min_rest_r
    return _flagged(Measure("rater", rater, "rest_r", r, tasks), "low_irr" if low else None, "report")


def _flagged(measure: Measure, flag: str | None, effect: Literal["report", "drop"]) -> Measure:
    return measure if flag is None else measure._replace(flag=flag, effect=effect)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
