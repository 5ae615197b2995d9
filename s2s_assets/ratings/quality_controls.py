"""What `rater_quality` says of each rater from controls: tasks whose answer is known, and pairs that were given twice.

`CONTROLS` has one row a reply in a control task:

| kind | what was heard | a good answer |
|---|---|---|
| `trap` | a voice that asks for a certain answer | every reply within its `low` to `high` |
| `gold` | a response and its spoilt twin | the same |
| `null` | one response twice | every reply within ±`max_null_score` |
| `repeat` | a pair that the rater had before | on Overall at most `max_repeat_gap` from what was said then |

Honest raters differ from themselves by more than that in about a fifth of close pairs, so a share of a few repeats says
little: the rule asks for so many that a share of `max_inconsistent_share` would hardly give them by chance (binomial).

Pairs that a rater answered more than once in the ratings themselves, as imported files have them, are repeats too. A
rater without controls has no such measures.
"""

from collections.abc import Iterator

import polars as pl
from scipy.stats import binom

from s2s_assets.ratings.measures import Measure, named_alike
from s2s_assets.study import OVERALL, Cleaning

CONTROLS = pl.Schema(
    {
        "rater": pl.String(),
        "kind": pl.String(),
        "task": pl.String(),
        "rubric": pl.String(),
        "value": pl.Int64(),
        "low": pl.Int64(),
        "high": pl.Int64(),
        "first": pl.String(),
        "second": pl.String(),
    }
)
"""Columns of the replies to controls. `value`, `low` and `high` are as on the screen, above 0 for the second heard; the
bounds are null where a reply is free. `first` and `second` are the ids of the responses heard."""


def control_measures(answers: pl.DataFrame, controls: pl.DataFrame, rules: Cleaning) -> Iterator[Measure]:
    """`trap_fails`, `control_share` and `inconsistent_share` of the raters that have them, from `counting_answers`."""
    judged = judged_controls(controls, rules)
    traps = judged.filter(pl.col("kind") == "trap")
    for rater, right, n in _shares(traps):
        fails = n - right
        one = Measure("rater", rater, "trap_fails", float(fails), n).flagged("trap_fail", "report", fails > 0)
        yield one.flagged("trap_fail", "drop", fails >= rules.trap_fails)
    for rater, right, n in _shares(judged.filter(pl.col("kind").is_in(["gold", "null"]))):
        fires = n >= rules.control_tasks and right / n < rules.min_control_share
        yield Measure("rater", rater, "control_share", right / n, n).flagged("gold_fail", "drop", fires)
    gaps = pl.concat([_repeated_controls(answers, controls), _repeated_answers(answers)])
    close = gaps.select("rater", right=pl.col("gap").abs() <= rules.max_repeat_gap)
    for rater, right, n in _shares(close):
        apart = 1.0 - right / n
        chance = float(binom.sf(n - right - 1, n, rules.max_inconsistent_share))
        fires = apart > rules.max_inconsistent_share and chance < rules.inconsistent_p
        yield Measure("rater", rater, "inconsistent_share", apart, n).flagged("inconsistent", "drop", fires)


def judged_controls(controls: pl.DataFrame, rules: Cleaning) -> pl.DataFrame:
    """One row a control task but repeats: `rater`, `kind`, `task`, `right`."""
    value = pl.col("value")
    small = value.abs() <= rules.max_null_score
    right = pl.when(pl.col("kind") == "null").then(small).otherwise(value.is_between(pl.col("low"), pl.col("high")))
    told = controls.filter(pl.col("kind") != "repeat").with_columns(right=right).drop_nulls("right")
    return told.group_by("rater", "kind", "task").agg(pl.col("right").all())


def _shares(judged: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Rater, how many were right, of how many; sorted."""
    counts = judged.group_by("rater").agg(pl.col("right").sum().cast(pl.Int64), pl.len().cast(pl.Int64).alias("n"))
    yield from counts.sort("rater").iter_rows()


def _repeated_controls(answers: pl.DataFrame, controls: pl.DataFrame) -> pl.DataFrame:
    """`rater` and `gap` between a repeat's Overall and the answer that it repeats."""
    of_repeat = controls.filter((pl.col("kind") == "repeat") & (pl.col("rubric") == OVERALL))
    asked = answers.filter((pl.col("rubric") == OVERALL) & (pl.col("repeat") == 0)).drop_nulls("response_a")
    of_repeat = named_alike(of_repeat, answers, rater="rater", first="response_a", second="response_a")
    parts = []
    # a score for response_a is one against response_b; the screen's is for the second heard
    for first, second, sign in (("response_a", "response_b", 1), ("response_b", "response_a", -1)):
        pairs = of_repeat.join(asked, left_on=["rater", "first", "second"], right_on=["rater", first, second])
        parts.append(pairs.select("rater", gap=-pl.col("value") - sign * pl.col("towards_a")))
    return pl.concat(parts)


def _repeated_answers(answers: pl.DataFrame) -> pl.DataFrame:
    """The same for pairs that were answered again in the ratings."""
    overall = answers.filter(pl.col("rubric") == OVERALL)
    first = overall.filter(pl.col("repeat") == 0).select("rater", "unit", earlier="signed")
    again = overall.filter(pl.col("repeat") > 0).join(first, on=["rater", "unit"])
    return again.select("rater", gap=pl.col("signed") - pl.col("earlier"))
