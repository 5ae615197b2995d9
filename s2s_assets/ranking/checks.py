"""Checks of the fits: only the headline blocks; separation or disconnection elsewhere is a status of that board."""

from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import Check
from s2s_assets.ranking import EXPECTED_SPEARMAN, FitSpec, adaptive_votes, headline_rows
from s2s_assets.ranking.intervals import VALID_SHARE
from s2s_assets.study import MAX_ADAPTIVE_SHARE, Variant, percent

FITS_SPECS = [
    dg.AssetCheckSpec(
        "headline_converged", asset="bt_fits", blocking=True, description="overall by model has one finite fit"
    ),
    dg.AssetCheckSpec("all_boards_ok", asset="bt_fits", description="no board separated, disconnected or undefined"),
    dg.AssetCheckSpec("engines_agree", asset="bt_fits", description="Spearman with both cross-checks at least 0.99"),
    dg.AssetCheckSpec("adaptive_share", asset="bt_fits", description="at most a fifth of the votes is adaptive"),
]
CIS_SPECS = [
    dg.AssetCheckSpec(
        "few_lost_resamples", asset="bootstrap_cis", description="headline entities in 95 % of resamples"
    ),
]


def fits_checks(variant: Variant) -> list[Check]:
    """Checks of `bt_fits`."""

    def converged(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        rows = headline_rows(frame, variant)
        if rows.is_empty():
            return False, "headline (overall by model): no fit; are there answers to the overall question?", {}
        statuses = rows["status"].unique().to_list()
        reasons = [r for r in rows["reason"].to_list() if r]
        words = f"headline (overall by model): {', '.join(statuses)}" + (f": {'; '.join(reasons)}" if reasons else "")
        return statuses == ["ok"] and rows.height == 1, words, {"n_ratings": int(rows["n_ratings"].sum())}

    def all_ok(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        odd = frame.filter(pl.col("status") != "ok")
        words = f"{odd.height} of {frame.height} fits have another status: {', '.join(odd['fit'].to_list()[:8])}"
        return odd.is_empty(), words if odd.height else f"all {frame.height} fits are ok", {"not_ok": odd.height}

    def agree(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        row = headline_rows(frame, variant).head(1).to_dicts()
        values = {k: row[0][k] for k in ("spearman_massey", "spearman_partial_margin_bt")} if row else {}
        low = [k for k, v in values.items() if v is None or v < EXPECTED_SPEARMAN]
        words = ", ".join(f"{k} {'–' if v is None else f'{v:.4f}'}" for k, v in values.items())
        return not low, f"headline: {words} (many close entities lower it)", values

    def adaptive(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        found, everything = adaptive_votes(headline_rows(frame)) or (0, 0)
        share = found / everything if everything else 0.0
        words = f"{percent(share, 1)} of the headline's votes are adaptive; at most {percent(MAX_ADAPTIVE_SHARE)}"
        return share <= MAX_ADAPTIVE_SHARE, words, {"adaptive_votes": found, "votes": everything}

    return [
        Check("headline_converged", True, converged),
        Check("all_boards_ok", False, all_ok),
        Check("engines_agree", False, agree),
        Check("adaptive_share", False, adaptive),
    ]


def cis_checks(variant: Variant) -> list[Check]:
    """Checks of `bootstrap_cis`."""
    headline = FitSpec(variant=variant).fit

    def few_lost(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        of_headline = (pl.col("fit") == headline) | pl.col("fit").str.starts_with(f"{headline}/")  # or its components
        valid = frame.filter(of_headline).explode("entities").unnest("entities")
        shares = (
            valid.filter(pl.col("resamples") > 0).select(pl.col("valid_resamples") / pl.col("resamples")).to_series()
        )
        lowest = float(shares.to_numpy().min(initial=1.0))
        return (
            lowest >= VALID_SHARE,
            f"the rarest headline entity is in {percent(lowest, 1)} of the resamples",
            {"lowest": lowest},
        )

    return [Check("few_lost_resamples", False, few_lost)]
