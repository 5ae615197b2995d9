"""A frame as Parquet bytes: equal frames give equal bytes, whatever pieces they were made of."""

import io

import polars as pl

from s2s_assets.study import StoreError

_ROWS_PER_GROUP = 100_000


def to_parquet(frame: pl.DataFrame) -> bytes:
    """A frame as zstd-compressed Parquet with statistics.

    Raises:
        StoreError: a column that Parquet cannot hold.
    """
    buffer = io.BytesIO()
    try:
        frame.rechunk().write_parquet(
            buffer, compression="zstd", compression_level=3, statistics=True, row_group_size=_ROWS_PER_GROUP
        )
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise StoreError(f"table with columns {frame.schema}: cannot be written as Parquet: {error}") from error
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
