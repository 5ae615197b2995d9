"""Checks of the raters: warnings, since cleaning is a variant of the board and not a gate."""

from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import Check

QUALITY_SPECS = [
    dg.AssetCheckSpec("few_dropped_raters", asset="rater_quality", description="at most a fifth of raters flagged out"),
    dg.AssetCheckSpec("no_order_effect", asset="rater_quality", description="what is heard first has no edge"),
]
MAX_DROPPED_SHARE = 0.2
MAX_ORDER_EFFECT = 0.25
"""Mean screen score, in steps of the seven-point scale."""


def _few_dropped(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
    rows = frame.filter(pl.col("scope") == "rater")
    raters = rows["name"].n_unique()
    dropped = rows.filter(pl.col("effect") == "drop")["name"].n_unique()
    share = dropped / raters if raters else 0.0
    return (
        share <= MAX_DROPPED_SHARE,
        f"{dropped} of {raters} raters are flagged out of the cleaned variant",
        {"share": share},
    )


def _no_order_effect(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
    rows = frame.filter((pl.col("scope") == "rubric") & (pl.col("measure") == "order_effect"))
    worst = rows.filter(pl.col("value").is_not_null()).sort(pl.col("value").abs(), descending=True).head(1).to_dicts()
    if not worst:
        return True, "no rubric has answers to judge by", {}
    name, value = worst[0]["name"], worst[0]["value"]
    return (
        abs(value) <= MAX_ORDER_EFFECT,
        f"largest on {name}: mean screen score {value:+.3f}",
        {"rubric": name, "mean": value},
    )


def quality_checks() -> list[Check]:
    """Checks of the table `rater_quality`."""
    return [Check("few_dropped_raters", False, _few_dropped), Check("no_order_effect", False, _no_order_effect)]
