"""`responses`, `response_audio`: one partition a config; only what has no stored success is sent."""

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict
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
    compare_retried,
    told,
    wanted_responses,
)
from s2s_assets.responses import response_audio as make_response_audio
from s2s_assets.responses.checks import (
    AUDIO_SPECS,
    RESPONSES_SPECS,
    coverage,
    loudness_on_target,
    playable,
    retried_share,
)
from s2s_assets.storage import Table
from s2s_assets.study import digest

RESPONSES_VERSION = "responses-2"
LOG_EVERY_S = 5.0
MEDIANS = ("perceived_delay_ms", "words_per_s", "longest_pause_s")
"""Measures of `response_audio` whose medians the UI shows."""


def log_progress(context: dg.AssetExecutionContext) -> Callable[[CollectResult], None]:
    """Say now and then how far a collection is."""
    last = time.monotonic()

    def report(so_far: CollectResult) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LOG_EVERY_S:
            last = now
            context.log.info("%s", told(so_far))

    return report


def _differences(answers: pl.DataFrame, measures: Sequence[str]) -> dg.MetadataValue:
    return markdown_table([asdict(row) for row in compare_retried(answers, measures)])


def _describe_responses(frame: pl.DataFrame, counts: CollectResult) -> Mapping[str, Any]:
    answered = frame.filter(pl.col("status") == "ok").with_columns(
        delay_ms=pl.col("first_audio_ms") - pl.col("input_sent_ms")
    )
    delay, cost = answered["delay_ms"].drop_nulls(), answered["cost_usd"].drop_nulls()
    return {
        "exchanges": "none sent: every response was stored" if counts.sent == 0 else f"{counts.sent} sent",
        "sent": counts.sent,
        "reused": counts.reused,
        "coverage": f"{answered.height}/{frame.height}",
        "stopped": counts.stopped,
        "spent_usd": counts.spent_usd,
        "prompts_per_minute": None if counts.rate is None else round(60 * counts.rate, 1),
        "by_status": markdown_table(frame["status"].value_counts().sort("status").to_dicts()),
        "duration_s": round(float(answered["duration_s"].sum()), 1),
        "median_first_audio_ms": None if delay.is_empty() else round(float(np.median(delay.to_numpy()))),
        "cost_usd": None if cost.is_empty() else round(float(cost.sum()), 4),
        "cost_unknown": answered.height - cost.len(),
        "retried_against_rest": _differences(answered, ["duration_s", "delay_ms"]),
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
    if isinstance(config, str):
        yield from (check.skipped(config) for check in (coverage(exchange.fail_on_error), retried_share()))
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
    context.log.info("%s: %s", config.key, told(counts))
    stage = Stage(
        asset="responses",
        method_version=RESPONSES_VERSION,
        inputs={"normalized_audio": normalized_audio},
        compute=lambda: build_responses(config, prompts, store),
        checks=[coverage(exchange.fail_on_error, counts.stopped), retried_share()],
        describe=lambda table: _describe_responses(table.frame, counts),
        partition=context.partition_key,
        memoize=False,
    )
    table = yield from run_stage(context, store, stage)
    settle(store, "responses", context.partition_key, wanted_responses(config, prompts, store), table.version)


def _describe_audio(frame: pl.DataFrame, answers: pl.DataFrame, counts: Mapping[str, int]) -> Mapping[str, Any]:
    columns = ["prompt", "status", "reason", "duration_s", "source_loudness_lufs", "perceived_delay_ms", "words_per_s"]
    values = {name: frame[name].drop_nulls().to_numpy() for name in MEDIANS}
    medians = {f"median_{name}": round(float(np.median(v)), 2) if len(v) else None for name, v in values.items()}
    heard = frame.join(answers.select("response_id", "attempts").unique("response_id"), on="response_id", how="left")
    return {
        **counts,
        **medians,
        "with_stalls": int((frame["stalls"] > 0).sum()),
        "warnings": markdown_table(frame["warnings"].explode().drop_nulls().value_counts().sort("warnings").to_dicts()),
        "retried_against_rest": _differences(heard, ["duration_s", "source_loudness_lufs", "perceived_delay_ms"]),
        "preview": preview(frame, columns),
    }


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
    folder = study.folder()
    target = folder.study.audio
    audio_checks = [playable(), loudness_on_target(target.target_lufs)]
    if responses is None:
        why = f"{context.partition_key} has no responses, and gets none in this study"
        yield from (check.skipped(why) for check in audio_checks)
        yield from leave_out(context, why)
        return
    store, key = study.store(folder.study), context.partition_key
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
        checks=audio_checks,
        describe=lambda table: _describe_audio(table.frame, responses.frame, counts),
        partition=key,
    )
    table = yield from run_stage(context, store, stage)
    store.remember("response_audio", key, f"{recipe} {table.version}", table.version)
    settle(store, "response_audio", key, f"responses {responses.version}", table.version)
