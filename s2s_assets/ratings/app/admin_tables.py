"""The admin pages' tables: sorted, searched and cut into pages by what the address says."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

from s2s_assets.ratings.app.context import Context
from s2s_assets.ratings.progress import (
    pairs_progress,
    problems_told,
    progress_by,
    raters_progress,
    responses_progress,
)
from s2s_assets.ratings.records import exclusions_told
from s2s_assets.ratings.review import scripts_review
from s2s_assets.ratings.verdicts import verdicts_to_take

ROWS = 100
_LONG_ID = re.compile("[0-9a-f]{32,}")
_DIGITS = 12
LINKS = {
    "invitation": "/admin/invitation?id=",
    "prompt": "/admin/prompt?id=",
    "rater": "/admin/rater?name=",
    "rating": "/admin/rating?id=",
    "script": "/admin/script?name=",
    **dict.fromkeys(("response", "response_a", "response_b", "against"), "/admin/response?id="),
}
"""Columns whose cells lead somewhere."""


@dataclass(frozen=True)
class TableOf:
    """A table that has a page."""

    title: str
    about: str
    read: Callable[[Context], pl.DataFrame]
    sort: str
    descending: bool = False


@dataclass(frozen=True)
class Arranged:
    """Some rows of a table, as a page shows them."""

    columns: tuple[str, ...]
    numbers: frozenset[str]
    rows: list[dict[str, Any]]
    total: int
    page: int
    pages: int
    sort: str
    descending: bool
    find: str

    def address(self, **changed: Any) -> str:
        """The query of this arrangement with something changed."""
        told = {"sort": self.sort, "order": "desc" if self.descending else "asc", "find": self.find, "page": self.page}
        return "?" + urlencode({k: v for k, v in (told | changed).items() if v not in ("", 1)})

    def turned(self, column: str) -> str:
        """The query that sorts by a column; by the one that it is sorted by already, the other way round."""
        down = not self.descending if column == self.sort else column in self.numbers
        return self.address(sort=column, order="desc" if down else "asc", page=1)


def arrange(frame: pl.DataFrame, asked: Mapping[str, str], sort: str, descending: bool = False) -> Arranged:
    """The rows of a frame that a query asks for: `find` (part of any text), `sort`, `order` (asc, desc), `page` (from 1).

    Args:
        frame: The whole table.
        asked: The query; what it asks wrongly is ignored.
        sort: Column to sort by where the query names none.
        descending: Its direction.
    """
    find = asked.get("find", "").strip()[:200]
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    if find:
        has = (pl.col(name).str.to_lowercase().str.contains(find.lower(), literal=True) for name in texts)
        frame = frame.filter(pl.any_horizontal(*has).fill_null(value=False)) if texts else frame.clear()
    if asked.get("sort") in frame.columns:
        sort, descending = asked["sort"], asked.get("order") == "desc"
    ordered = frame.sort(sort, descending=descending, nulls_last=True, maintain_order=True)
    pages = max(1, -(-frame.height // ROWS))
    number = asked.get("page", "")
    page = min(pages, max(1, int(number))) if number.isascii() and number.isdecimal() and len(number) < 9 else 1
    numbers = frozenset(name for name, kind in frame.schema.items() if kind.is_numeric())
    rows = ordered.slice((page - 1) * ROWS, ROWS).to_dicts()
    return Arranged(tuple(frame.columns), numbers, rows, frame.height, page, pages, sort, descending, find)


def shown(value: Any) -> str:
    """A cell as text; of an id that is a long hash, its first digits, by which it can be found."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.3f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return f"{value:%Y-%m-%d}"
    return f"{value[:_DIGITS]}…" if _LONG_ID.fullmatch(str(value)) else str(value)


def leads(column: str, value: Any) -> str | None:
    """Where a cell leads, if anywhere."""
    start = LINKS.get(column)
    return None if start is None or value is None else start + quote(str(value), safe="")


def _pairs(context: Context) -> pl.DataFrame:
    columns = ("prompt", "config_a", "config_b", "state", "slots", "done", "leased", "open", "problems")
    return pairs_progress(context.store).select(*columns, "response_a", "response_b")


def _by(name: str) -> Callable[[Context], pl.DataFrame]:
    return lambda context: progress_by(pairs_progress(context.store), name)


def _recordings(context: Context) -> pl.DataFrame:
    recorded = context.recorded.frame()
    return scripts_review(recorded, context.desk.scripts.values(), verdicts_to_take(context.store, recorded))


def _flags(context: Context) -> pl.DataFrame:
    """Flags of raters and single answers, with the response that an answer is about."""
    look = context.watch.look()
    flagged = look.quality.filter(pl.col("flag").is_not_null() & pl.col("scope").is_in(["rater", "rating"]))
    asked = look.ratings.select("rating_id", "rater", "rubric", "response_a", "response_b")
    joined = flagged.join(asked, left_on="name", right_on="rating_id", how="left")
    of_rater = pl.when(pl.col("scope") == "rater").then("name").otherwise("rater")
    return joined.select(
        "flag",
        "effect",
        pl.when(pl.col("scope") == "rating").then("name").alias("rating"),
        of_rater.alias("rater"),
        "rubric",
        "measure",
        "value",
        "n",
        "response_a",
        "response_b",
    )


TABLES: Mapping[str, TableOf] = {
    "configs": TableOf("Configs", "A pair counts for both of its configs.", _by("config"), "open", descending=True),
    "prompts": TableOf(
        "Prompts", "Slots of open pairs. Listen to one by its id.", _by("prompt"), "open", descending=True
    ),
    "pairs": TableOf("Pairs", "Two reported problems hold a pair back.", _pairs, "open", descending=True),
    "responses": TableOf(
        "Responses", "Listen to one by its id.", lambda c: responses_progress(c.store), "problems", descending=True
    ),
    "raters": TableOf(
        "Raters",
        "Tasks done and leased; times are UTC.",
        lambda c: raters_progress(c.store),
        "last_at",
        descending=True,
    ),
    "recordings": TableOf(
        "Recordings",
        "Listen to a script's recordings by its name; a script waits while the prompts do not have its newest verdict.",
        _recordings,
        "state",
        descending=True,
    ),
    "problems": TableOf(
        "Problems", "What raters reported instead of a vote.", lambda c: problems_told(c.store), "at", descending=True
    ),
    "flags": TableOf("Flags", "What the cleaning rules say; listen to an answer's clips by its id.", _flags, "flag"),
    "exclusions": TableOf(
        "Exclusions",
        "What does not count, by whom and why; nothing is deleted.",
        lambda c: exclusions_told(c.store),
        "created_at",
        descending=True,
    ),
}
