"""How assets read and write tables: by version, never by position.

A step's table is already in the store, write-once, when the IO manager sees it: `handle_output` moves HEAD and pins the
version to the run. `load_input` takes the version pinned by the same run, else HEAD; so within a refit every asset
reads that run's snapshot. An input from the partitioned assets is always a dict of the partitions that exist, holes left
out.
"""

import dagster as dg

from s2s_assets.orchestration.resources import StudyResource
from s2s_assets.storage import StudyStore, Table
from s2s_assets.study import ConfigKey, StoreError, Study


def _pin_name(asset: str, partition: str | None) -> str:
    return f"{asset}/{ConfigKey.parse(partition).path if partition else 'all'}"


class TableIOManager(dg.ConfigurableIOManager):
    """Hands `Table` values between assets."""

    study: dg.ResourceDependency[StudyResource]

    def handle_output(self, context: dg.OutputContext, obj: Table) -> None:
        """Make the step's table the head of its asset and partition."""
        store = self._store()[1]
        asset, partition = context.asset_key.path[-1], context.partition_key if context.has_partition_key else None
        store.put_record(f"runs/{context.run_id}", _pin_name(asset, partition), {"version": obj.version})
        store.set_head(asset, partition, obj.version)

    def load_input(self, context: dg.InputContext) -> Table | dict[str, Table] | None:
        """One table, or a dict by partition where many partitions meet.

        None where nothing is stored of a partition that is no active config of the study: its steps are left out.

        Raises:
            StoreError: nothing is stored for an unpartitioned input or for the one partition asked for.
        """
        study, store = self._store()
        upstream = context.upstream_output
        assert upstream is not None
        asset = upstream.asset_key.path[-1]
        partitioned = context.has_asset_partitions
        if partitioned and not context.has_partition_key:
            return self._fan_in(context, study, store, asset)
        partition = context.partition_key if partitioned else None
        version = self._pinned(store, context.step_context.run_id, asset, partition) or store.head(asset, partition)
        if version is None and partition is not None and partition not in {str(c.key) for c in study.active_configs}:
            return None
        if version is None:
            raise StoreError(
                f"{asset}{f' [{partition}]' if partition else ''}: nothing stored yet; materialize it first"
            )
        return store.read_table(asset, partition, version)

    def _store(self) -> tuple[Study, StudyStore]:
        study = self.study.folder().study
        return study, self.study.store(study)

    @staticmethod
    def _pinned(store: StudyStore, run_id: str, asset: str, partition: str | None) -> str | None:
        record = store.get_record(f"runs/{run_id}", _pin_name(asset, partition))
        return None if record is None else str(record["version"])

    @staticmethod
    def _fan_in(context: dg.InputContext, study: Study, store: StudyStore, asset: str) -> dict[str, Table]:
        heads = store.heads(asset)
        strange = sorted(set(heads) - {str(c.key) for c in study.configs})
        if strange:
            context.log.warning("%s: left out, not in study %s: %s", asset, study.study, ", ".join(strange))
        return {
            str(c.key): store.read_table(asset, str(c.key), heads[str(c.key)])
            for c in study.configs
            if str(c.key) in heads
        }
