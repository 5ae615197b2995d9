"""Registry → responses: the study's configs become partitions; where the study says so, exchanges are requested."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import polars as pl

from s2s_assets.orchestration import (
    CONFIG_SET,
    CONFIGS,
    SENSOR_INTERVAL_S,
    Level,
    StudyResource,
    Verdict,
    is_settled,
    reconcile,
)
from s2s_assets.responses import wanted_responses
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config, Study, plural

READERS = 8
"""Configs looked up at once: a tick is a few small reads a config, and each is a round trip where the store is far."""


def missing_keys(instance: dg.DagsterInstance, study: Study) -> list[str]:
    """Active configs of the study that are not registered as partitions yet."""
    registered = set(instance.get_dynamic_partitions(CONFIG_SET))
    return [str(c.key) for c in study.active_configs if str(c.key) not in registered]


def collect_level(store: StudyStore, config: Config, prompts: pl.DataFrame) -> Level:
    """A config's partition against its settings and the selected prompts (table `normalized_audio`)."""
    key = str(config.key)
    wanted = wanted_responses(config, prompts, store)
    stored = is_settled(store, "responses", key, wanted) and _heard(store, key)
    return Level(f"collect:{key}", wanted, stored, job="collect", asset="responses", partition=key)


def _heard(store: StudyStore, key: str) -> bool:
    return is_settled(store, "response_audio", key, f"responses {store.head('responses', key)}")


def verdicts(instance: dg.DagsterInstance, study: Study, store: StudyStore) -> list[tuple[Level, Verdict]]:
    """What to do about each active config; empty before there is normalized audio."""
    head = store.head("normalized_audio", None)
    if head is None:
        return []
    prompts = store.read_table("normalized_audio", None, head).frame
    with ThreadPoolExecutor(READERS) as readers:
        levels = list(readers.map(lambda config: collect_level(store, config, prompts), study.active_configs))
    return [(level, reconcile(instance, level)) for level in levels]


@dg.sensor(
    job_name="collect",
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=SENSOR_INTERVAL_S,
    description="Adds a partition for each config of study.yaml; with `collect: auto` also requests its exchanges.",
)
def registry_to_responses(context: dg.SensorEvaluationContext, study: StudyResource) -> dg.SensorResult | dg.SkipReason:
    """Add missing keys; ask for stale partitions where the study collects by itself, else list them."""
    folder = study.folder()
    study.claim(context.instance, folder.study)
    store = study.store(folder.study)
    new = missing_keys(context.instance, folder.study)
    found = verdicts(context.instance, folder.study, store)
    stale = [level.partition or "" for level, _ in found if not level.stored]
    auto = folder.study.collect == "auto"
    # a key is asked for once it is registered: at the next tick
    ready = [verdict for level, verdict in found if auto and level.partition not in new]
    requests = [verdict.request for verdict in ready if verdict.request is not None]
    if new or requests:
        adds = [CONFIGS.build_add_request(new)] if new else []
        skip = None if requests else f"{plural(len(new), 'partition')} added: {', '.join(new)}"
        return dg.SensorResult(run_requests=requests, skip_reason=skip, dynamic_partitions_requests=adds)
    if not found:
        return dg.SkipReason("no normalized audio yet: materialize recorded_prompts and normalized_audio")
    if stale and not auto:
        return dg.SkipReason(
            f"{plural(len(stale), 'partition waits', 'partitions wait')} for a backfill (collect: manual): "
            f"{', '.join(stale)}"
        )
    if stale:
        return dg.SkipReason("; ".join(verdict.reason for level, verdict in found if not level.stored)[:2000])
    return dg.SkipReason(f"{plural(len(found), 'config has', 'configs have')} the responses that the study asks for")
