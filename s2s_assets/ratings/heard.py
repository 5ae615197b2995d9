"""Proof of listening: what a browser claims to have played, held against the server's clock.

A browser tells of each clip which share of it was played (`HTMLMediaElement.played`, so what was skipped does not
count), how often it was played to the end, and at which speed. A clip counts as heard once that share is 97 % at speed 1
and the time since the task was shown is at least as long as all that counts as heard: clips cannot play at once, and
a browser that is told to play faster still has to wait. What was heard once stays heard, whatever is reloaded.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from s2s_assets.ratings.app_schema import stimulus

MIN_COVERAGE = 0.97
ROLES = ("prompt", "first", "second")
_MOST_PLAYS = 1000


@dataclass(frozen=True)
class Played:
    """A browser's claim about one clip."""

    coverage: float
    plays: int
    rate: float


def read_played(text: str) -> dict[str, Played]:
    """Claims by role from JSON: `{"first": {"coverage": 0.99, "plays": 1, "rate": 1}}`; what is none is left out."""
    try:
        told = json.loads(text or "{}")
    except ValueError:
        return {}
    told = told if isinstance(told, dict) else {}
    claims = {role: _claim(told[role]) for role in ROLES if isinstance(told.get(role), dict)}
    return {role: claim for role, claim in claims.items() if claim is not None}


def note_played(
    connection: Connection, task_id: int, shown_at: datetime, claims: Mapping[str, Played], now: datetime
) -> frozenset[str]:
    """Store what was played of a task's clips; the roles that are still to be heard."""
    found = {row.role: row for row in connection.execute(select(stimulus).where(stimulus.c.task_id == task_id))}
    rows = [found[role] for role in ROLES if role in found]
    elapsed_s = (now - shown_at).total_seconds()
    spent_s = MIN_COVERAGE * sum(row.duration_s for row in rows if row.heard_at is not None)
    missing = set()
    for row in rows:
        claim = claims.get(row.role)
        heard = row.heard_at is not None
        if claim is not None:
            values: dict[str, Any] = {
                "plays": max(row.plays, claim.plays),
                "coverage": max(row.coverage, claim.coverage),
                "rate": max(row.rate, claim.rate),
            }
            needs_s = MIN_COVERAGE * row.duration_s
            if not heard and claim.coverage >= MIN_COVERAGE and claim.rate == 1 and spent_s + needs_s <= elapsed_s:
                values["heard_at"], heard, spent_s = now, True, spent_s + needs_s
            if any(values[name] != getattr(row, name) for name in values):
                mine = (stimulus.c.task_id == task_id) & (stimulus.c.role == row.role)
                connection.execute(stimulus.update().where(mine).values(values))
        if not heard:
            missing.add(row.role)
    return frozenset(missing)


def _claim(told: Mapping[str, Any]) -> Played | None:
    values = [told.get(name) for name in ("coverage", "plays", "rate")]
    if not all(isinstance(v, int | float) and math.isfinite(v) and v >= 0 for v in values):
        return None
    coverage, plays, rate = (float(v) for v in values if v is not None)
    return Played(min(coverage, 1.0), int(min(plays, _MOST_PLAYS)), min(rate, 100.0))
