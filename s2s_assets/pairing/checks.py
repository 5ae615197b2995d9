"""Checks of the pairing plan: going on with a split or lopsided plan would publish nonsense."""

from collections.abc import Collection
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import Check
from s2s_assets.pairing import plan_quality

SPECS = [
    dg.AssetCheckSpec(
        "connectivity", asset="pairing_plan", blocking=True, description="every prompt's graph connected"
    ),
    dg.AssetCheckSpec("balance", asset="pairing_plan", blocking=True, description="equal rates, both orders alike"),
]


def plan_checks(cells: pl.DataFrame, withdrawn: Collection[str]) -> list[Check]:
    """The two gates of `pairing.quality`."""

    def connectivity(plan: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        quality = plan_quality(plan, cells, withdrawn)
        words = "; ".join(quality.connectivity_faults) or "every prompt's pairs reach all its configs"
        return quality.connected, words, {"prompts_connected_share": quality.prompts_connected_share}

    def balance(plan: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        quality = plan_quality(plan, cells, withdrawn)
        words = "; ".join(quality.balance_faults) or "pairs at about equal rates, both orders alike"
        return quality.balanced, words, {"rate_min": quality.overall.rate_min, "rate_max": quality.overall.rate_max}

    return [Check("connectivity", True, connectivity), Check("balance", True, balance)]
