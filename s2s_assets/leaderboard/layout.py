"""The page as data: tables, charts and sections, ready to be rendered and to be stored as JSON beside a draft.

A sealed page is rendered from the stored content of the draft that was looked at, so sealing computes nothing anew.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "number", "text", "drawing"]
Order = Literal["none", "ascending", "descending"]


def captioned(text: str, *, simulated: bool) -> str:
    """A caption that says what kind of ratings its table or chart is made from."""
    return f"{text} (simulated ratings)" if simulated else text


@dataclass(frozen=True)
class Head:
    """A column of a table on the page."""

    text: str
    kind: Kind = "number"
    order: Order = "none"
    """How the rows stand at first."""


@dataclass(frozen=True)
class Cell:
    """A cell: what is printed, and the number it sorts by."""

    text: str = ""
    v: float | None = None
    drawing: tuple[int | None, int, int | None] | None = None
    """Low end, point and high end on 0..200; None for an end without bound."""
    mark: str = ""
    """A class for a mark, beside the word."""


@dataclass(frozen=True)
class Table:
    """A table with its caption; every row has one cell a head."""

    id: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    middle: int | None = None
    """Where the drawings' 1000 lies on 0..200."""


@dataclass(frozen=True)
class Part:
    """A piece of a section: a chart and tables, folded away under a summary where it has one."""

    id: str = ""
    summary: str = ""
    paragraphs: tuple[str, ...] = ()
    chart: str = ""
    """SVG made by `charts`."""
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    id: str
    title: str
    paragraphs: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    weight: int = 0
    """Sections of the highest weight are the first to be left to the downloads where a page grows too long; 0 stays."""
