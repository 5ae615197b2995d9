"""`recorded_prompts`, `normalized_audio`: from the study folder's recordings to the audio that every model hears."""

from collections.abc import Callable, Generator, Mapping
from functools import cache, partial
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import (
    OWNERS,
    Reviews,
    Stage,
    StageEvent,
    StudyResource,
    markdown_table,
    preview,
    run_stage,
    settle,
    stored,
)
from s2s_assets.prompts import (
    NORMALIZED_METHOD_VERSION,
    RECORDED_METHOD_VERSION,
    normalize_prompts,
    prompts_without_take,
    read_recording,
    record_prompts,
    recorded_level,
    select_takes,
    verdicts_level,
)
from s2s_assets.prompts.checks import NORMALIZED_SPECS, RECORDED_SPECS, normalized_checks, recorded_checks
from s2s_assets.storage import StudyStore, Table
from s2s_assets.study import RecordingVerdict, StudyFolder, sha256_hex


def _contents(folder: StudyFolder) -> list[Any]:
    """What the recordings are, as far as a table depends on it."""
    rows: list[Any] = []
    for recording in folder.recordings:
        path = folder.path_of(recording)
        rows.append(
            [recording.model_dump(mode="json"), sha256_hex(path.read_bytes()) if path.is_file() else path.exists()]
        )
    return rows


def _describe_recorded(frame: pl.DataFrame, folder: StudyFolder) -> Mapping[str, Any]:
    taken = frame.filter(pl.col("selected"))
    by_acoustic = taken.group_by("acoustic").len("prompts").sort("acoustic")
    missing = prompts_without_take(folder.scripts, frame)
    return {
        "scripts": len(folder.scripts),
        "selected": taken.height,
        "refused": int((frame["status"] == "refused").sum()),
        "failed_qa": int((frame["qa"] == "fail").sum()),
        "judged": frame["verdict"].count(),
        "without_take": markdown_table([{"prompt": p, "why": w} for p, w in missing.items()][:20]),
        "by_acoustic": markdown_table(by_acoustic.to_dicts()),
        "preview": preview(
            frame, ["prompt", "recording", "qa", "selected", "loudness_lufs", "noise_floor_dbfs", "duration_s"]
        ),
    }


@dg.asset(
    deps=["recording_verdicts"],
    group_name="prompts",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=RECORDED_METHOD_VERSION,
    check_specs=RECORDED_SPECS,
)
def recorded_prompts(
    context: dg.AssetExecutionContext, study: StudyResource, reviews: Reviews
) -> Generator[StageEvent, None, None]:
    """All recordings with automated measures and human verdicts; one selected take a script, with the reason."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    store, verdicts = study.store(folder.study), reviews.verdicts()
    measured = cache(partial(_measured, folder, store))
    stage_of = partial(_recorded_stage, folder, _contents(folder), measured)
    if stored(store, stage_of(verdicts)) is None:
        # measuring takes its time, and the first answers about a prompt keep the take that a verdict would have moved
        measured()
        verdicts = reviews.verdicts()
    table = yield from run_stage(context, store, stage_of(verdicts))
    settle(store, "recorded_prompts", None, verdicts_level(verdicts), table.version)


def _measured(folder: StudyFolder, store: StudyStore) -> pl.DataFrame:
    """The table without reviewers' verdicts."""
    return record_prompts(
        folder.scripts,
        folder.recordings,
        lambda file: read_recording(folder.recordings_dir / file),
        folder.study.qa,
        store.put_blob,
    )


def _recorded_stage(
    folder: StudyFolder,
    contents: list[Any],
    measured: Callable[[], pl.DataFrame],
    verdicts: tuple[RecordingVerdict, ...],
) -> Stage:
    return Stage(
        asset="recorded_prompts",
        method_version=RECORDED_METHOD_VERSION,
        inputs={},
        settings=[
            [s.model_dump(mode="json", exclude={"tags"}) | {"tags": sorted(s.tags)} for s in folder.scripts],
            contents,
            folder.study.qa.model_dump(mode="json"),
            [verdict.model_dump(mode="json") for verdict in verdicts],
        ],
        compute=lambda: select_takes(measured(), verdicts),
        checks=recorded_checks(folder.scripts),
        describe=lambda table: _describe_recorded(table.frame, folder),
    )


def _describe_normalized(frame: pl.DataFrame, counts: Mapping[str, int]) -> Mapping[str, Any]:
    heard = frame.filter(pl.col("status") == "ok")
    columns = ["prompt", "status", "duration_s", "source_loudness_lufs", "gain_db", "loudness_lufs", "true_peak_dbtp"]
    return {
        "prompts": heard.height,
        "refused": frame.height - heard.height,
        "total_duration_s": round(float(heard["duration_s"].sum()), 1),
        **counts,
        "preview": preview(frame, columns),
    }


@dg.asset(
    group_name="prompts",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=NORMALIZED_METHOD_VERSION,
    check_specs=NORMALIZED_SPECS,
)
def normalized_audio(
    context: dg.AssetExecutionContext, study: StudyResource, recorded_prompts: Table
) -> Generator[StageEvent, None, None]:
    """Selected recordings, trimmed and brought to one loudness by pure gain; a new prompt costs one prompt."""
    folder = study.folder()
    store = study.store(folder.study)
    head = store.head("normalized_audio", None)
    previous = None if head is None else store.read_table("normalized_audio", None, head).frame
    counts: dict[str, int] = {}

    def compute() -> pl.DataFrame:
        done = normalize_prompts(recorded_prompts.frame, folder.study.audio, store.get_blob, store.put_blob, previous)
        counts.update(computed=done.computed, taken_over=done.reused)
        return done.frame

    stage = Stage(
        asset="normalized_audio",
        method_version=NORMALIZED_METHOD_VERSION,
        inputs={"recorded_prompts": recorded_prompts},
        settings=folder.study.audio.model_dump(mode="json"),
        compute=compute,
        checks=normalized_checks(folder.study.audio.target_lufs),
        describe=lambda table: _describe_normalized(table.frame, counts),
    )
    table = yield from run_stage(context, store, stage)
    settle(store, "normalized_audio", None, recorded_level(recorded_prompts.version), table.version)
