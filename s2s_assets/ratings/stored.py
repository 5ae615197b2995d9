"""The answers that a database holds, in columns: millions of them in a few seconds and little memory.

The database itself makes a line of JSON of each row and one text of so many lines, so that no cell ever becomes a Python
object. What many answers share (a pair's names, a rater's) is read once and looked up by row
number; answers stay narrow until somebody asks for some of them in full.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    type_coerce,
)

from s2s_assets.ratings.reorder import reorder
from s2s_assets.ratings.schema import UtcTime, answer, assignment, media, pair, rater
from s2s_assets.ratings.settled import HALF, exclusions_at, version_of
from s2s_assets.ratings.store import RatingsStore

LATE = "late"
SOURCES = ("baseline", "adaptive", "imported")
"""Where an answer can come from."""
_PAGE = 4_000
_TIME = pl.Datetime("us", "UTC")
_TIMES = "%Y-%m-%d %H:%M:%S%.f"
_JSON = {pl.Categorical: pl.String, _TIME: pl.String, pl.Boolean: pl.Int64, pl.Int8: pl.Int64, pl.Int32: pl.Int64}
"""Types as JSON holds them."""
_PAIR_NAMES = (
    "pair", "prompt", "config_a", "config_b", "response_a", "response_b", "category", "level", "acoustic"
)  # fmt: skip
_ANSWER: Mapping[str, Any] = {
    "id": pl.Int64,
    "rating_id": pl.String,
    "assignment_id": pl.Int64,
    "pair_id": pl.Int64,
    "rater_id": pl.Int64,
    "rubric": pl.Categorical,
    "score": pl.Int8,
    "screen_value": pl.Int8,
    "first": pl.Enum(["a", "b"]),
    "submitted_at": _TIME,
    "elapsed_ms": pl.Int32,
    "source": pl.Enum(SOURCES),
    "simulated": pl.Boolean,
    "mark": pl.Int64,
}

_RATER: Mapping[str, Any] = {"id": pl.Int64, "rater": pl.String, "attributes": pl.String}


@dataclass(frozen=True)
class StoredAnswers:
    """The answers that landed at or before a time, and what they are about."""

    version: str
    answers: pl.DataFrame
    """Narrow, sorted by `rating_id`; `pair_row` and `rater_row` are rows of the other two; `late` says which are."""
    pairs: pl.DataFrame
    """`id`, the names and attributes of a pair, and `heard_s`, the length of prompt and both responses."""
    raters: pl.DataFrame
    """`id`, `rater` and their `attributes` as JSON text."""
    exclusions: list[dict[str, Any]]
    """In force at that time (`exclusions_at`)."""


def stored_answers(store: RatingsStore, watermark: datetime, *, extra: bool = False) -> StoredAnswers:
    """Read the answers that landed at or before an aware time, with `extra` as JSON text where it is wanted."""
    columns = {**_ANSWER, "extra": pl.String} if extra else dict(_ANSWER)
    with store.reading() as connection:
        late = _read(connection, select(assignment.c.id).where(assignment.c.state == LATE), {"id": pl.Int64})["id"]
        pairs = _pairs(connection)
        raters = _read(connection, select(*rater.c["id", "name", "attributes"]), _RATER)
        exclusions = exclusions_at(connection, watermark)
        parts, low, high = [], 0, 0
        query = select(*answer.c[tuple(columns)]).where(answer.c.landed_at <= watermark)
        for page in _pages(connection, query, columns):
            low += int((page["mark"] & (2**HALF - 1)).sum())
            high += int((page["mark"] // 2**HALF).sum())
            parts.append(_narrow(page, pairs["id"], raters["id"], late))
    nothing = _narrow(pl.DataFrame(schema=columns), pairs["id"], raters["id"], late)
    answers = pl.concat([nothing, *parts])
    del parts
    version = version_of(answers.height, low, high, exclusions)
    reorder(answers, answers["rating_id"].arg_sort())
    return StoredAnswers(version, answers, pairs, raters, exclusions)


def _narrow(page: pl.DataFrame, pairs: pl.Series, raters: pl.Series, late: pl.Series) -> pl.DataFrame:
    """Answers with rows in the place of the sorted ids of pairs and raters."""
    return page.select(
        pl.exclude("id", "mark", "assignment_id", "pair_id", "rater_id"),
        pair_row=pairs.search_sorted(page["pair_id"]).cast(pl.UInt32),
        rater_row=raters.search_sorted(page["rater_id"]).cast(pl.UInt32),
        late=page["assignment_id"].is_in(late.implode()).fill_null(value=False),
    )


def _pairs(connection: Connection) -> pl.DataFrame:
    prompt, a, b = media.alias(), media.alias(), media.alias()
    joined = (
        pair.outerjoin(prompt, (prompt.c.kind == "prompt") & (prompt.c.subject == pair.c.prompt))
        .outerjoin(a, (a.c.kind == "response") & (a.c.subject == pair.c.response_a))
        .outerjoin(b, (b.c.kind == "response") & (b.c.subject == pair.c.response_b))
    )
    heard_s = prompt.c.duration_s + a.c.duration_s + b.c.duration_s
    query = select(pair.c.id, *pair.c[_PAIR_NAMES], heard_s.label("heard_s")).select_from(joined)
    names = dict.fromkeys(_PAIR_NAMES, pl.String)
    return _read(connection, query, {"id": pl.Int64, **names, "heard_s": pl.Float64})


def _read(connection: Connection, query: "Select[Any]", schema: Mapping[str, Any]) -> pl.DataFrame:
    """A query's rows in the order of `id`, its first column, named and typed as the schema has them."""
    return pl.concat([pl.DataFrame(schema=schema), *_pages(connection, query, schema)])


def _pages(connection: Connection, query: "Select[Any]", schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    postgres = connection.dialect.name == "postgresql"
    key = query.selected_columns[0]
    some = query.where(key > bindparam("after")).order_by(key).limit(_PAGE).subquery()
    told = (_told(column, postgres).label(name) for name, column in zip(schema, some.c, strict=True))
    page = select(*told).subquery("page")
    if postgres:
        lines = func.string_agg(cast(func.row_to_json(literal_column("page")), Text), literal_column("chr(10)"))
    else:
        cells = (part for name in schema for part in (literal_column(f"'{name}'"), page.c[name]))
        lines = func.group_concat(func.json_object(*cells), literal_column("char(10)"))
    text = select(lines, func.max(page.c.id)).select_from(page)
    after = 0
    while True:
        found, last = connection.execute(text, {"after": after}).one()
        if found is None:
            return
        yield _parsed(found, schema)
        after = last


def _told(column: "ColumnElement[Any]", postgres: bool) -> "ColumnElement[Any]":
    """A cell as JSON holds it, times as text and yes or no as 1 or 0."""
    if isinstance(column.type, UtcTime):
        return func.to_char(column, "YYYY-MM-DD HH24:MI:SS.US") if postgres else type_coerce(column, Text)
    if isinstance(column.type, Boolean):
        return cast(column, Integer)
    return cast(column, Text) if isinstance(column.type, JSON) else column


def _parsed(lines: str, schema: Mapping[str, Any]) -> pl.DataFrame:
    told = {name: pl.String if isinstance(kind, pl.Enum) else _JSON.get(kind, kind) for name, kind in schema.items()}
    frame = pl.read_ndjson(io.BytesIO(lines.encode()), schema=told)
    times = [
        pl.col(name).str.to_datetime(_TIMES, time_unit="us", time_zone="UTC")
        for name, kind in schema.items()
        if kind == _TIME
    ]
    # the parser leaves many small pieces, each with room to spare
    typed = frame.with_columns(times).select(pl.col(name).cast(kind) for name, kind in schema.items())
    return typed.rechunk()
