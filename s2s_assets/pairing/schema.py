"""Columns of the pairing plan and of the cells it covers."""

import polars as pl

from s2s_assets.study import DIMENSIONS, InputError

METHOD_VERSION = "pairing-1"

PLAN_SCHEMA = pl.Schema(
    {
        "epoch": pl.Int64(),
        "pair": pl.String(),
        "prompt": pl.String(),
        "config_a": pl.String(),
        "config_b": pl.String(),
        "response_a": pl.String(),
        "response_b": pl.String(),
        "slot": pl.Int64(),
        "first": pl.String(),
        "source": pl.String(),
    }
)
"""One row a slot: `first` is `a` or `b`; `source` is `baseline`, `bridge` or `healed`."""

CELL_COLUMNS = ("prompt", "config", "response_id", *DIMENSIONS)
"""One row a response that can be played."""


def empty_plan() -> pl.DataFrame:
    """A plan without rows."""
    return pl.DataFrame(schema=PLAN_SCHEMA)


def check_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells with the known columns only, sorted by prompt and config.

    Raises:
        InputError: a column is missing, or a prompt has two responses of one config.
    """
    missing = [c for c in CELL_COLUMNS if c not in cells.columns]
    if missing:
        raise InputError(f"cells lack the columns {missing}; expected {list(CELL_COLUMNS)}")
    twice = cells.filter(cells.select("prompt", "config").is_duplicated())
    if twice.height:
        prompt, config = twice.row(0, named=True)["prompt"], twice.row(0, named=True)["config"]
        raise InputError(f"prompt {prompt!r} has two playable responses of config {config!r}; withdraw one of them")
    return cells.select(CELL_COLUMNS).sort("prompt", "config")
