"""Ratings → refit: one run per settled batch of answers or exclusions. Fit → tasks: one per round of adaptive votes."""

from datetime import UTC, datetime

import dagster as dg

from s2s_assets.orchestration import SENSOR_INTERVAL_S, Level, StudyResource, is_settled, reconcile, report
from s2s_assets.ratings import DRAWS, RatingsStore, board_level, round_due, settled_version
from s2s_assets.storage import StudyStore


def board_is_of(store: StudyStore, settled: str) -> bool:
    """Whether the leaderboard in force was made from this settled version of the answers."""
    ratings = store.head("ratings", None)
    return (
        ratings is not None
        and is_settled(store, "ratings", None, settled)
        and is_settled(store, "leaderboard", None, board_level(ratings))
    )


@dg.sensor(
    job_name="refit",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=SENSOR_INTERVAL_S,
    description="A settled batch of answers or exclusions: refit everything from ratings to the draft leaderboard.",
)
def ratings_to_refit(context: dg.SensorEvaluationContext, study: StudyResource) -> dg.SensorResult | dg.SkipReason:
    """Ask for a refit while the board is not of the settled answers; report their version as `ratings_log`."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    refit = folder.study.refit
    database = RatingsStore(study.engine(), folder.study.study)
    settled = settled_version(database, datetime.now(UTC), refit.settle_s, refit.min_new, refit.max_age_s)
    if settled is None:
        return dg.SkipReason("no settled answers yet")
    stored = board_is_of(study.store(folder.study), settled.version)
    verdict = reconcile(context.instance, Level("refit", settled.version, stored, job="refit", asset="ratings"))
    return report(context, verdict, "ratings_log", settled.version, {"answers": settled.answers})


@dg.sensor(
    job_name="plan",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=SENSOR_INTERVAL_S,
    description="Where a study asks for adaptive votes: open the next round once the fit has the votes of the last one.",
)
def fit_to_tasks(context: dg.SensorEvaluationContext, study: StudyResource) -> dg.SensorResult | dg.SkipReason:
    """Ask for a round by the last stored fit, once that is of the settled answers."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    store, database = study.store(folder.study), RatingsStore(study.engine(), folder.study.study)
    due = round_due(store, database, folder.study)
    if isinstance(due, str):
        return dg.SkipReason(due)
    refit = folder.study.refit
    settled = settled_version(database, datetime.now(UTC), refit.settle_s, refit.min_new, refit.max_age_s)
    if settled is None or not board_is_of(store, settled.version):
        return dg.SkipReason("the last stored fit is not of the settled answers yet")
    fit = str(store.head(DRAWS, None))
    verdict = reconcile(context.instance, Level("top_up", fit, stored=False, job="plan", asset="rating_tasks"))
    return dg.SkipReason(verdict.reason) if verdict.request is None else dg.SensorResult([verdict.request])
