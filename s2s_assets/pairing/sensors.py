"""Cells → plan: new playable cells or new holes ask for an epoch, once no response run is under way."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg

from s2s_assets.orchestration import (
    SENSOR_INTERVAL_S,
    Level,
    StudyResource,
    Withdrawals,
    is_being_made,
    is_settled,
    reconcile,
)
from s2s_assets.pairing import plan_level, playable_cells, tasks_level, waiting_for
from s2s_assets.pairing.assets import stored_plan
from s2s_assets.storage import StudyStore
from s2s_assets.study import Study, plural

READERS = 8
"""Tables read at once: each is a round trip where the store is far."""


def wanted_plan(study: Study, store: StudyStore, withdrawn: frozenset[str]) -> str | None:
    """The plan's level by what is stored now; None before there is normalized audio."""
    prompts = store.head("normalized_audio", None)
    if prompts is None:
        return None
    heads, active = store.heads("response_audio"), {str(c.key) for c in study.active_configs}
    with ThreadPoolExecutor(READERS) as readers:
        read = readers.map(
            lambda key: store.read_table("response_audio", key, heads[key]), sorted(active & heads.keys())
        )
        frames = [table.frame for table in read]
    cells = playable_cells(frames, store.read_table("normalized_audio", None, prompts).frame, withdrawn)
    return plan_level(cells, withdrawn, study.pairing.without)


def plan_is_of(study: Study, store: StudyStore, wanted: str) -> bool:
    """Whether plan and tasks in force are those that the wanted level asks for."""
    plan = store.head("pairing_plan", None)
    if plan is None or not is_settled(store, "pairing_plan", None, wanted):
        return False
    keys, heads = {str(c.key) for c in study.configs}, store.heads("response_audio")
    heard = {key: version for key, version in heads.items() if key in keys}
    return is_settled(store, "rating_tasks", None, tasks_level(plan, heard))


@dg.sensor(
    job_name="plan",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=SENSOR_INTERVAL_S,
    description="New playable responses or withdrawn ones: append an epoch to the plan and hand its pairs out.",
)
def cells_to_plan(
    context: dg.SensorEvaluationContext, study: StudyResource, withdrawals: Withdrawals
) -> dg.SensorResult | dg.SkipReason:
    """Ask for the plan while its level is not the stored one."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    store, withdrawn = study.store(folder.study), withdrawals.responses()
    if is_being_made(context.instance, "responses", job="collect"):
        return dg.SkipReason("a run that makes responses is under way")
    active = [str(c.key) for c in folder.study.active_configs]
    waiting = waiting_for(active, set(store.heads("response_audio")), folder.study.pairing.without)
    if waiting and stored_plan(store).is_empty():
        return dg.SkipReason(f"the first epoch waits for {plural(len(waiting), 'config')}: {', '.join(waiting)}")
    wanted = wanted_plan(folder.study, store, withdrawn)
    if wanted is None:
        return dg.SkipReason("no normalized audio yet")
    stored = plan_is_of(folder.study, store, wanted)
    verdict = reconcile(context.instance, Level("plan", wanted, stored, job="plan", asset="pairing_plan"))
    return dg.SkipReason(verdict.reason) if verdict.request is None else dg.SensorResult([verdict.request])
