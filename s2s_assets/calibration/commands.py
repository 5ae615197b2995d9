"""`s2s calibrate`: simulate studies with a known truth, and write down what the stated intervals are worth."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from s2s_assets.calibration.report import BARS, bar_rows, figures, page, sizes, versions
from s2s_assets.calibration.study import FULL, QUICK, Calibration, steps_of
from s2s_assets.calibration.study import calibrate as run
from s2s_assets.leaderboard import png_width, svg_to_png
from s2s_assets.study.console import console, emit, guard, json_option, people, progress


@click.command()
@click.option(
    "--quick/--full", default=True, show_default=True, help="About a minute, or a quarter of an hour, on two cores."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("docs/calibration.md"),
    show_default=True,
    help="The page in Markdown; its figures go into a folder of its name beside it.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes; nothing depends on it."
)
@json_option
@guard
def command(quick: bool, out: Path, jobs: int, as_json: bool) -> None:
    """What the stated intervals are worth: coverage, false claims about pairs, clusters in noise, by simulation."""
    if out.suffix != ".md":
        raise click.BadParameter(f"{out}: expected the name of a Markdown file, which ends in .md", param_hint="--out")
    for threads in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(threads, "1")  # of the processes, which stand side by side
    effort = QUICK if quick else FULL
    with _writing(out):  # before the work, whose result would have no place
        out.with_suffix("").mkdir(parents=True, exist_ok=True)
    with progress(f"simulated studies ({effort.name})", steps_of(effort)) as advance:
        found = run(effort, jobs, advance)
    drawn = figures(found)
    with _writing(out):
        _write(out, found, drawn)
    if as_json:
        emit(_document(found))
    else:
        _show(found)
    console.print(f"wrote {out} and {len(drawn)} figures in {out.with_suffix('')}", markup=False)


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.BadParameter(f"cannot write {out}: {error.strerror}", param_hint="--out") from error


def _write(out: Path, found: Calibration, drawn: Mapping[str, str]) -> None:
    folder = out.with_suffix("")
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        (folder / f"{name}.png").write_bytes(svg_to_png(svg, png_width(svg)))
    out.write_text(page(found, folder.name), encoding="utf-8")


def _document(found: Calibration) -> dict[str, Any]:
    """All of it as plain values."""
    verdicts = [{"text": BARS[v.bar], **asdict(v)} for v in found.verdicts]
    effort = {"name": found.effort.name, **sizes(found.effort)}
    records = {"coverage": [asdict(c) for c in found.coverage], "clusters": [asdict(c) for c in found.clusters]}
    return {"method_versions": versions(), "effort": effort, **records, "bars": verdicts}


def _show(found: Calibration) -> None:
    table = Table(box=None, pad_edge=False)
    for head in ("what must hold", "designs", "found, %", "met"):
        table.add_column(head, justify="right" if head == "designs" else "left")
    for row in bar_rows(found.verdicts):
        table.add_row(*row)
    people.print(table)
