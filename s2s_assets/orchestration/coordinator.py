"""The run queue, with each run tagged by the provider that it will call.

`tag_concurrency_limits` with `applyLimitPerUniqueValue` then bounds runs per provider; a pool could not, since it is fixed
per asset and a provider is a property of the partition.
"""

import dagster as dg
from dagster import DagsterRun
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext

from s2s_assets.study import ConfigKey, InputError, Settings, load_study

PROVIDER_TAG = "s2s/provider"


def provider_of(partition: str) -> str | None:
    """The provider of a partition key in the loaded study; None where either is unknown."""
    try:
        config = load_study(Settings.from_environment().study).study.config(str(ConfigKey.parse(partition)))
    except InputError:
        return None
    return None if config is None else config.model.provider


class ProviderRunCoordinator(QueuedRunCoordinator[dg.DagsterInstance]):
    """Dagster's queue; runs of a config's partition carry `s2s/provider`."""

    def submit_run(self, context: SubmitRunContext) -> DagsterRun:
        """Tag the run, then enqueue it."""
        run = context.dagster_run
        partition = run.tags.get("dagster/partition")
        provider = provider_of(partition) if partition and PROVIDER_TAG not in run.tags else None
        if provider is not None:
            self._instance.add_run_tags(run.run_id, {PROVIDER_TAG: provider})
        return super().submit_run(context)
