"""Sensors that reconcile levels, not edges.

A *level* names something that should be up to date (`refit`, `plan`, `collect:KEY`), the version that is wanted and the
one that is stored. A run is requested when they differ, nothing that would bring it about is queued or running, and fewer
than two runs tagged with that wanted version have failed. There is no `run_key`: it would never ask again. A batch that
lands while a run is going moves the wanted version, so the next tick after that run asks once more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import DagsterRun, DagsterRunStatus, RunsFilter

from s2s_assets.storage import StudyStore
from s2s_assets.study import plural

LEVEL_TAG = "s2s/level"
WANTED_TAG = "s2s/wanted"
MAX_FAILURES = 2

SENSOR_INTERVAL_S = 15

_UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True)
class Level:
    """Something that should be up to date."""

    name: str
    wanted: str
    stored: bool
    """Whether the wanted version is what is stored."""
    job: str
    asset: str
    """The asset whose unfinished runs count as being on the way."""
    partition: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What a sensor should do about a level, and why."""

    request: dg.RunRequest | None
    reason: str


def settle(store: StudyStore, asset: str, partition: str | None, wanted: str, version: str) -> None:
    """Record that a stored version of an asset is what a wanted version asks for."""
    store.remember(asset, partition, f"level {wanted} {version}", version)


def is_settled(store: StudyStore, asset: str, partition: str | None, wanted: str) -> bool:
    """Whether the version in force is one that the wanted version asks for."""
    head = store.head(asset, partition)
    return head is not None and store.memo(asset, partition, f"level {wanted} {head}") is not None


def is_being_made(instance: dg.DagsterInstance, asset: str, job: str) -> bool:
    """Whether a run that makes an asset, of the job or by its own selection, is queued or not yet at its end."""
    return any(_makes(run, asset, job) for run in _unfinished(instance))


def _unfinished(instance: dg.DagsterInstance) -> Sequence[DagsterRun]:
    return instance.get_runs(filters=RunsFilter(statuses=_UNFINISHED))


def _makes(run: DagsterRun, asset: str, job: str) -> bool:
    return dg.AssetKey(asset) in run.asset_selection if run.asset_selection else run.job_name == job


def _brings_about(run: DagsterRun, level: Level) -> bool:
    if run.tags.get(LEVEL_TAG) == level.name:
        return True
    if level.partition is not None and run.tags.get("dagster/partition") != level.partition:
        return False
    return _makes(run, level.asset, level.job)


def _under_way(instance: dg.DagsterInstance, level: Level) -> DagsterRun | None:
    return next((run for run in _unfinished(instance) if _brings_about(run, level)), None)


def _failures(instance: dg.DagsterInstance, level: Level) -> int:
    tags = {LEVEL_TAG: level.name, WANTED_TAG: level.wanted}
    return instance.get_runs_count(RunsFilter(statuses=[DagsterRunStatus.FAILURE], tags=tags))


def reconcile(instance: dg.DagsterInstance, level: Level) -> Verdict:
    """Decide whether a run is to be requested for a level."""
    if level.stored:
        return Verdict(None, f"{level.name}: up to date")
    run = _under_way(instance, level)
    if run is not None:
        return Verdict(None, f"{level.name}: run {run.run_id} is under way")
    failures = _failures(instance, level)
    if failures >= MAX_FAILURES:
        return Verdict(
            None, f"{level.name}: {plural(failures, 'run')} failed for {level.wanted[:12]}; waits for something new"
        )
    request = dg.RunRequest(
        job_name=level.job,
        partition_key=level.partition,
        tags={LEVEL_TAG: level.name, WANTED_TAG: level.wanted},
    )
    return Verdict(request, f"{level.name}: requested for {level.wanted[:12]}")


def report(
    context: dg.SensorEvaluationContext, verdict: Verdict, asset: str, version: str, metadata: Mapping[str, int]
) -> dg.SensorResult | dg.SkipReason:
    """What a sensor answers that watches an external asset: the verdict, and each new version of the asset once."""
    is_new = context.cursor != version
    if verdict.request is None and not is_new:
        return dg.SkipReason(verdict.reason)
    seen = dg.AssetMaterialization(asset, metadata=metadata, tags={"dagster/data_version": version})
    return dg.SensorResult(
        run_requests=[] if verdict.request is None else [verdict.request],
        skip_reason=verdict.reason if verdict.request is None else None,
        asset_events=[seen] if is_new else [],
        cursor=version,
    )
