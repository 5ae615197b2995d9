"""What the ranking takes, beside its peers in the same run, on one thread; exit status 1 where a bar is missed.

The study: 19 configs on 800 prompts by 100 raters, with effects of rater and prompt; names are text, as in a file that was
just read. Every figure is the shortest of several runs, ours and the peer's by turns, since other load only adds.

evalica fits win/tie/loss Bradley-Terry from lists and resamples rows one by one: a few of its resamples are timed. R's
`ordinal::clm` fits the same model as we do, row by row; it is timed where Rscript has the package.

Run from the project's root: `python s2s_assets_tests/bench.py`, with `--large` for 1 and 10 million ratings, each in a
process of its own whose memory is measured.
"""

import os

for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_threads] = "1"

import json  # noqa: E402
import resource  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Mapping  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402

import evalica  # noqa: E402
import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from s2s_assets.ranking import (  # noqa: E402
    FitSpec,
    bootstrap_boards,
    diagnose_boards,
    fit_boards,
    fit_strengths,
    rank,
    split_half_strengths,
)
from s2s_assets.rubrics import cluster_rubrics, profiles  # noqa: E402

CONFIGS, PROMPTS, RATERS = 19, 800, 100
RATINGS, RUBRICS, RESAMPLES, SPLITS = 60_000, 12, 1000, 500
EVALICA_RESAMPLES = 10
LARGE = ((1_000_000, 12, 15.0), (10_000_000, 1, 45.0))
"""Ratings of a rubric, rubrics, bar in seconds."""
MEMORY_BAR_GB = 3.0
_TOGETHER = 1_000_000
"""Ratings simulated at a time."""
CLM = """
suppressMessages(library(ordinal)); d <- read.csv(commandArgs(TRUE)[1]); n <- max(d$a, d$b)
X <- matrix(0, nrow(d), n); X[cbind(seq_len(nrow(d)), d$a)] <- 1; X[cbind(seq_len(nrow(d)), d$b)] <- -1
rows <- data.frame(y = factor(d$score, ordered = TRUE), X[, -1])
cat(system.time(clm(y ~ ., data = rows, threshold = "symmetric2"))[["elapsed"]])
"""


class Line(NamedTuple):
    """One line of the table: a figure, and the bar it has to meet."""

    what: str
    figure: str
    bar: str = ""
    met: bool = True


def study(n_ratings: int, rubrics: int = 1, seed: int = 1) -> pl.DataFrame:
    """Simulated ratings; with several rubrics each pair is judged on all of them."""
    rng = np.random.default_rng(seed)
    effects = [rng.normal(0, sd, (size, CONFIGS)) for sd, size in ((0.7, 1), (0.35, RATERS), (0.5, PROMPTS))]
    sizes = [min(_TOGETHER, n_ratings - start) for start in range(0, n_ratings, _TOGETHER)]
    return pl.concat([_rated(n, rubrics, effects, rng) for n in sizes])


def _rated(n: int, rubrics: int, effects: list[np.ndarray], rng: np.random.Generator) -> pl.DataFrame:
    a = rng.integers(0, CONFIGS, n)
    b = (a + rng.integers(1, CONFIGS, n)) % CONFIGS
    rater, prompt = rng.integers(0, RATERS, n), rng.integers(0, PROMPTS, n)
    gap = sum(of[unit, a] - of[unit, b] for of, unit in zip(effects, (0, rater, prompt), strict=True))
    units = pl.DataFrame({"prompt": prompt, "rater": rater, "config_a": a, "config_b": b}).cast(pl.String)
    parts = []
    for rubric in range(rubrics):
        latent = gap + rng.logistic(size=n)
        score = np.sign(latent) * (np.abs(latent)[:, None] > np.array([0.45, 1.6, 3.0])).sum(axis=1)
        name = pl.lit("overall" if rubric == 0 else f"rubric {rubric}")
        parts.append(units.with_columns(score=pl.Series(score.astype(np.int8)), rubric=name))
    return pl.concat(parts)


def coded(frame: pl.DataFrame) -> pl.DataFrame:
    """The same ratings with names as categories."""
    return frame.with_columns(pl.col("prompt", "rater", "config_a", "config_b", "rubric").cast(pl.Categorical))


def shortest(works: Mapping[str, Callable[[], object]], rounds: int, in_a_row: int = 1) -> dict[str, float]:
    """Seconds of each, the shortest of several runs in a row, by turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            for _ in range(in_a_row):
                start = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


Lists = tuple[list[str], list[str], list[evalica.Winner]]


def evalica_lists(frame: pl.DataFrame) -> Lists:
    """Left, right and winner, as evalica takes them."""
    winner = [evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.X]
    signs = (frame["score"].sign() + 1).to_list()
    return frame["config_a"].to_list(), frame["config_b"].to_list(), [winner[sign] for sign in signs]


def one_fit(frame: pl.DataFrame, lists: Lists, board: FitSpec) -> list[Line]:
    """A fit of one rubric. The bar compares what it takes either to come from the frame to strengths."""
    categories = coded(frame)
    took = shortest(
        {
            "ours": lambda: fit_strengths(frame, board),
            "theirs": lambda: evalica.bradley_terry(*evalica_lists(frame)),
            "ours from categories": lambda: fit_strengths(categories, board),
            "theirs from lists": lambda: evalica.bradley_terry(*lists),
            "board": lambda: fit_boards(frame, [board]),
        },
        rounds=6,
        in_a_row=20,
    )
    ratio = took["theirs"] / took["ours"]
    lines = [
        Line("one fit, from text columns to strengths", ms(took["ours"])),
        Line("  evalica, its lists made from the same columns", ms(took["theirs"])),
        Line("  evalica / ours", f"{ratio:.1f}", ">= 8", ratio >= 8),
        Line(
            "  from columns of categories / evalica from ready lists",
            ms(took["ours from categories"], took["theirs from lists"]),
        ),
        Line("  all of a board: cross-checks, numbers of raters and prompts", ms(took["board"])),
    ]
    return lines + clm_lines(frame, took["ours"])


def clm_lines(frame: pl.DataFrame, ours: float) -> list[Line]:
    """R's clm on the rows, where there is R with the package."""
    with tempfile.TemporaryDirectory() as folder:
        script, rows = Path(folder, "clm.R"), Path(folder, "rows.csv")
        script.write_text(CLM)
        numbers = pl.col("config_a", "config_b").cast(pl.Int64) + 1
        frame.select(numbers, "score").rename({"config_a": "a", "config_b": "b"}).write_csv(rows)
        command = [shutil.which("Rscript") or "Rscript", str(script), str(rows)]
        try:
            seconds = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        except (FileNotFoundError, subprocess.CalledProcessError):
            return [Line("  R ordinal::clm on rows", "no Rscript with the package ordinal here")]
    return [Line("  R ordinal::clm on rows / ours", f"{seconds / ours:.0f}", ">= 90", seconds / ours >= 90)]


def one_bootstrap(frame: pl.DataFrame, lists: Lists, board: FitSpec) -> list[Line]:
    """Resamples of one rubric, diagnostics, and `rank` as a whole."""
    fits = fit_boards(frame, [board])
    drawn = bootstrap_boards(frame, fits, resamples=RESAMPLES)
    took = shortest(
        {
            "ours": lambda: bootstrap_boards(frame, fits, resamples=RESAMPLES),
            "theirs": lambda: evalica.bootstrap(
                evalica.bradley_terry, *lists, n_resamples=EVALICA_RESAMPLES, bootstrap_method="percentile"
            ),
            "diagnostics": lambda: diagnose_boards(frame, fits, drawn),
            "rank": lambda: rank(frame, resamples=RESAMPLES),
        },
        rounds=4,
    )
    each, their_each = took["ours"] / RESAMPLES, took["theirs"] / EVALICA_RESAMPLES
    ratio = their_each / each
    return [
        Line(
            f"{RESAMPLES:,} resamples by raters and prompts, one rubric",
            s(took["ours"]),
            "<= 0.35 s",
            took["ours"] <= 0.35,
        ),
        Line("  a resample: ours / evalica's by rows", ms(each, their_each)),
        Line("  evalica / ours", f"{ratio:.0f}", ">= 300", ratio >= 300),
        Line("diagnostics of the board", s(took["diagnostics"]), "<= 0.2 s", took["diagnostics"] <= 0.2),
        Line("rank(): fits, resamples, diagnostics", s(took["rank"])),
    ]


def all_rubrics(frame: pl.DataFrame) -> list[Line]:
    """Resamples of all rubrics by all engines, and the clustering beside the bootstrap that it rests on."""
    rubrics = frame["rubric"].unique().sort().to_list()
    boards = [FitSpec(rubric, "config") for rubric in rubrics]
    fits = fit_boards(frame, boards)
    drawn = bootstrap_boards(frame, fits, resamples=RESAMPLES)

    def cluster() -> None:
        entities, strengths, draws = profiles(fits, drawn, boards)
        halves = split_half_strengths(frame, boards, entities, splits=SPLITS)
        cluster_rubrics(strengths, draws, rubrics, halves=halves)

    took = shortest(
        {
            "bootstrap": lambda: bootstrap_boards(frame, fits, resamples=RESAMPLES),
            "engines": lambda: bootstrap_boards(frame, fit_boards(frame, boards), resamples=RESAMPLES, engines=True),
            "clusters": cluster,
        },
        rounds=3,
    )
    ratio = took["clusters"] / took["bootstrap"]
    return [
        Line(
            f"{len(rubrics)} rubrics x 3 engines x {RESAMPLES:,}, fits too",
            s(took["engines"]),
            "<= 5 s",
            took["engines"] <= 5,
        ),
        Line(f"{len(rubrics)} rubrics x {RESAMPLES:,}, ordinal fit", s(took["bootstrap"])),
        Line(f"  clusters with {SPLITS} split halves, chance baseline / bootstrap", f"{ratio:.2f}", "<= 2", ratio <= 2),
    ]


def growth(large: bool) -> list[Line]:
    """Fits and resamples of more ratings and rubrics, each in a process of its own."""
    lines = []
    for ratings, rubrics, bar in ((RATINGS, RUBRICS, None), *(LARGE if large else ())):
        command = [sys.executable, __file__, "--one", str(ratings), str(rubrics)]
        took = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        met = bar is None or (took["seconds"] <= bar and took["peak_gb"] <= MEMORY_BAR_GB)
        figure = f"{took['seconds']:.2f} s ({took['fits']:.2f} s fits), peak {took['peak_gb']:.2f} GB"
        limits = "" if bar is None else f"<= {bar:.0f} s, {MEMORY_BAR_GB:.0f} GB"
        lines.append(Line(f"{ratings:,} ratings x {rubrics} x {RESAMPLES:,}", figure, limits, met))
    return lines


def one_size(ratings: int, rubrics: int) -> None:
    """Print what fits and resamples of one size take, as JSON; the peak is that of the process, data included."""
    frame = study(ratings, rubrics)
    boards = [FitSpec(rubric, "config") for rubric in frame["rubric"].unique().sort().to_list()]
    start = time.perf_counter()
    fits = fit_boards(frame, boards)
    fitted = time.perf_counter()
    bootstrap_boards(frame, fits, resamples=RESAMPLES)
    done = time.perf_counter()
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(json.dumps({"seconds": done - start, "fits": fitted - start, "peak_gb": peak_gb}))


def ms(*seconds: float) -> str:
    """Milliseconds, several with a slash between."""
    return " / ".join(f"{1e3 * value:.3g}" for value in seconds) + " ms"


def s(seconds: float) -> str:
    """Seconds."""
    return f"{seconds:.3f} s"


def show(lines: list[Line]) -> None:
    """Print lines as they come in."""
    for line in lines:
        verdict = "" if not line.bar else f"{line.bar:18} {'met' if line.met else 'NOT MET'}"
        print(f"{line.what:66} {line.figure:>32}   {verdict}".rstrip(), flush=True)


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    if "--one" in arguments:
        one_size(*(int(size) for size in arguments[1:]))
        return 0
    print(f"{RATINGS:,} ratings a rubric, {CONFIGS} configs, {PROMPTS} prompts, {RATERS} raters; one thread\n")
    frame, board = study(RATINGS), FitSpec(by="config")
    lists = evalica_lists(frame)
    missed = False
    for part in (
        lambda: one_fit(frame, lists, board),
        lambda: one_bootstrap(frame, lists, board),
        lambda: all_rubrics(study(RATINGS, RUBRICS)),
        lambda: growth("--large" in arguments),
    ):
        lines = part()
        show(lines)
        missed |= not all(line.met for line in lines)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
