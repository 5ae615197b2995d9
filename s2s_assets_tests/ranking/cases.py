"""Ratings for tests: the reference sets, and simulated ones with a known truth."""

import csv
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from s2s_assets.ranking.coding import CodedRatings, code_ratings
from s2s_assets.ranking.problems import Problem, problems
from s2s_assets.ranking.selection import Selection, select
from s2s_assets.ranking.spec import FitSpec

REFS = Path(__file__).parents[1] / "data" / "stats_refs"
CONFIG_BOARD = FitSpec(by="config")
Row = tuple[str, str, str, str, int]
rows_of_ratings: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(
        st.sampled_from(["r1", "r2", "r3"]),
        st.sampled_from(["p1", "p2", "p3", "p4"]),
        st.sampled_from(list(itertools.permutations(["m1", "m2", "m3", "m4"], 2))),
        st.integers(-3, 3),
    ).map(lambda x: (x[0], x[1], *x[2], x[3])),
    min_size=1,
    max_size=50,
)
"""Any ratings of four entities, by few raters on few prompts: separated, disconnected and tied ones among them."""


def references() -> dict[str, dict[str, Any]]:
    """Data set → reference values, for the sets whose ratings are here."""
    refs = json.loads((REFS / "refs.json").read_text())
    return {name: ref for name, ref in refs.items() if (REFS / f"{name}.csv").exists()}


def reference_rows(name: str, weights: dict[str, Any] | None = None) -> list[Row]:
    """Rows (rater, prompt, a, b, score); with weights, rows repeated by the product of multiplicities."""
    with (REFS / f"{name}.csv").open() as file:
        found = list(csv.DictReader(file))
    rows = []
    for r in found:
        times = 1
        if weights is not None:
            times = weights["rater_mult"][int(r["rater"]) - 1] * weights["prompt_mult"][int(r["prompt"]) - 1]
        rows += [(r["rater"], r["prompt"], f"m{r['i']}", f"m{r['j']}", int(r["y"]))] * times
    return rows


def frame_of(rows: Sequence[Row], rubric: str = "overall") -> pl.DataFrame:
    """A ratings frame."""
    columns = {"rater": pl.String, "prompt": pl.String, "config_a": pl.String, "config_b": pl.String, "score": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(rubric=pl.lit(rubric))


def parts(rows: Sequence[Row]) -> tuple[CodedRatings, Selection, tuple[Problem, ...]]:
    """Coded rows, the selection of all of them, and its connected problems by config."""
    coded = code_ratings(frame_of(rows))
    selection = select(coded, CONFIG_BOARD)
    return coded, selection, problems(selection, coded.configs)[0]


def simulated(
    n_ratings: int,
    strengths: Sequence[float],
    *,
    raters: int = 20,
    prompts: int = 40,
    thresholds: Sequence[float] = (0.4, 1.4, 2.6),
    rater_sd: float = 0.0,
    prompt_sd: float = 0.0,
    seed: int = 1,
) -> list[Row]:
    """Ratings drawn from the model itself, with optional effects of rater × entity and prompt × entity."""
    rng = np.random.default_rng(seed)
    n = len(strengths)
    s = np.asarray(strengths, float)
    a = rng.integers(0, n, n_ratings)
    b = (a + rng.integers(1, n, n_ratings)) % n
    rater, prompt = rng.integers(0, raters, n_ratings), rng.integers(0, prompts, n_ratings)
    by_rater, by_prompt = rng.normal(0, 1, (raters, n)) * rater_sd, rng.normal(0, 1, (prompts, n)) * prompt_sd
    felt = s[None, :] + by_rater[rater] + by_prompt[prompt]
    at = np.arange(n_ratings)
    latent = felt[at, a] - felt[at, b] + rng.logistic(size=n_ratings)
    score = np.sign(latent) * (np.abs(latent)[:, None] > np.asarray(thresholds)).sum(axis=1)
    return [
        (f"r{r}", f"p{p}", f"m{i}", f"m{j}", int(y)) for r, p, i, j, y in zip(rater, prompt, a, b, score, strict=True)
    ]
