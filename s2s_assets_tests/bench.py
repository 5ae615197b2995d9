"""Times of the ranking on a large study, beside evalica's bootstrap in the same run, on one thread.

The study: 60,000 ratings of 19 configs on 800 prompts by 100 raters, with effects of rater and prompt. evalica resamples
rows one by one and fits win/tie/loss Bradley-Terry; a few of its resamples are timed and the time per resample compared.

Run from the project's root: `python s2s_assets_tests/bench.py`.
"""

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_threads] = "1"

import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import evalica  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from s2s_assets.ranking import FitSpec, bootstrap_boards, diagnose_boards, fit_boards, rank  # noqa: E402

CONFIGS, PROMPTS, RATERS, RESAMPLES = 19, 800, 100, 1000
EVALICA_RESAMPLES = 10
BAR_S = 0.6
"""For 1,000 clustered resamples of one rubric."""
DIAGNOSTICS_BAR_S = 0.2


def study(n_ratings: int, rubrics: int = 1, seed: int = 1) -> pl.DataFrame:
    """Simulated ratings; with several rubrics each pair is judged on all of them."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(0, 0.7, CONFIGS)
    a = rng.integers(0, CONFIGS, n_ratings)
    b = (a + rng.integers(1, CONFIGS, n_ratings)) % CONFIGS
    rater, prompt = rng.integers(0, RATERS, n_ratings), rng.integers(0, PROMPTS, n_ratings)
    by_rater, by_prompt = rng.normal(0, 0.35, (RATERS, CONFIGS)), rng.normal(0, 0.5, (PROMPTS, CONFIGS))
    gap = (
        strengths[a]
        - strengths[b]
        + by_rater[rater, a]
        - by_rater[rater, b]
        + by_prompt[prompt, a]
        - by_prompt[prompt, b]
    )
    units = pl.DataFrame(
        {
            "prompt": pl.Series(prompt).cast(pl.String),
            "rater": pl.Series(rater).cast(pl.String),
            "config_a": pl.Series(a).cast(pl.String),
            "config_b": pl.Series(b).cast(pl.String),
        }
    )
    parts = []
    for rubric in range(rubrics):
        latent = gap + rng.logistic(size=n_ratings)
        score = np.sign(latent) * (np.abs(latent)[:, None] > np.array([0.45, 1.6, 3.0])).sum(axis=1)
        name = "overall" if rubric == 0 else f"rubric {rubric}"
        parts.append(units.with_columns(score=pl.Series(score.astype(int)), rubric=pl.lit(name)))
    return pl.concat(parts)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of several runs: other load only adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def evalica_columns(frame: pl.DataFrame) -> tuple[list[str], list[str], list[evalica.Winner]]:
    """Left, right and winner, as evalica takes them."""
    winner = {1: evalica.Winner.X, -1: evalica.Winner.Y, 0: evalica.Winner.Draw}
    signs = frame["score"].sign().to_list()
    return frame["config_a"].to_list(), frame["config_b"].to_list(), [winner[int(s)] for s in signs]


def main() -> None:
    """Print the table."""
    frame = study(60_000)
    board = FitSpec(by="config")
    fits = fit_boards(frame, [board])
    fit = seconds(lambda: fit_boards(frame, [board]))
    resampled = seconds(lambda: bootstrap_boards(frame, fits, resamples=RESAMPLES))
    drawn = bootstrap_boards(frame, fits, resamples=RESAMPLES)
    diagnosed = seconds(lambda: diagnose_boards(frame, fits, drawn))
    everything = seconds(lambda: rank(frame, resamples=RESAMPLES))
    left, right, winners = evalica_columns(frame)
    their_fit = seconds(lambda: evalica.bradley_terry(left, right, winners))
    their_bootstrap = seconds(
        lambda: evalica.bootstrap(
            evalica.bradley_terry, left, right, winners, n_resamples=EVALICA_RESAMPLES, bootstrap_method="percentile"
        ),
        repeats=1,
    )
    ours, theirs = resampled / RESAMPLES, their_bootstrap / EVALICA_RESAMPLES
    print(f"{frame.height:,} ratings, {CONFIGS} configs, {PROMPTS} prompts, {RATERS} raters; one thread")
    print(f"one fit from raw columns, cross-checks included   {fit:8.3f} s   evalica {their_fit:.3f} s")
    print(f"{RESAMPLES:,} clustered resamples                         {resampled:8.3f} s   (bar {BAR_S} s)")
    print(f"  a resample: {1e3 * ours:.3f} ms, evalica {1e3 * theirs:.1f} ms, ratio {theirs / ours:,.0f}")
    print(f"diagnostics of the board                          {diagnosed:8.3f} s   (bar {DIAGNOSTICS_BAR_S} s)")
    print(f"rank(): fit, resamples, all the rest             {everything:8.3f} s")
    wide = study(60_000, rubrics=12)
    print(
        f"12 rubrics on the same ratings, all of rank()     {seconds(lambda: rank(wide, resamples=RESAMPLES), 1):8.3f} s"
    )


if __name__ == "__main__":
    main()
