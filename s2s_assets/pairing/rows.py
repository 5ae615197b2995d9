"""New pairs as rows of a plan: one a slot, in alternating order, under ids that tell nothing."""

import numpy as np
import polars as pl

from s2s_assets.pairing.schema import PLAN_SCHEMA
from s2s_assets.pairing.state import PlanState
from s2s_assets.study import digest


def new_pairs(state: PlanState) -> pl.DataFrame:
    """One row a new pair, with `flip` = 0: the first slot begins with `config_a`."""
    p, a, b = (np.array([edge[k] for edge in state.edges], np.int64) for k in range(3))
    prompts, configs = np.array(state.prompts, object), np.array(state.configs, object)
    return pl.DataFrame(
        {
            "prompt": prompts[p].tolist(),
            "config_a": configs[a].tolist(),
            "config_b": configs[b].tolist(),
            "response_a": state.response[p, a].tolist(),
            "response_b": state.response[p, b].tolist(),
            "source": [edge.source for edge in state.edges],
            "flip": [0] * len(state.edges),
        }
    )


def slot_rows(pairs: pl.DataFrame, study: str, made: int | str, epoch: int, slots: int) -> pl.DataFrame:
    """One row a slot, sorted by prompt and configs.

    Args:
        pairs: in the columns of `new_pairs`.
        study: the study's id.
        made: what the pairs were made in, part of their ids.
        epoch: number of the epoch that is written beside them.
        slots: ratings asked of each pair.
    """
    ids = [
        digest([study, prompt, sorted(responses), made])
        for prompt, *responses in pairs.select("prompt", "response_a", "response_b").iter_rows()
    ]
    shown = (pl.col("slot") + pl.col("flip")) % 2
    return (
        pairs.with_columns(epoch=pl.lit(epoch, pl.Int64), pair=pl.Series(ids, dtype=pl.String))
        .join(pl.DataFrame({"slot": range(slots)}, schema={"slot": pl.Int64}), how="cross")
        .with_columns(first=pl.when(shown == 0).then(pl.lit("a")).otherwise(pl.lit("b")))
        .select(PLAN_SCHEMA.names())
        .sort("prompt", "config_a", "config_b", "source", "slot")
    )
