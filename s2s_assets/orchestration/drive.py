"""Drive Dagster in one process against an instance: the demo's and the command line's way to materialize.

`Driver` holds the definitions and an instance, runs jobs and evaluates sensors, in this process. Everything lands in the
instance, so the UI opens on it as if the daemon had done it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from s2s_assets.study import InputError, S2SError


def open_instance(root: Path) -> dg.DagsterInstance:
    """The instance that `dagster dev` uses in a checkout: `DAGSTER_HOME`'s, else that of its dagster.yaml.

    A `DAGSTER_HOME` that is empty or not there yet is laid out first.

    Raises:
        InputError: neither is there, or `DAGSTER_HOME` is no absolute path.
    """
    if given := os.environ.get("DAGSTER_HOME"):
        home = Path(given)
        if not home.is_absolute():
            raise InputError(f"DAGSTER_HOME is {given!r}: expected an absolute path")
        home.mkdir(parents=True, exist_ok=True)
        if not any(home.iterdir()) and (root / "dagster.yaml").is_file():
            lay_out_home(root)
        return dg.DagsterInstance.get()
    if not (root / "dagster.yaml").is_file():
        raise InputError(f"{root} has no dagster.yaml; run this in the project's checkout, or set DAGSTER_HOME")
    return dg.DagsterInstance.from_config(str(root))


def lay_out_home(root: Path) -> Path:
    """The folder that `DAGSTER_HOME` names, else a checkout's `.s2s/dagster`, as the Makefile lays it out.

    It gets the checkout's own dagster.yaml with the folder in the place of `.s2s/dagster`.
    """
    home = Path(os.environ.get("DAGSTER_HOME") or root / ".s2s" / "dagster").absolute()
    home.mkdir(parents=True, exist_ok=True)
    text = (root / "dagster.yaml").read_text(encoding="utf-8").replace(": .s2s/dagster", f": {home}")
    (home / "dagster.yaml").write_text(text, encoding="utf-8")
    return home


class RunFailedError(S2SError):
    """A run that failed; the message says which step and why."""


# what a failed run has to say is in its RunFailedError; Dagster's storage keeps every line for the UI
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_OWN = re.compile(r"(dagster\._core\.definitions\.events\.Failure|s2s_assets\.[\w.]+): ")
"""How Dagster begins the message of an error whose reason is enough."""


class Driver:
    """Definitions and an instance, driven from this process."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.definitions = definitions
        self.instance = instance
        self._repository = definitions.get_repository_def()

    def run_job(
        self,
        job: str,
        *,
        partition: str | None = None,
        tags: Mapping[str, str] | None = None,
        selection: Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> dg.ExecuteInProcessResult:
        """Run a job to its end in this process.

        Raises:
            RunFailedError: the run failed.
        """
        result = self.definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            partition_key=partition,
            tags=dict(tags or {}),
            asset_selection=[dg.AssetKey(a) for a in selection] if selection else None,
            run_config={**_QUIET, **(config or {})},
            raise_on_error=False,
        )
        if not result.success:
            raise RunFailedError(f"{job}{f' [{partition}]' if partition else ''}: {_why(result)}")
        return result

    def tick(self, sensor: str) -> list[dg.RunRequest]:
        """Evaluate a sensor once; keys and asset events it asks for are recorded, run requests are returned."""
        definition = self._repository.get_sensor_def(sensor)
        cursor = self.instance.daemon_cursor_storage.get_cursor_values({f"s2s_assets/{sensor}"})
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=cursor.get(f"s2s_assets/{sensor}"),
            repository_def=self._repository,
            resources=dict(self.definitions.resources or {}),
        )
        with context, dg.partition_loading_context(dynamic_partitions_store=self.instance):
            data = definition.evaluate_tick(context)
        for request in data.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        for event in data.asset_events:
            self.instance.report_runless_asset_event(event)
        if data.cursor is not None:
            self.instance.daemon_cursor_storage.set_cursor_values({f"s2s_assets/{sensor}": data.cursor})
        return list(data.run_requests or ())


def _why(result: dg.ExecuteInProcessResult) -> str:
    for event in result.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            words = error.message.strip() if error else "no reason given"
            # any other error is somebody's to mend, who needs to see where it was
            if own := _OWN.match(words):
                words = words[own.end() :]
            elif error is not None:
                words = f"{words}\n{''.join(error.stack)}"
            return f"step {event.step_key} failed: {words}"
    return "the run failed before a step started"
