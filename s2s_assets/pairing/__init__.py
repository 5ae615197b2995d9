"""The balanced design of pairs and slots, its quality, new epochs, and the adaptive top-up beside them."""

from s2s_assets.pairing.adaptive import ADAPTIVE, ADAPTIVE_VERSION, TopUp, round_pairs, top_up
from s2s_assets.pairing.cells import plan_level, playable_cells, tasks_level
from s2s_assets.pairing.epochs import next_epoch, waiting_for
from s2s_assets.pairing.quality import plan_quality
from s2s_assets.pairing.schema import METHOD_VERSION, PLAN_SCHEMA, empty_plan

__all__ = [
    "ADAPTIVE",
    "ADAPTIVE_VERSION",
    "METHOD_VERSION",
    "PLAN_SCHEMA",
    "TopUp",
    "empty_plan",
    "next_epoch",
    "plan_level",
    "plan_quality",
    "playable_cells",
    "round_pairs",
    "tasks_level",
    "top_up",
    "waiting_for",
]
