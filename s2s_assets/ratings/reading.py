"""A ratings file on the command line: the options that say how to read it, and what people are told of it."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from s2s_assets.ratings.files import RatingsFile, RepeatsRule, read_ratings
from s2s_assets.ratings.layouts import Layout
from s2s_assets.ratings.options import columns_option, scores_option
from s2s_assets.study import RatingsError, plural

R = TypeVar("R")
_TOLD = 10
"""Rejected rows that are named to people."""

_OPTIONS = (
    columns_option,
    scores_option,
    click.option(
        "--repeats",
        type=click.Choice(["keep", "once", "error"]),
        default="keep",
        show_default=True,
        help="Which rows of one rater, prompt, pair and rubric count, where there are no rating ids.",
    ),
    click.option(
        "--layout",
        type=click.Choice(["answers", "wide", "lmarena"]),
        default="answers",
        show_default=True,
        help="How the file is arranged: one answer a row, one column a rubric, or the arena's columns.",
    ),
    click.option("--allow-rejects", is_flag=True, help="Go on even if more than 5 % of the rows are rejected."),
)


@dataclass(frozen=True)
class Reading:
    """How a file is to be read."""

    columns: dict[str, str]
    scores: dict[str, int] | None
    repeats: RepeatsRule
    layout: Layout
    allow_rejects: bool

    def read(self, file: Path, tell: Callable[[str], None]) -> RatingsFile:
        """Read a file and tell people what was left out of it or looks odd.

        Args:
            file: the file.
            tell: says one line to people.

        Raises:
            RatingsError: as `read_ratings`; too many rows rejected; no row that counts.
        """
        read = read_ratings(file, columns=self.columns, scores=self.scores, repeats=self.repeats, layout=self.layout)
        for line in (*self._rubrics(read), *_remarks(read)):
            tell(line)
        if not self.allow_rejects:
            read.refuse_many_rejected()
        if read.frame.is_empty():
            raise RatingsError(f"{file}: no row counts, so there is nothing to rank")
        return read

    def _rubrics(self, read: RatingsFile) -> Iterator[str]:
        """The columns that were taken for scores, where the file does not say which they are."""
        if self.layout == "wide":
            yield f"columns read as rubrics: {', '.join(read.frame['rubric'].unique().sort())}; see --rubric"


def _remarks(read: RatingsFile) -> Iterator[str]:
    for rejected in read.rejected[:_TOLD]:
        yield f"row {rejected.row} rejected: {rejected.reason}"
    if len(read.rejected) > _TOLD:
        yield f"… and {plural(len(read.rejected) - _TOLD, 'more row')}; --json lists all"
    repeated = read.repeats.identical + read.repeats.conflicting
    if repeated:
        yield (
            f"warning: {plural(repeated, 'row repeats', 'rows repeat')} a rater, prompt, pair and rubric "
            f"({read.repeats.conflicting:,} with another score); see --repeats"
        )


def reading_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the options of a ratings file; it takes them as one argument, `reading`."""

    @functools.wraps(command)
    def with_reading(
        *,
        columns: dict[str, str],
        scores: dict[str, int] | None,
        repeats: RepeatsRule,
        layout: Layout,
        allow_rejects: bool,
        **others: Any,
    ) -> R:
        return command(reading=Reading(columns, scores, repeats, layout, allow_rejects), **others)

    decorated: Callable[..., R] = with_reading
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
