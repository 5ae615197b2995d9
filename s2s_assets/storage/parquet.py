"""A table as Parquet bytes: equal rows give equal bytes, whatever pieces they were made of.

A table that would fill the memory is a query that makes its rows some at a time (`in_pieces`), and is written as they come.
"""

import io
from collections.abc import Callable, Iterator

import polars as pl
from polars.io.plugins import register_io_source

from s2s_assets.study import StoreError

Rows = pl.DataFrame | pl.LazyFrame
"""A table in memory, or the query that makes it."""
_ROWS_PER_GROUP = 100_000


def in_pieces(schema: pl.Schema, pieces: Callable[[], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """The query whose rows are those of the pieces; they are made anew each time it runs, and at least one there must be."""

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, left: int | None, _at_once: int | None
    ) -> Iterator[pl.DataFrame]:
        for piece in pieces():
            some = piece if left is None else piece.head(left)
            left = None if left is None else left - some.height
            chosen = some if predicate is None else some.filter(predicate)
            yield chosen if columns is None else chosen.select(columns)
            if left == 0:
                return

    return register_io_source(source, schema=schema)


def to_parquet(rows: Rows) -> bytes:
    """A table as zstd-compressed Parquet with statistics.

    Raises:
        StoreError: a column that Parquet cannot hold.
    """
    buffer = io.BytesIO()
    query = rows.rechunk().lazy() if isinstance(rows, pl.DataFrame) else rows
    try:
        query.sink_parquet(
            buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROWS_PER_GROUP
        )
    except (pl.exceptions.PolarsError, TypeError) as error:
        schema = query.collect_schema()
        raise StoreError(f"table with columns {schema}: cannot be written as Parquet: {error}") from error
    return buffer.getvalue()


def from_parquet(data: bytes) -> pl.DataFrame:
    """The frame in Parquet bytes.

    Raises:
        StoreError: bytes that are no Parquet.
    """
    try:
        return pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"{len(data)} bytes that should be a Parquet table cannot be read: {error}") from error
