"""Verdicts → prompts: once reviewers pause, what they decided is taken into `recorded_prompts` and `normalized_audio`."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from s2s_assets.orchestration import SENSOR_INTERVAL_S, Level, Reviews, StudyResource, is_settled, reconcile, report
from s2s_assets.prompts import recorded_level, verdicts_level
from s2s_assets.storage import StudyStore

PAUSE = timedelta(minutes=1)
"""Every recording is measured anew, so a reviewer who works through a list is waited for."""


def prompts_are_of(store: StudyStore, wanted: str) -> bool:
    """Whether both tables in force were made with these verdicts."""
    recorded = store.head("recorded_prompts", None)
    return (
        recorded is not None
        and is_settled(store, "recorded_prompts", None, wanted)
        and is_settled(store, "normalized_audio", None, recorded_level(recorded))
    )


@dg.sensor(
    job_name="prepare",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=SENSOR_INTERVAL_S,
    description="New verdicts about recordings: select anew and normalize what is selected.",
)
def verdicts_to_prompts(
    context: dg.SensorEvaluationContext, study: StudyResource, reviews: Reviews
) -> dg.SensorResult | dg.SkipReason:
    """Ask for the prompts while they are not of the verdicts; report the verdicts' version as `recording_verdicts`."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    verdicts = reviews.verdicts()
    if not verdicts:
        return dg.SkipReason("no verdicts about recordings yet")
    newest = max(verdict.created_at for verdict in verdicts)
    if datetime.now(UTC) - newest < PAUSE:
        return dg.SkipReason("a reviewer is at work; their verdicts are taken in a minute after the last one")
    wanted = verdicts_level(verdicts)
    stored = prompts_are_of(study.store(folder.study), wanted)
    verdict = reconcile(context.instance, Level("prompts", wanted, stored, job="prepare", asset="recorded_prompts"))
    return report(context, verdict, "recording_verdicts", wanted, {"verdicts": len(verdicts)})
