"""Checks of the board, and which blocking checks are red when a release is asked for."""

from typing import Any

import dagster as dg
import polars as pl
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from s2s_assets.orchestration import Check
from s2s_assets.ranking import headline_rows
from s2s_assets.study import Study

LEADERBOARD_SPECS = [
    dg.AssetCheckSpec("every_model_is_ranked", asset="leaderboard", description="all active models on the headline"),
    dg.AssetCheckSpec(
        "full_coverage", asset="leaderboard", description="every planned response of ranked models is there"
    ),
]
BLOCKING = (("pairing_plan", "connectivity"), ("pairing_plan", "balance"), ("bt_fits", "headline_converged"))
"""Blocking checks of unpartitioned assets; `coverage` of responses is asked per config."""


def leaderboard_checks(study: Study) -> list[Check]:
    """Checks of `leaderboard`."""
    variant = study.analysis.headline_variant

    def ranked(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        there = set(headline_rows(frame, variant)["entity"])
        missing = sorted({c.model.id for c in study.active_configs} - there)
        words = f"not on the headline: {', '.join(missing)}" if missing else "every active model is ranked"
        return not missing, words, {"missing": len(missing)}

    def covered(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        rows = headline_rows(frame, variant).filter(pl.col("responses_ok") < pl.col("responses_planned"))
        lacking = [
            f"{e} {ok}/{n}" for e, ok, n in rows.select("entity", "responses_ok", "responses_planned").iter_rows()
        ]
        words = f"responses missing: {', '.join(lacking)}" if lacking else "no response of a ranked model is missing"
        return not lacking, words, {"models_lacking": len(lacking)}

    return [Check("every_model_is_ranked", False, ranked), Check("full_coverage", False, covered)]


def red_checks(instance: dg.DagsterInstance, study: Study) -> list[str]:
    """Names of the blocking checks whose last evaluation failed.

    A config that `pairing.without` names, or that is retired, does not count: the board stands without it.
    """
    red = [f"{asset}: {name}" for asset, name in BLOCKING if _failed(_last(instance, asset, name, None))]
    keys = [str(c.key) for c in study.active_configs if str(c.key) not in study.pairing.without]
    return red + [
        f"responses [{key}]: coverage" for key in keys if _failed(_last(instance, "responses", "coverage", key))
    ]


def _last(instance: dg.DagsterInstance, asset: str, check: str, partition: str | None) -> str | None:
    """Status of a check's last finished evaluation, None before the first."""
    records = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(dg.AssetKey(asset), check),
        limit=1,
        status={AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED},
        partition_filter=PartitionKeyFilter(key=partition),
    )
    return records[0].status.value if records else None


def _failed(status: str | None) -> bool:
    return status == AssetCheckExecutionRecordStatus.FAILED.value
