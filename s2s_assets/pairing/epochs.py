"""The append-only plan: each epoch covers what the epochs before it do not.

An epoch covers the cells (prompt, config) that are playable, not withdrawn and not yet planned: a new config, a new
prompt and a late response are one case. Old rows never change. In this order it

1. heals the holes that withdrawals left (`source` = `healed`);
2. designs prompts that have no pair (`baseline`, see `design`);
3. attaches newcomers on prompts that have pairs (`baseline`, see `growth`);
4. asks again about a few old pairs (`bridge`), so that a drift of the raters between epochs can be seen: `bridge_share`
   of the old pairs, and no more than the epoch has new ones; those asked again least come first, spread over the pairs
   of configs. A bridge keeps its pair's `config_a` and `config_b` and begins with the other order.

A pair is shown in `slots` slots, in alternating order. Its id is the SHA-256 of (study, prompt, sorted response ids,
epoch). Every random choice comes from a generator seeded with the study and the epoch; the order of rows given has no
influence.
"""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from s2s_assets.pairing.design import design_prompts
from s2s_assets.pairing.growth import attach_newcomers, heal_holes
from s2s_assets.pairing.rows import new_pairs, slot_rows
from s2s_assets.pairing.schema import check_cells, empty_plan
from s2s_assets.pairing.state import PlanState, build_state
from s2s_assets.study import InputError, generator

MAX_BRIDGE_SHARE = 0.1


def waiting_for(active: Sequence[str], finished: Collection[str], without: Collection[str]) -> list[str]:
    """Config keys that the first epoch still waits for: active, not finished, and not named to be left out."""
    return [key for key in active if key not in finished and key not in without]


def next_epoch(
    plan: pl.DataFrame | None,
    cells: pl.DataFrame,
    withdrawn: Collection[str],
    *,
    study: str,
    slots: int,
    units: int,
    bridge_share: float = 0.04,
) -> pl.DataFrame | None:
    """The rows to append to a plan, or None where no pair is missing.

    Args:
        plan: all epochs so far, `PLAN_SCHEMA`; None or empty before the first.
        cells: responses that can be played, one row a (prompt, config), with `CELL_COLUMNS`.
        withdrawn: ids of withdrawn responses; their pairs count as void.
        study: the study's id, part of seeds and pair ids.
        slots: ratings asked of each pair, at least 1.
        units: Hamiltonian cycles or paths that a new prompt gets, at least 1.
        bridge_share: share of old pairs asked about again, 0 to 0.1.

    Raises:
        InputError: slots, units or bridge_share out of range, or cells that are not a table of cells.
    """
    _check_numbers(slots, units, bridge_share)
    plan = empty_plan() if plan is None else plan
    epoch = 1 + max(plan["epoch"], default=0)
    rng = generator(study, "pairing", f"epoch {epoch}")
    state = build_state(plan, check_cells(cells), withdrawn)
    heal_holes(state, rng)
    design_prompts(state, np.flatnonzero(~state.planned.any(axis=1)), units, rng)
    attach_newcomers(state, units, rng)
    if not state.edges:
        return None
    bridges = _bridges(plan, state, bridge_share, rng)
    return slot_rows(pl.concat([new_pairs(state), bridges]), study, epoch, epoch, slots)


def _check_numbers(slots: int, units: int, bridge_share: float) -> None:
    for name, value in (("slots", slots), ("units", units)):
        if value < 1:
            raise InputError(f"pairing.{name} is {value}; expected at least 1")
    if not 0 <= bridge_share <= MAX_BRIDGE_SHARE:
        raise InputError(f"bridge share is {bridge_share}; expected 0 to {MAX_BRIDGE_SHARE}")


def _bridges(plan: pl.DataFrame, state: PlanState, share: float, rng: np.random.Generator) -> pl.DataFrame:
    """Old pairs to ask about again, in the columns of `new_pairs`."""
    columns = ["prompt", "config_a", "config_b", "response_a", "response_b"]
    playable = pl.Series(list(state.response[state.playable]), dtype=pl.String).implode()
    old = (
        plan.group_by(columns)
        .agg(asked=pl.col("epoch").n_unique())
        .filter(pl.col("response_a").is_in(playable) & pl.col("response_b").is_in(playable))
        .sort(columns)
    )
    opponents = pl.concat_list("config_a", "config_b").list.sort().list.join("\0")
    ranked = (
        old.with_columns(draw=pl.Series(rng.random(old.height), dtype=pl.Float64))
        .sort("draw")
        .with_columns(turn=pl.int_range(pl.len()).over(opponents, "asked"))
        .sort("asked", "turn", "draw")
    )
    n = min(round(share * old.height), len(state.edges))
    bridge, flip = pl.lit("bridge").alias("source"), (pl.col("asked") % 2).cast(pl.Int64).alias("flip")
    return ranked.head(n).select(*columns, bridge, flip)
