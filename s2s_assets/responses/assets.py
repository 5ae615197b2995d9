"""`responses`, `response_audio`: one partition a config; only what has no stored success is sent."""

import asyncio
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from s2s_assets.orchestration import (
    CONFIGS,
    OWNERS,
    Stage,
    StageEvent,
    StudyResource,
    config_of_run,
    leave_out,
    markdown_table,
    preview,
    run_stage,
    settle,
)
from s2s_assets.responses import (
    METHOD_VERSION,
    CollectResult,
    build_responses,
    collect,
    wanted_responses,
)
from s2s_assets.responses import response_audio as make_response_audio
from s2s_assets.responses.checks import AUDIO_SPECS, RESPONSES_SPECS, coverage, playable, retried_share
from s2s_assets.storage import Table
from s2s_assets.study import digest

RESPONSES_VERSION = "responses-1"
LOG_EVERY_S = 5.0


def log_progress(context: dg.AssetExecutionContext) -> Callable[[CollectResult], None]:
    """Say now and then how far a collection is."""
    started = last = time.monotonic()

    def report(so_far: CollectResult) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LOG_EVERY_S:
            last = now
            rate = so_far.sent / (now - started)
            failed = sum(so_far.failures.values())
            context.log.info(
                "%d of %d answered, %d sent (%.1f a second), %d failed",
                so_far.answered,
                so_far.planned,
                so_far.sent,
                rate,
                failed,
            )

    return report


def _describe_responses(frame: pl.DataFrame, counts: CollectResult) -> Mapping[str, Any]:
    answered = frame.filter(pl.col("status") == "ok")
    first_audio = (answered["first_audio_ms"] - answered["input_sent_ms"]).drop_nulls()
    cost = answered["cost_usd"].drop_nulls()
    return {
        "exchanges": "none sent: every response was stored" if counts.sent == 0 else f"{counts.sent} sent",
        "sent": counts.sent,
        "reused": counts.reused,
        "coverage": f"{answered.height}/{frame.height}",
        "by_status": markdown_table(frame["status"].value_counts().sort("status").to_dicts()),
        "duration_s": round(float(answered["duration_s"].sum()), 1),
        "median_first_audio_ms": None if first_audio.is_empty() else round(float(np.median(first_audio.to_numpy()))),
        "cost_usd": None if cost.is_empty() else round(float(cost.sum()), 4),
        "preview": preview(frame, ["prompt", "status", "code", "attempts", "duration_s", "first_audio_ms"]),
    }


@dg.asset(
    partitions_def=CONFIGS,
    group_name="responses",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=RESPONSES_VERSION,
    check_specs=RESPONSES_SPECS,
    output_required=False,
)
def responses(
    context: dg.AssetExecutionContext, study: StudyResource, normalized_audio: Table
) -> Generator[StageEvent, None, None]:
    """One config's answers to every prompt; statuses, audio, transcripts, usage, timings and raw events."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    config = config_of_run(context, folder.study)
    store, exchange, prompts = study.store(folder.study), folder.study.exchange, normalized_audio.frame
    checks = [coverage(exchange.fail_on_error), retried_share()]
    if isinstance(config, str):
        yield from (check.skipped(config) for check in checks)
        yield from leave_out(context, config)
        return
    counts = asyncio.run(
        collect(
            config,
            prompts,
            store,
            exchange,
            providers=folder.study.providers,
            home=study.settings.home,
            progress=log_progress(context),
        )
    )
    context.log.info(
        "%s: %d sent, %d reused, %d of %d answered",
        config.key,
        counts.sent,
        counts.reused,
        counts.answered,
        counts.planned,
    )
    stage = Stage(
        asset="responses",
        method_version=RESPONSES_VERSION,
        inputs={"normalized_audio": normalized_audio},
        compute=lambda: build_responses(config, prompts, store),
        checks=checks,
        describe=lambda frame: _describe_responses(frame, counts),
        partition=context.partition_key,
        memoize=False,
    )
    table = yield from run_stage(context, store, stage)
    settle(store, "responses", context.partition_key, wanted_responses(config, prompts, store), table.version)


def _describe_audio(frame: pl.DataFrame, counts: Mapping[str, int]) -> Mapping[str, Any]:
    columns = ["prompt", "status", "reason", "duration_s", "source_loudness_lufs", "gain_db", "loudness_lufs"]
    return {**counts, "preview": preview(frame, columns)}


@dg.asset(
    partitions_def=CONFIGS,
    group_name="responses",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=METHOD_VERSION,
    check_specs=AUDIO_SPECS,
    output_required=False,
)
def response_audio(
    context: dg.AssetExecutionContext, study: StudyResource, responses: Table | None
) -> Generator[StageEvent, None, None]:
    """What raters hear of a config: one channel, one rate, one loudness, whatever the provider sent."""
    if responses is None:
        why = f"{context.partition_key} has no responses, and gets none in this study"
        yield playable().skipped(why)
        yield from leave_out(context, why)
        return
    folder = study.folder()
    store, key, target = study.store(folder.study), context.partition_key, folder.study.audio
    recipe = f"audio {digest([METHOD_VERSION, target.model_dump(mode='json')])}"
    head = store.head("response_audio", key)
    same_recipe = head is not None and store.memo("response_audio", key, f"{recipe} {head}") is not None
    previous = store.read_table("response_audio", key, head).frame if head is not None and same_recipe else None
    counts: dict[str, int] = {}

    def compute() -> pl.DataFrame:
        done = make_response_audio(responses.frame, target, store, previous)
        counts.update(made=done.made, taken_over=done.reused, refused=done.refused)
        return done.frame

    stage = Stage(
        asset="response_audio",
        method_version=METHOD_VERSION,
        inputs={"responses": responses},
        settings=target.model_dump(mode="json"),
        compute=compute,
        checks=[playable()],
        describe=lambda frame: _describe_audio(frame, counts),
        partition=key,
    )
    table = yield from run_stage(context, store, stage)
    store.remember("response_audio", key, f"{recipe} {table.version}", table.version)
    settle(store, "response_audio", key, f"responses {responses.version}", table.version)
