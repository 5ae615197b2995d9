"""`s2s rank`: rank the entities of a ratings file of one's own, without a study."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
import yaml

from s2s_assets.leaderboard.ranking_files import write_ranking
from s2s_assets.leaderboard.ranking_text import show
from s2s_assets.ranking import FitSpec, rank, rank_specs
from s2s_assets.ratings import Layout, RatingsFile, RepeatsRule, columns_option, read_ratings, scores_option
from s2s_assets.study import By, InputError, RatingsError, Settings, load_study, plural
from s2s_assets.study.console import console, emit, guard, json_option, progress

_NOT_HERE = ("file_row", "excluded_by")
"""Columns of a file that say nothing here: where a row stands, and who excluded it elsewhere."""


def _grouped(path: Path, member: str, groups: str) -> dict[str, str]:
    """Member → group, from a YAML file of group: [members]."""
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from error
    if not isinstance(given, dict) or not all(isinstance(members, list) for members in given.values()):
        raise InputError(f"{path}: expected `name: [{member}, …]` for each of the {groups}")
    found: dict[str, str] = {}
    for group, members in given.items():
        for name in map(str, members):
            if found.setdefault(name, str(group)) != str(group):
                raise InputError(f"{path}: {member} {name!r} is in two {groups}, {found[name]!r} and {group!r}")
    return found


def _families(path: Path | None, needed: bool) -> dict[str, str]:
    """Model → family, from a file, else from the study; read only where needed."""
    if not needed:
        return {}
    return (
        load_study(Settings.from_environment().study).study.families
        if path is None
        else _grouped(path, "model", "families")
    )


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
@click.option(
    "--slice",
    "dimension",
    metavar="NAME",
    help="One ranking a value: category, level, acoustic or another column, or the voice, thinking level or family that "
    "both answers share.",
)
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
    "--voices", type=click.Path(path_type=Path), help="YAML, kind: [model|voice], to slice by. Default: voices' names."
)
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
    dimension: str | None,
    resamples: int,
    seed: int,
    columns: dict[str, str],
    scores: dict[str, int] | None,
    repeats: RepeatsRule,
    families: Path | None,
    voices: Path | None,
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
    frame = read.frame.drop(_NOT_HERE, strict=False)
    if out is not None:
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    by_family = by == "family" or (dimension == "family" and "family" not in frame.columns)
    kinds = {
        "families": _families(families, needed=by_family),
        "voices": None if voices is None else _grouped(voices, "voice", "kinds"),
    }
    specs = rank_specs(frame, rubrics or None, by, dimension, **kinds)
    with progress("resampling", _steps(specs) * resamples) as advance:
        result = rank(
            frame,
            rubrics=rubrics or None,
            by=by,
            slice=dimension,
            resamples=resamples,
            seed=seed,
            progress=advance,
            **kinds,
        )
    result = replace(result, input=read.summary())
    if not result.fits:
        where = "" if dimension is None else f" or is in no slice by {dimension}"
        raise RatingsError(f"{file}: every row compares one {by} with itself{where}, so there is nothing to rank")
    if out is not None:
        with _writing(out):
            page = write_ranking(result, out, title=click.format_filename(file.name))
        console.print(f"written: {page}", markup=False, soft_wrap=True)
    if as_json:
        emit(result.to_json())
    else:
        show(result)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error


def _steps(specs: Sequence[FitSpec]) -> int:
    """How often each resample is counted: for every board, and with slices for the wholes that they are parts of."""
    return len(specs) + len({spec.rubric for spec in specs if spec.slice_dimension != "all"})


def _tell(read: RatingsFile) -> None:
    """What was left out or looks odd, in words."""
    for rejected in read.rejected[:10]:
        console.print(f"row {rejected.row} rejected: {rejected.reason}", markup=False, soft_wrap=True)
    if len(read.rejected) > 10:
        console.print(f"… and {plural(len(read.rejected) - 10, 'more row')}; --json lists all", markup=False)
    repeated = read.repeats.identical + read.repeats.conflicting
    if repeated:
        console.print(
            f"warning: {plural(repeated, 'row repeats', 'rows repeat')} a rater, prompt, pair and rubric "
            f"({read.repeats.conflicting:,} with another score); see --repeats",
            markup=False,
            soft_wrap=True,
        )
