"""`s2s rank`: rank the entities of a ratings file of one's own, without a study."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import polars as pl
import yaml
from rich.table import Table

from s2s_assets.leaderboard.diagnosis import sentences
from s2s_assets.leaderboard.numbers import lettered
from s2s_assets.leaderboard.ranking_files import write_ranking
from s2s_assets.ranking import (
    BoardFit,
    BoardIntervals,
    EntityFit,
    EntityInterval,
    RankResult,
    rank,
    rank_specs,
    within_models,
)
from s2s_assets.ratings import Layout, RatingsFile, RepeatsRule, columns_option, read_ratings, scores_option
from s2s_assets.study import DIMENSIONS, By, Dimension, InputError, RatingsError, Settings, load_study
from s2s_assets.study.console import console, emit, guard, json_option, people, progress

_RANKED = ("prompt", "rater", "rubric", "config_a", "config_b", "score", "first", *DIMENSIONS)
"""Columns that a ranking uses; a file's own `source` or `excluded_by` says nothing here."""


def _families(path: Path | None, by: By) -> dict[str, str]:
    """Model → family, from a file of family: [models], else from the study; read only where needed."""
    if by != "family":
        return {}
    if path is None:
        return load_study(Settings.from_environment().study).study.families
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from error
    if not isinstance(given, dict) or not all(isinstance(models, list) for models in given.values()):
        raise InputError(f"{path}: expected `family: [models]` for each family")
    families: dict[str, str] = {}
    for family, models in given.items():
        for model in map(str, models):
            if families.setdefault(model, str(family)) != str(family):
                raise InputError(f"{path}: model {model!r} is in two families, {families[model]!r} and {family!r}")
    return families


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rubric", "rubrics", multiple=True, help="Rank by this rubric; repeatable. Default: all.")
@click.option(
    "--by",
    type=click.Choice(["config", "model", "voice", "thinking", "family"]),
    default="config",
    show_default=True,
    help="What is ranked; all but config need config keys.",
)
@click.option("--slice", "dimension", type=click.Choice(DIMENSIONS), help="One ranking a value.")
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="0: no bootstrap.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resampling.")
@columns_option
@scores_option
@click.option(
    "--repeats",
    type=click.Choice(["keep", "once", "error"]),
    default="keep",
    show_default=True,
    help="Which rows of one rater, prompt, pair and rubric count, where there are no rating ids.",
)
@click.option("--families", type=click.Path(path_type=Path), help="YAML, family: [models]. Default: the study's.")
@click.option(
    "--layout",
    type=click.Choice(["answers", "wide", "lmarena"]),
    default="answers",
    show_default=True,
    help="How the file is arranged: one answer a row, one column a rubric, or the arena's columns.",
)
@click.option("--allow-rejects", is_flag=True, help="Rank the rest even if more than 5 % of the rows are rejected.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for tables, plots and the page.")
@json_option
@guard
def command(
    file: Path,
    rubrics: tuple[str, ...],
    by: By,
    dimension: Dimension | None,
    resamples: int,
    seed: int,
    columns: dict[str, str],
    scores: dict[str, int] | None,
    repeats: RepeatsRule,
    families: Path | None,
    layout: Layout,
    allow_rejects: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Rank the entities of FILE, a table of comparisons (CSV, JSON lines or Parquet).

    Needed columns: prompt, rater, config_a, config_b, score (-3..3, above 0: config_a is better).
    """
    read = read_ratings(file, columns=columns, scores=scores, repeats=repeats, layout=layout)
    _tell(read)
    if not allow_rejects:
        read.refuse_many_rejected()
    if read.frame.is_empty():
        raise RatingsError(f"{file}: no row counts, so there is nothing to rank")
    frame = read.frame.select(c for c in _RANKED if c in read.frame.columns)
    if out is not None:
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)  # before the work, not after it

    def ranked(advance: Callable[[int], None]) -> RankResult:
        return rank(
            frame,
            rubrics=rubrics or None,
            by=by,
            slice=dimension,
            resamples=resamples,
            seed=seed,
            families=_families(families, by),
            progress=advance,
        )

    with progress("resampling", _steps(frame, rubrics, by, dimension) * resamples) as advance:
        result = replace(ranked(advance), input=read.summary())
    if not result.fits:
        where = "" if dimension is None else f" or is on a prompt without {dimension}"
        raise RatingsError(f"{file}: every row compares one {by} with itself{where}, so there is nothing to rank")
    if out is not None:
        with _writing(out):
            page = write_ranking(result, out, title=click.format_filename(file.name))
        console.print(f"written: {page}", markup=False, soft_wrap=True)
    if as_json:
        emit(result.to_json())
    else:
        _show(result)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error


def _steps(frame: pl.DataFrame, rubrics: tuple[str, ...], by: By, dimension: Dimension | None) -> int:
    """How often each resample is counted: for every board, and with slices for the wholes that they are parts of."""
    specs = rank_specs(frame, rubrics or None, by, dimension)
    return len(specs) + (len({spec.rubric for spec in specs}) if dimension else 0)


def _tell(read: RatingsFile) -> None:
    """What was left out or looks odd, in words."""
    for rejected in read.rejected[:10]:
        console.print(f"row {rejected.row} rejected: {rejected.reason}", markup=False, soft_wrap=True)
    if len(read.rejected) > 10:
        console.print(f"… and {len(read.rejected) - 10} more rows; --json lists all", markup=False)
    repeated = read.repeats.identical + read.repeats.conflicting
    if repeated:
        console.print(
            f"warning: {repeated} rows repeat a rater, prompt, pair and rubric ({read.repeats.conflicting} with another "
            "score); see --repeats",
            markup=False,
            soft_wrap=True,
        )


def _show(result: RankResult) -> None:
    """A table a fit, for people."""
    for fit, intervals in zip(result.fits, result.intervals, strict=True):
        people.print(_heading(fit))
        for reason in filter(None, (fit.reason, intervals.reason)):
            people.print(f"  note: {reason}")
        people.print(_table(fit, intervals))
        _show_diagnostics(fit, intervals)
    if any(e.letters for i in result.intervals for e in i.entities):
        people.print(
            "names without a letter in common are told apart, all pairs of a table together (see docs/method.md)"
        )


def _show_diagnostics(fit: BoardFit, intervals: BoardIntervals) -> None:
    """What is known about the fit beside its ranking, in words."""
    for pair in within_models(fit, intervals):
        ends = _range(pair.ci_low, pair.ci_high)
        gap = "" if pair.difference is None else f"{pair.difference:+.0f}"
        people.print(f"  {pair.a} against {pair.b}: {gap} Elo ({ends})")
    said = sentences(intervals.diagnostics) if intervals.diagnostics else []
    if said:
        people.print("  diagnostics:")
    for sentence in said:
        people.print(f"  - {sentence}")
    people.print()


def _heading(fit: BoardFit) -> str:
    where = "" if fit.spec.slice_dimension == "all" else f", {fit.spec.slice_dimension} {fit.spec.slice_value}"
    status = "" if fit.status == "ok" else f" [{fit.status}]"
    counts = f"{fit.n_ratings} ratings, {fit.n_raters} raters, {fit.n_prompts} prompts; 95 % intervals"
    within = f"; {fit.n_within} within one entity left out" if fit.n_within else ""
    return f"{fit.spec.rubric} by {fit.spec.by}{where}{status}: {counts}{within}"


def _table(fit: BoardFit, intervals: BoardIntervals) -> Table:
    """Ranks, intervals and letters; a slice has its difference to the whole in place of the sandwich."""
    sliced = any(i.delta is not None for i in intervals.entities)
    table = Table(box=None)
    for title in (
        "rank",
        "range",
        "letters",
        "Elo",
        "bootstrap",
        "Δ to the whole" if sliced else "sandwich",
        "ratings",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("entity", no_wrap=True)
    for entity, interval in zip(fit.entities, intervals.entities, strict=True):
        table.add_row(*_cells(entity, interval, sliced))
    # as wide as it is: a name stays whole, also where the output is piped or the window narrow
    table.width = people.measure(table, options=people.options.update(max_width=sys.maxsize)).maximum
    return table


def _cells(entity: EntityFit, interval: EntityInterval, sliced: bool) -> tuple[str, ...]:
    bound = entity.bound or interval.bound
    return (
        str(entity.rank),
        _range(interval.rank_low, interval.rank_high),
        lettered(interval.letters) if interval.letters else "",
        (bound or "") if entity.elo is None else f"{entity.elo:.0f}",
        _range(interval.ci_low, interval.ci_high, bound),
        _delta(interval) if sliced else _range(interval.sandwich_low, interval.sandwich_high),
        str(entity.n_ratings),
        entity.entity,
    )


def _delta(interval: EntityInterval) -> str:
    """Difference to the whole with its interval, where it has one."""
    ends = _range(interval.delta_low, interval.delta_high)
    return "" if interval.delta is None else f"{interval.delta:+.0f} ({ends})" if ends else f"{interval.delta:+.0f}"


def _range(low: Any, high: Any, bound: str | None = None) -> str:
    """Both ends, an infinite one as such; nothing where there is no interval."""
    if low is None and high is None:
        return ""
    left = "-∞" if low is None and bound in {"below", "both"} else "" if low is None else f"{low:.0f}"
    right = "∞" if high is None and bound in {"above", "both"} else "" if high is None else f"{high:.0f}"
    return f"{left} – {right}"
