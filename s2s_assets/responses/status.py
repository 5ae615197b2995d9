"""How far each config is: by the stored attempts, and by the counts of collections that are running on this machine."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from s2s_assets.responses.attempts import stored_attempts
from s2s_assets.responses.collecting import running_progress
from s2s_assets.responses.table import wanted
from s2s_assets.storage import StudyStore
from s2s_assets.study import Config


@dataclass(frozen=True)
class ConfigStatus:
    """One config's responses."""

    config: str
    planned: int
    ok: int
    failed: dict[str, int]
    """Status → prompts whose last attempt ended in it."""
    not_attempted: int
    superseded: int
    """Stored successes that were collected anew or are to be."""
    attempts: int
    cost_usd: float | None
    """Of all attempts, superseded ones too, as far as it is known; None where none of it is, 0 without an attempt."""
    unknown_costs: int
    """Attempts whose cost is not known."""
    last_at: str | None
    """When the last attempt began, UTC."""
    running: dict[str, Any] | None
    """Counts of the collection that runs on this machine."""


def config_status(config: Config, prompts: pl.DataFrame | None, store: StudyStore, home: Path) -> ConfigStatus:
    """The status of a config.

    Args:
        config: model, voice and thinking level.
        prompts: table `normalized_audio`; None before there is one.
        store: where attempts are.
        home: state folder of this machine.

    Raises:
        StoreError: a record that cannot be read.
    """
    stored = stored_attempts(store, config)
    plan = [] if prompts is None else wanted(config, prompts, store)
    ends = Counter(_end([r["status"] for r in stored.get(w.response_id, [])]) for w in plan)
    records = [record for attempts in stored.values() for record in attempts]
    costs = [r["cost_usd"] for r in records if r["cost_usd"] is not None]
    current = {w.response_id for w in plan}
    return ConfigStatus(
        config=str(config.key),
        planned=len(plan),
        ok=ends["ok"],
        failed={status: n for status, n in sorted(ends.items()) if status not in {"ok", ""}},
        not_attempted=ends[""],
        superseded=sum(i not in current and any(r["status"] == "ok" for r in rs) for i, rs in stored.items()),
        attempts=len(records),
        cost_usd=sum(costs) if costs or not records else None,
        unknown_costs=len(records) - len(costs),
        last_at=max((r["started_at"] for r in records), default=None),
        running=running_progress(home, str(config.key)),
    )


def _end(statuses: list[str]) -> str:
    """What a response's attempts came to; empty where there are none."""
    return "ok" if "ok" in statuses else statuses[-1] if statuses else ""
