"""A run launcher for tests: each run in a thread of this process, and over when the launch returns."""

from concurrent.futures import ThreadPoolExecutor

from dagster._core.launcher import LaunchRunContext
from dagster._core.launcher.sync_in_memory_run_launcher import SyncInMemoryRunLauncher


class ThreadRunLauncher(SyncInMemoryRunLauncher):
    """The backfill daemon launches from an event loop, where an asset could not start one of its own."""

    def launch_run(self, context: LaunchRunContext) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(super().launch_run, context).result()
