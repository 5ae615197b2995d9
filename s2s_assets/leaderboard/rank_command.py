"""`s2s rank`: rank the entities of a ratings file of one's own, without a study."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from s2s_assets.drawing import undrawable
from s2s_assets.leaderboard.ranking_files import write_ranking
from s2s_assets.leaderboard.ranking_text import show
from s2s_assets.ranking import FitSpec, RankResult, rank, rank_specs
from s2s_assets.ratings import Reading, by_option, families_option, reading_options
from s2s_assets.study import By, RatingsError, families_of, read_groups
from s2s_assets.study.console import emit, guard, json_option, progress, remark, writing

_NOT_HERE = ("file_row", "excluded_by")
"""Columns of a file that say nothing here: where a row stands, and who excluded it elsewhere."""
_SHOWN = 12
"""Characters without a picture that are named."""
_FEW_RESAMPLES = 200
"""Below it, five resamples or fewer lie beyond either end of a 95 % interval."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rubric", "rubrics", multiple=True, help="Rank by this rubric; repeatable. Default: all.")
@by_option
@click.option(
    "--slice",
    "dimension",
    metavar="NAME",
    help="One ranking a value: category, level, acoustic or another column, or the voice, thinking level or family that "
    "both answers share.",
)
@click.option("--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="0: no bootstrap.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resampling.")
@reading_options
@families_option
@click.option(
    "--voices", type=click.Path(path_type=Path), help="YAML, kind: [model|voice], to slice by. Default: voices' names."
)
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
    reading: Reading,
    families: Path | None,
    voices: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Rank the entities of FILE, a table of comparisons (CSV, JSON lines or Parquet).

    Needed columns: prompt, rater, config_a, config_b, score (-3..3, above 0: config_a is better).
    """
    read = reading.read(file, remark)
    frame = read.frame.drop(_NOT_HERE, strict=False)
    if 0 < resamples < _FEW_RESAMPLES:
        remark(f"warning: the ends of a 95 % interval are hardly known from {resamples} resamples; 1000 are usual")
    if out is not None:
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    by_family = by == "family" or (dimension == "family" and "family" not in frame.columns)
    kinds = {
        "families": families_of(families) if by_family else {},
        "voices": None if voices is None else read_groups(voices, "voice", "kinds"),
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
        with writing(out):
            page = write_ranking(result, out, title=click.format_filename(file.name))
        remark(f"written: {page}")
        _tell_boxes(result)
    if as_json:
        emit(result.to_json())
    else:
        show(result)


def _tell_boxes(result: RankResult) -> None:
    """Say which names the PNG files cannot show."""
    names = dict.fromkeys(n for fit in result.fits for n in (fit.spec.rubric, *(e.entity for e in fit.entities)))
    boxed = [name for name in names if undrawable(name)]
    if boxed:
        more = f" and {len(boxed) - 1} more" if len(boxed) > 1 else ""
        remark(
            f"note: {boxed[0]!r}{more}: boxes stand for {undrawable(''.join(boxed))[:_SHOWN]} in the PNG files, whose font lacks "
            "them; the page and the SVG files show them"
        )


def _steps(specs: Sequence[FitSpec]) -> int:
    """How often each resample is counted: for every board, and with slices for the wholes that they are parts of."""
    return len(specs) + len({spec.rubric for spec in specs if spec.slice_dimension != "all"})
