"""`s2s study check` and `s2s study new`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Column, Table
from rich.text import Text

from s2s_assets.study.check import StudyReport, check_study
from s2s_assets.study.console import console, emit, guard, json_option, people
from s2s_assets.study.findings import Finding
from s2s_assets.study.freeze import FreezeReader
from s2s_assets.study.new import new_study
from s2s_assets.study.scripts import LEVELS
from s2s_assets.study.words import plural

_SHOWN = 12
"""Findings of one kind that are printed before the rest are counted."""


@click.group()
def study() -> None:
    """Check a study folder, or make a new one."""


@study.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
@click.pass_context
@guard
def check(ctx: click.Context, folder: Path, *, as_json: bool) -> None:
    """Validate FOLDER and print what is missing or out of balance."""
    report = check_study(folder, ctx.find_object(FreezeReader))
    if as_json:
        emit(report.document())
    else:
        _show(folder, report)
    sys.exit(0 if report.ok else 2)


@study.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
@guard
def new(folder: Path, *, as_json: bool) -> None:
    """Make FOLDER from the template; a folder that holds something is refused."""
    files = new_study(folder)
    if as_json:
        emit({"folder": str(folder), "files": files})
        return
    shown = click.format_filename(folder)
    people.print(f"{shown}: {', '.join(files)}")
    people.print(f"next: edit {shown}/study.yaml, then `s2s study check {shown}`")


def _show(folder: Path, report: StudyReport) -> None:
    if report.balance:
        _show_balance(report.balance)
    _show_findings("error", "red", report.errors)
    _show_findings("warning", "yellow", report.warnings)
    verdict = "ok" if report.ok else "not ok"
    counts = f"{plural(len(report.errors), 'error')}, {plural(len(report.warnings), 'warning')}"
    people.print(f"{click.format_filename(folder)}: {verdict}, {counts}")


def _show_findings(kind: str, colour: str, findings: Sequence[Finding]) -> None:
    shown: dict[tuple[str, str], int] = {}
    for finding in findings:
        count = shown[finding.file, finding.key] = shown.get((finding.file, finding.key), 0) + 1
        if count <= _SHOWN:
            console.print(Text.assemble((kind, colour), f" {finding}"), soft_wrap=True)
    for (file, key), count in shown.items():
        if count > _SHOWN:
            console.print(Text.assemble((kind, colour), f" {file}: {key}: and {count - _SHOWN} more, see --json"))


def _show_balance(balance: dict[str, Any]) -> None:
    table = Table(title="Clean prompts by category and level", title_justify="left")
    for name in ("category", *LEVELS, "all"):
        table.add_column(name, justify="left" if name == "category" else "right")
    for category, cells in balance["category_level"].items():
        table.add_row(Text(category), *(str(cells[level]) for level in LEVELS), str(sum(cells.values())))
    people.print(table)
    counts = Table("", Column(overflow="fold"), show_header=False)
    for name, value in balance.items():
        if name != "category_level":
            counts.add_row(name.replace("_", " "), Text(_spoken(value)))
    people.print(counts)


def _spoken(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return "\n".join(value) if isinstance(value, list) else str(value)
