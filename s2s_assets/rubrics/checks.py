"""Checks of the rubric clusters: warnings; a partition that chance gives as well is reported as such."""

from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import Check
from s2s_assets.rubrics import clusters_from_frame
from s2s_assets.study import percent

SPECS = [
    dg.AssetCheckSpec(
        "beats_chance", asset="rubric_clusters", description="reliability above the chance baseline's 95 % quantile"
    )
]


def _beats_chance(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
    found = clusters_from_frame(frame).clusters
    part = found.reported
    if part is None or part.reliability is None or part.chance_high is None:
        return False, f"no partition to judge: {found.reason or 'undefined'}", {}
    words = f"k = {part.k}: reproduced in {percent(part.reliability)} of resamples, by chance in up to {percent(part.chance_high)}"
    figures = {"reliability": part.reliability, "chance": part.chance, "chance_high": part.chance_high}
    return part.reliability > part.chance_high, words, figures


def cluster_checks() -> list[Check]:
    """Checks of `rubric_clusters`."""
    return [Check("beats_chance", False, _beats_chance)]
