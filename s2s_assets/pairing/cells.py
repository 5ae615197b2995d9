"""The cells of the plan: which response to which prompt by which config can be compared.

The plan's *level* is the hash of the cells that can be played, the responses withdrawn and the configs that an epoch does
not wait for: when it moves, the plan is due. The tasks' level is the plan's version with the versions of what is heard.
"""

from collections.abc import Collection, Iterable, Mapping

import polars as pl

from s2s_assets.pairing.schema import CELL_COLUMNS
from s2s_assets.study import DIMENSIONS, digest

_EMPTY = pl.Schema(dict.fromkeys(CELL_COLUMNS, pl.String()))


def playable_cells(
    response_audio: Iterable[pl.DataFrame], prompts: pl.DataFrame, withdrawn: Collection[str] = ()
) -> pl.DataFrame:
    """One row a response that raters can hear.

    Args:
        response_audio: a table of each active config that has one (docs/tables.md).
        prompts: `normalized_audio`: `prompt` and its `category`, `level`, `acoustic`.
        withdrawn: ids of responses that are left out.
    """
    chosen = prompts.filter(pl.col("status") == "ok").select("prompt", *DIMENSIONS)
    parts = [
        frame.filter((pl.col("status") == "ok") & ~pl.col("response_id").is_in(list(withdrawn)))
        .join(chosen, on="prompt", how="inner")
        .select(CELL_COLUMNS)
        for frame in response_audio
    ]
    return pl.concat([pl.DataFrame(schema=_EMPTY), *parts]).sort("prompt", "config")


def plan_level(cells: pl.DataFrame, withdrawn: Collection[str], without: Collection[str]) -> str:
    """The version of the plan that these cells ask for."""
    return digest([sorted(cells["response_id"]), sorted(withdrawn), sorted(without)])


def tasks_level(plan_version: str, heard: Mapping[str, str]) -> str:
    """The version of the tasks that a plan and the `response_audio` versions by config ask for."""
    return digest([plan_version, dict(heard)])
