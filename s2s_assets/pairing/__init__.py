"""The balanced design of pairs and slots, its quality, new epochs."""

from s2s_assets.pairing.cells import plan_level, playable_cells, tasks_level
from s2s_assets.pairing.epochs import next_epoch, waiting_for
from s2s_assets.pairing.quality import plan_quality
from s2s_assets.pairing.schema import METHOD_VERSION, PLAN_SCHEMA, empty_plan

__all__ = [
    "METHOD_VERSION",
    "PLAN_SCHEMA",
    "empty_plan",
    "next_epoch",
    "plan_level",
    "plan_quality",
    "playable_cells",
    "tasks_level",
    "waiting_for",
]
