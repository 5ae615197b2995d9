"""Questions that raters answer as one: pair by pair, and by the first factor of all.

Over the tasks (a rater on a pair) in which both were asked, two questions have the share of equal scores, `same_share`, and
their correlation. One that is 1 on nearly every pair is answered by copying the other. `loading` is a question's
correlation with the first principal component of all, from the matrix of the pairwise correlations; `first_factor_share`
is that component's share of their variance. Questions that are gated may never meet in a task; of these the ones that meet
the fewest others are left out of the component, one after another, until every two that remain have a correlation.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl

from s2s_assets.ratings.agreement import defined
from s2s_assets.ratings.measures import ALL, Measure
from s2s_assets.study import Cleaning, Floats


def question_measures(answers: pl.DataFrame, rules: Cleaning) -> Iterator[Measure]:
    """Measures of every two questions, of each question and of the study, from `counting_answers`."""
    names, scores = _wide(answers)
    correlations = np.eye(len(names))
    for i, j in itertools.combinations(range(len(names)), 2):
        both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
        one, other, n = scores[both, i], scores[both, j], int(both.sum())
        same = float((one == other).mean()) if n else None
        name = f"{names[i]} | {names[j]}"
        fires = n >= rules.same_tasks and same is not None and same > rules.max_same_share
        yield Measure("questions", name, "same_share", same, n).flagged("collapse", "report", fires)
        r = _uncentred(one, other)
        correlations[i, j] = correlations[j, i] = np.nan if r is None else r
        yield Measure("questions", name, "correlation", r, n)
    yield from _factor(names, correlations, len(scores))


def _wide(answers: pl.DataFrame) -> tuple[list[str], Floats]:
    """Names of the questions, sorted, and scores (tasks, questions), NaN where one was not asked."""
    names = sorted(answers["rubric"].unique())
    first = answers.filter(pl.col("repeat") == 0)
    task = first.select(pl.struct("rater", "unit").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    scores = np.full((int(task.max(initial=-1)) + 1, len(names)), np.nan)
    rubric = first["rubric"].to_physical().rank("dense").cast(pl.Int64).to_numpy() - 1
    scores[task, rubric] = first["signed"].to_numpy()
    return names, scores


def _uncentred(one: Floats, other: Floats) -> float | None:
    """Correlation around 0, so that it does not depend on which config is called the first."""
    size = np.sqrt((one**2).sum() * (other**2).sum())
    return defined((one * other).sum() / size) if size > 0 else None


def _factor(names: list[str], correlations: Floats, tasks: int) -> Iterator[Measure]:
    kept = _meeting(correlations)
    if len(kept) < 2:
        return
    values, vectors = np.linalg.eigh(correlations[np.ix_(kept, kept)])
    loadings = vectors[:, -1] * np.sqrt(values[-1])
    loadings *= np.sign(loadings.sum()) or 1.0
    yield Measure("study", ALL, "first_factor_share", float(values[-1] / len(kept)), tasks)
    for k, loading in zip(kept, loadings, strict=True):
        yield Measure("rubric", names[k], "loading", float(loading), tasks)


def _meeting(correlations: Floats) -> list[int]:
    """Questions of which every two have a correlation; of several that lack as many others the first is left out."""
    kept = list(range(len(correlations)))
    while np.isnan(found := correlations[np.ix_(kept, kept)]).any():
        kept.pop(int(np.isnan(found).sum(axis=0).argmax()))
    return kept
