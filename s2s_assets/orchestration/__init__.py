"""The Dagster parts that rooms share: partitions, IO manager, resources, reconciling sensors, run coordinator.

Only this room, the rooms' doors (`assets.py`, `checks.py`, `sensors.py`) and `definitions.py` import dagster.
"""

from s2s_assets.orchestration.drive import Driver, RunFailedError, lay_out_home, open_instance
from s2s_assets.orchestration.io_manager import TableIOManager
from s2s_assets.orchestration.metadata import OWNERS, markdown_table, png_metadata, preview
from s2s_assets.orchestration.partitions import CONFIG_SET, CONFIGS, config_of_run, live_keys
from s2s_assets.orchestration.reconcile import (
    LEVEL_TAG,
    SENSOR_INTERVAL_S,
    WANTED_TAG,
    Level,
    Verdict,
    is_being_made,
    is_settled,
    reconcile,
    report,
    settle,
)
from s2s_assets.orchestration.resources import LastFit, Reviews, StudyResource, Withdrawals
from s2s_assets.orchestration.stage import Check, Stage, StageEvent, leave_out, run_stage, stored

__all__ = [
    "CONFIGS",
    "CONFIG_SET",
    "LEVEL_TAG",
    "OWNERS",
    "SENSOR_INTERVAL_S",
    "WANTED_TAG",
    "Check",
    "Driver",
    "LastFit",
    "Level",
    "Reviews",
    "RunFailedError",
    "Stage",
    "StageEvent",
    "StudyResource",
    "TableIOManager",
    "Verdict",
    "Withdrawals",
    "config_of_run",
    "is_being_made",
    "is_settled",
    "lay_out_home",
    "leave_out",
    "live_keys",
    "markdown_table",
    "open_instance",
    "png_metadata",
    "preview",
    "reconcile",
    "report",
    "run_stage",
    "settle",
    "stored",
]
