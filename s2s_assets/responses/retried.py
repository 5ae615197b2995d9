"""Whether the answers that needed another attempt differ from the rest.

A retried prompt is re-rolled, so what is heard of it may differ from what a first attempt would have said. Of each
measure: the medians of both groups, and the p value of a two-sided Mann-Whitney test where both have at least 5 answers.
No difference found is not the same as none.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

_ENOUGH = 5


@dataclass(frozen=True)
class Comparison:
    """One measure of the retried answers and of the rest; None where a group has no value."""

    measure: str
    n_retried: int
    n_rest: int
    median_retried: float | None
    median_rest: float | None
    p: float | None
    """None where a group is too small to tell."""


def compare_retried(answers: pl.DataFrame, measures: Sequence[str]) -> list[Comparison]:
    """The comparison of each measure.

    Args:
        answers: one row an answer, with `attempts` and the measures.
        measures: columns of numbers; nulls are left out.
    """
    return [_compare(answers, measure) for measure in measures]


def _compare(answers: pl.DataFrame, measure: str) -> Comparison:
    retried, rest = (
        answers.filter(condition)[measure].drop_nulls().cast(pl.Float64)
        for condition in (pl.col("attempts") > 1, pl.col("attempts") == 1)
    )
    return Comparison(measure, len(retried), len(rest), _median(retried), _median(rest), _p(retried, rest))


def _median(values: pl.Series) -> float | None:
    return None if values.is_empty() else float(values.median())  # type: ignore[arg-type]


def _p(retried: pl.Series, rest: pl.Series) -> float | None:
    if min(len(retried), len(rest)) < _ENOUGH:
        return None
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(retried.to_numpy(), rest.to_numpy()).pvalue)
