"""How every command speaks: results on standard output, all else on standard error, three exit codes.

A result is one JSON document with `--json`, and tables and words for people without. Progress, warnings and errors go to
standard error either way.

Exit status 0: did what was asked; 2: the input or the call is wrong; 1: anything else that was foreseen.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from s2s_assets.study.errors import InputError, S2SError

P = ParamSpec("P")
R = TypeVar("R")

console = Console(stderr=True, highlight=False)
"""Progress, warnings and errors, on standard error."""

people = Console(markup=False, highlight=False, soft_wrap=True)
"""Tables and words for people in the place of the JSON document, on standard output."""


def whole(table: Table) -> Table:
    """The table as wide as it is: a name stays whole, also where the output is piped or the window narrow."""
    table.width = people.measure(table, options=people.options.update(max_width=sys.maxsize)).maximum
    return table


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")


def emit(document: Any) -> None:
    """Print one JSON document on standard output.

    Raises:
        ValueError: NaN or infinity in the document.
    """
    click.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1))


def remark(line: str) -> None:
    """Say one line on standard error, as it is."""
    console.print(line, markup=False, soft_wrap=True)


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Write into a folder that the caller named.

    Raises:
        InputError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error


def guard(command: Callable[P, R]) -> Callable[P, R]:
    """Turn the package's own errors into one message and an exit status: 2 for bad input, else 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except S2SError as error:
            console.print(f"[red]error[/red] {type(error).__name__}: ", end="")
            console.print(str(error), markup=False, soft_wrap=True)
            sys.exit(2 if isinstance(error, InputError) else 1)

    return guarded


@contextmanager
def progress(description: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error while the block runs; yields a function that advances by so many steps.

    Nothing is drawn where standard error is no terminal.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(description, total=total)
        yield lambda steps: bars.advance(task, steps)
