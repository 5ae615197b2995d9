"""Checks of recordings and normalized prompts: warnings; a prompt that cannot be used is named and left out."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from s2s_assets.orchestration import Check
from s2s_assets.prompts import prompts_without_take
from s2s_assets.study import Script

RECORDED_SPECS = [
    dg.AssetCheckSpec("every_script_has_a_take", asset="recorded_prompts", description="one usable take a script"),
    dg.AssetCheckSpec("takes_pass_qa", asset="recorded_prompts", description="selected takes pass the automated check"),
]
NORMALIZED_SPECS = [
    dg.AssetCheckSpec(
        "loudness_on_target", asset="normalized_audio", description="within 0.5 LU unless the ceiling binds"
    ),
]
MAX_OFF_LU = 0.5


def recorded_checks(scripts: Sequence[Script]) -> list[Check]:
    """Checks of `recorded_prompts`."""

    def every_script(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        missing = prompts_without_take(scripts, frame)
        words = f"{len(missing)} of {len(scripts)} scripts have no usable take: {', '.join(list(missing)[:10])}"
        return not missing, words if missing else f"all {len(scripts)} scripts have a take", {"missing": len(missing)}

    def pass_qa(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        failed = frame.filter(pl.col("selected") & (pl.col("qa") == "fail"))["recording"].to_list()
        words = f"{len(failed)} selected takes fail the automated check: {', '.join(failed[:10])}"
        return not failed, words if failed else "all selected takes pass", {"failed": len(failed)}

    return [Check("every_script_has_a_take", False, every_script), Check("takes_pass_qa", False, pass_qa)]


def normalized_checks(target_lufs: float) -> list[Check]:
    """Checks of `normalized_audio`."""

    def on_target(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        heard = frame.filter((pl.col("status") == "ok") & ~pl.col("warnings").list.contains("ceiling_limited"))
        off_lu = float(np.abs(heard["loudness_lufs"].to_numpy() - target_lufs).max(initial=0.0))
        return off_lu <= MAX_OFF_LU, f"at most {off_lu:.2f} LU off {target_lufs:g} LUFS", {"off_lu": off_lu}

    return [Check("loudness_on_target", False, on_target)]
