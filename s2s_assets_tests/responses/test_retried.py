"""Retried answers beside the rest: medians, and a test only where there is enough to tell."""

import numpy as np
import polars as pl
import pytest

from s2s_assets.responses import compare_retried


def _answers(first: list[float | None], retried: list[float | None]) -> pl.DataFrame:
    rows = [(1, v) for v in first] + [(n % 2 + 2, v) for n, v in enumerate(retried)]
    return pl.DataFrame(rows, schema={"attempts": pl.Int64, "duration_s": pl.Float64}, orient="row")


def test_groups_that_differ_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    (row,) = compare_retried(_answers(list(rng.normal(5, 1, 60)), list(rng.normal(8, 1, 12))), ["duration_s"])
    assert (row.measure, row.n_retried, row.n_rest) == ("duration_s", 12, 60)
    assert row.median_retried == pytest.approx(8, abs=1)
    assert row.median_rest == pytest.approx(5, abs=0.5)
    assert row.p is not None
    assert row.p < 0.001


def test_few_or_none_tell_nothing() -> None:
    (row,) = compare_retried(_answers([1.0] * 40, [2.0, None, 3.0]), ["duration_s"])
    assert (row.n_retried, row.median_retried, row.p) == (2, 2.5, None)
    (row,) = compare_retried(_answers([1.0], []), ["duration_s"])
    assert (row.n_retried, row.median_retried, row.p) == (0, None, None)
