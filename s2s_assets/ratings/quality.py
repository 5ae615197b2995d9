"""The table `rater_quality`: agreement, order effect and cleaning flags, from the answers that count.

A *task* is a rater on a pair: the scores that one rater gave on all rubrics asked about it. Scores of a pair are signed
to the config whose name comes first, so that imports which name the configs the other way round meet the same pair.

**Study and rubric**: `alpha` (Krippendorff's, ordinal, with an interval over prompts; over all rubrics a unit is a rubric
of a pair) and `alpha_cleaned`, without what the rules drop; `icc` and `icc_mean`, the intraclass correlations of one
score and of a pair's mean; `kappa`, quadratic, between a pair's two orders; `sign_agreement`; `order_effect`, the mean
screen score (above 0 the second heard is preferred), with an interval over raters. They are explained in `agreement`,
and take a rater's first answer on a pair and rubric only. Of the study also the share of answers that the busiest rater
gave, and what `quality_questions` says of questions that are answered as one.

**Rater**: `tasks`; `share` of all answers; `order_effect` and its `order_t` over tasks; `straight_line_share` of tasks with
one and the same score other than 0 on all of two or more rubrics; `score_sd` of the screen scores; `halo` (mean share of
equal scores among a task's pairs of rubrics); `coherence` (intraclass correlation of the rater's own scores, tasks being
the classes: 0 where the answers of one task have nothing to do with one another); `rest_r` (correlation with the mean of
the others' scores on the same pairs and rubrics); `crowd_r` (correlation, task by task, with the difference of what the
others say of the two configs on all prompts); and what `quality_controls` and `quality_tasks` find where there are
controls and times.

Rules and thresholds (the section `cleaning` of study.yaml) are fixed before data is seen, and nothing is deleted: a flag
with the effect `drop` takes a rater, or a single answer, out of the `cleaned` variant of a board, one with `report` is
only shown.

| flag | rule, by default | effect |
|---|---|---|
| too_fast | less than 0.9 of the length of prompt and responses and 1 s a question | drop the answers |
| not_heard | a clip of which less than 0.97 was played | drop the answers |
| rate_tampered | a clip that was played at another speed | drop the answers |
| trap_fail | a trap missed | report; from 2 on drop the rater |
| gold_fail | less than 0.7 of gold and null pairs right (a null pair: nothing beyond ±1), over 4 or more | drop the rater |
| inconsistent | Overall more than 2 from the first answer in more than 1/3 of repeats, by no accident (1 %) | drop the rater |
| straightline | `straight_line_share` > 0.6 or `score_sd` < 0.3, over 10 tasks or more | drop the rater |
| side_bias | `order_t` beyond ±4, `order_effect` at least 0.5 either way, over 20 tasks or more | drop the rater |
| incoherent | `coherence` < 0.1 over 15 tasks or more | drop the rater |
| inverted | `crowd_r` more than 2 standard errors (1 / √tasks) below 0, over 15 tasks or more | drop the rater |
| low_irr | `rest_r` < 0.2 over 15 tasks or more | report |
| halo | `halo` > 0.95 over 10 tasks or more | report |
| heavy | `share` > 0.2 where there are 10 raters or more | report |
| collapse | two questions with the same score in more than 0.95 of 30 tasks or more | report |

The first six and `low_irr`, `halo` and `straightline` are P.808's and its toolkit's practice, with two raters a pair in
mind: agreement with a single other rater is too noisy to drop anybody by (`low_irr`), so those who answer at random are
found by their own incoherence and by controls, and those who answer the wrong way round by the crowd's opinion, pooled
over all prompts.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
import polars as pl

from s2s_assets.ratings.agreement import (
    alphas,
    clustered_interval,
    coincidences,
    defined,
    intraclass,
    quadratic_kappa,
    score_counts,
    sign_agreement,
)
from s2s_assets.ratings.measures import ALL, Measure, counting_answers
from s2s_assets.ratings.quality_controls import CONTROLS, control_measures
from s2s_assets.ratings.quality_questions import question_measures
from s2s_assets.ratings.quality_raters import rater_measures
from s2s_assets.ratings.quality_tasks import HEARD, task_measures
from s2s_assets.study import Cleaning, Floats

QUALITY_VERSION = "quality-3"
"""Version of the rules and measures; moves with every change of them."""
RATER_QUALITY = pl.Schema(
    {
        "scope": pl.String(),
        "name": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),
        "n": pl.Int64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "flag": pl.String(),
        "effect": pl.String(),
    }
)
"""Columns of `rater_quality`."""
_SCOPES = ("study", "rubric", "questions", "rater", "rating")


def rater_quality_table(
    ratings: pl.DataFrame | pl.LazyFrame,
    rules: Cleaning | None = None,
    controls: pl.DataFrame | None = None,
    heard: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Measure the answers that count (docs/tables.md, `ratings` and `rater_quality`).

    Args:
        ratings: The table of that name, or the query that reads it, which takes less memory; `pair`, `elapsed_ms`, `heard_s` and the response ids may be missing.
        rules: The thresholds; the defaults where there are none.
        controls: Replies to controls (`quality_controls.CONTROLS`).
        heard: What was heard of each task (`quality_tasks.HEARD`).

    Returns:
        The long table, sorted by scope, name, measure; a value that is undefined is null.
    """
    rules = rules or Cleaning()
    answers = counting_answers(ratings)
    rows = [
        *rater_measures(answers, rules),
        *control_measures(answers, CONTROLS.to_frame() if controls is None else controls, rules),
        *task_measures(answers, HEARD.to_frame() if heard is None else heard, rules),
    ]
    dropped = {scope: [m.name for m in rows if m.effect == "drop" and m.scope == scope] for scope in _SCOPES}
    kept = ~pl.col("rater").is_in(dropped["rater"]) & ~pl.col("rating_id").is_in(dropped["rating"])
    rows += [*_agreement_measures(answers.with_columns(kept=kept)), *question_measures(answers, rules)]
    frame = pl.DataFrame([_row(m) for m in rows], schema=RATER_QUALITY, orient="row")
    order = pl.col("scope").replace_strict(_SCOPES, range(len(_SCOPES)), return_dtype=pl.Int8)
    return frame.sort(order, "name", "measure")


def _row(m: Measure) -> Iterable[object]:
    return m.scope, m.name, m.measure, m.value, m.n, m.low, m.high, m.flag, m.effect


def _agreement_measures(answers: pl.DataFrame) -> Iterator[Measure]:
    prompts = answers["prompt"].n_unique()
    numbered = answers.with_columns(prompt_no=pl.col("prompt").to_physical().rank("dense").cast(pl.Int64) - 1)
    totals = {name: np.zeros((prompts, 7, 7)) for name in ("alpha", "alpha_cleaned")}
    for (rubric,), part in sorted(numbered.group_by("rubric"), key=lambda item: item[0]):
        once = part.filter(pl.col("repeat") == 0)
        for name, of in (("alpha", once), ("alpha_cleaned", once.filter("kept"))):
            counts, of_prompt = _counts(of)
            found = coincidences(counts, of_prompt, prompts)
            totals[name] += found
            yield _alpha("rubric", str(rubric), name, found, of.height)
            if name == "alpha":
                yield from _of_units(str(rubric), once, counts, found)
        yield _order_effect("rubric", str(rubric), part)
    for name, found in totals.items():
        kept = answers if name == "alpha" else answers.filter("kept")
        yield _alpha("study", ALL, name, found, kept.filter(pl.col("repeat") == 0).height)
    yield _order_effect("study", ALL, answers)
    busiest = answers["rater"].value_counts()["count"].to_numpy()
    share = float(busiest.max() / answers.height) if busiest.size else None
    yield Measure("study", ALL, "heavy_rater_share", share, busiest.size)


def _counts(answers: pl.DataFrame) -> tuple[Floats, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    """Scores of each unit, counted (units, 7), and the number of each unit's prompt."""
    unit = answers["unit"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n = int(unit.max(initial=-1)) + 1
    of_prompt = np.zeros(n, np.int64)
    of_prompt[unit] = answers["prompt_no"].to_numpy()
    return score_counts(unit, answers["signed"].to_numpy(), n), of_prompt


def _alpha(scope: Literal["study", "rubric"], name: str, measure: str, found: Floats, n: int) -> Measure:
    value = defined(float(alphas(found.sum(axis=0))))
    one = Measure(scope, name, measure, value, n)
    return one if value is None else one.within(clustered_interval(found, alphas, "alpha"))


def _of_units(rubric: str, answers: pl.DataFrame, counts: Floats, found: Floats) -> Iterator[Measure]:
    """Measures of a rubric from its units' scores."""
    units = int((counts.sum(axis=1) >= 2).sum())
    single, mean = intraclass(counts)
    yield Measure("rubric", rubric, "icc", single, units)
    yield Measure("rubric", rubric, "icc_mean", mean, units)
    unit = answers["unit"].rank("dense").cast(pl.Int64).to_numpy() - 1
    one, other = (
        score_counts(unit[chosen], answers["signed"].to_numpy()[chosen], len(counts))
        for chosen in ((answers["first_low"] == side).fill_null(value=False).to_numpy() for side in (True, False))
    )
    both = int(((one.sum(axis=1) > 0) & (other.sum(axis=1) > 0)).sum())
    yield Measure("rubric", rubric, "kappa", quadratic_kappa(one, other), both)
    yield Measure("rubric", rubric, "sign_agreement", sign_agreement(found.sum(axis=0)), units)


def _order_effect(scope: Literal["study", "rubric"], name: str, answers: pl.DataFrame) -> Measure:
    known = answers.drop_nulls("screen")
    by_rater = known.group_by("rater").agg(pl.col("screen").sum(), pl.len().alias("n")).sort("rater")
    totals = by_rater.select(pl.col("screen", "n").cast(pl.Float64)).to_numpy()
    mean = float(totals[:, 0].sum() / totals[:, 1].sum()) if len(totals) else None
    interval = clustered_interval(totals, lambda sums: sums[:, 0] / sums[:, 1], "order_effect")
    return Measure(scope, name, "order_effect", mean, known.height).within(interval)
