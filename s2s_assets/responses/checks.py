"""Checks of a config's responses and of what raters hear."""

from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import CONFIGS, Check
from s2s_assets.study import percent

RESPONSES_SPECS = [
    dg.AssetCheckSpec(
        "coverage",
        asset="responses",
        blocking=True,
        partitions_def=CONFIGS,
        description="enough of the prompts have a response",
    ),
    dg.AssetCheckSpec(
        "few_retries", asset="responses", partitions_def=CONFIGS, description="at most a tenth needed another attempt"
    ),
]
AUDIO_SPECS = [
    dg.AssetCheckSpec(
        "playable", asset="response_audio", partitions_def=CONFIGS, description="every response can be played"
    ),
    dg.AssetCheckSpec(
        "loudness_on_target",
        asset="response_audio",
        partitions_def=CONFIGS,
        description="every response is heard within 0.5 LU of the target",
    ),
]
MAX_OFF_LU = 0.5


def coverage(fail_on_error: float, stopped: str | None = None) -> Check:
    """Blocking: enough of the prompts have a response; going on would compare a config on the prompts it survived.

    Args:
        fail_on_error: share of prompts without a response that is still accepted.
        stopped: why the collection stopped before the last prompt.
    """

    def evaluate(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        ok, planned = int((frame["status"] == "ok").sum()), frame.height
        share = ok / planned if planned else 0.0
        by_status = dict(frame["status"].value_counts().sort("status").iter_rows())
        words = f"{ok} of {planned} prompts have a response ({percent(share, 1)}; at least {percent(1 - fail_on_error, 1)} asked)"
        others = _others(frame)
        words = f"{words}; the others: {others}" if others else words
        if stopped:
            words = f"{words}; {stopped}"
        if not planned:
            words = "no prompt to send: no script has a recording that was selected; see recordings.csv"
        enough = planned > 0 and planned - ok <= fail_on_error * planned
        if ok and not enough:
            words = f"{words}. What was answered is kept, and a further run sends only the rest"
        return enough, words, {"ok": ok, "planned": planned, "share": share, "by_status": by_status}

    return Check("coverage", blocking=True, evaluate=evaluate)


def _others(frame: pl.DataFrame) -> str:
    """How the prompts without a response ended: how many in which status and code."""
    named = pl.coalesce(pl.format("{} ({})", "status", "code"), "status")
    how = pl.when(pl.col("code") == "not_attempted").then(pl.lit("not attempted")).otherwise(named).alias("end")
    ends = frame.filter(pl.col("status") != "ok").select(how)["end"].value_counts().sort("end")
    return ", ".join(f"{n} {end}" for end, n in ends.iter_rows())


def retried_share() -> Check:
    """Warning: a retried prompt is re-rolled, so many retries shift what is heard."""

    def evaluate(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        answered = frame.filter(pl.col("status") == "ok")
        retried = int((answered["attempts"] > 1).sum())
        share = retried / answered.height if answered.height else 0.0
        return share <= 0.1, f"{retried} of {answered.height} responses needed more than one attempt", {"share": share}

    return Check("few_retries", blocking=False, evaluate=evaluate)


def playable() -> Check:
    """Warning: every response can be decoded, measured and matched in loudness."""

    def evaluate(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        refused = frame.filter(pl.col("status") == "refused")
        words = f"{frame.height - refused.height} of {frame.height} responses can be played"
        return refused.is_empty(), words, {"refused": refused.height}

    return Check("playable", blocking=False, evaluate=evaluate)


def loudness_on_target(target_lufs: float) -> Check:
    """Warning: no response is heard softer than the others, as one whose peaks the ceiling holds down is."""

    def evaluate(frame: pl.DataFrame) -> tuple[bool, str, dict[str, Any]]:
        heard = frame.filter(pl.col("status") == "ok").with_columns(
            off_lu=(pl.col("loudness_lufs") - target_lufs).abs()
        )
        off = heard.filter(pl.col("off_lu") > MAX_OFF_LU).sort("off_lu", "prompt", descending=[True, False])
        words = f"{heard.height - off.height} of {heard.height} responses are within {MAX_OFF_LU} LU of {target_lufs:g} LUFS"
        if off.height:
            prompt, off_lu = off.select("prompt", "off_lu").row(0)
            words = f"{words}; peaks hold down the others, {prompt} by {off_lu:.1f} LU"
        return off.is_empty(), words, {"off": off.height}

    return Check("loudness_on_target", blocking=False, evaluate=evaluate)
