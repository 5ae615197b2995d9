"""The answers and their quality as they are now, for the admin pages.

Reading and judging millions of answers takes seconds, so each process keeps its last look: it looks again when an exclusion has
changed, and when answers came and the last look is a minute old.
"""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from sqlalchemy import func, select

from s2s_assets.ratings.app_schema import task
from s2s_assets.ratings.handing import Desk
from s2s_assets.ratings.quality import rater_quality_table
from s2s_assets.ratings.replies import controls_table, heard_table
from s2s_assets.ratings.schema import answer
from s2s_assets.ratings.settled import Settled, exclusions_at
from s2s_assets.ratings.snapshot import snapshot

_LOOK_EVERY = timedelta(minutes=1)


@dataclass(frozen=True)
class Look:
    """What was there at a time."""

    at: datetime
    ratings: pl.DataFrame
    """The table of that name."""
    quality: pl.DataFrame
    """The table `rater_quality`."""


class Watch:
    """Looks at one study's answers, no more often than needed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._last: Look | None = None
        self._seen: tuple[Any, ...] = ()

    def look(self) -> Look:
        """The newest look."""
        with self._lock:
            now = self._desk.clock()
            seen = self._state(now)
            if self._last is None or self._due(seen, now):
                self._last, self._seen = look_at(self._desk, now), seen
            return self._last

    def _due(self, seen: tuple[Any, ...], now: datetime) -> bool:
        assert self._last is not None
        old = now - self._last.at >= _LOOK_EVERY
        return seen[0] != self._seen[0] or (old and seen != self._seen)

    def _state(self, now: datetime) -> tuple[Any, ...]:
        with self._desk.store.reading() as connection:
            answers = connection.execute(select(func.count(), func.max(answer.c.id))).one()
            controls = connection.execute(select(func.count()).where(task.c.state == "done")).scalar_one()
            return exclusions_at(connection, now), tuple(answers), controls


def look_at(desk: Desk, now: datetime) -> Look:
    """Read and judge every answer that landed at or before an aware time."""
    configs = [str(config.key) for config in desk.study.configs]
    ratings = snapshot(desk.store, Settled("", now, 0), list(desk.scripts.values()), configs).frame
    controls, heard = controls_table(desk.store), heard_table(desk.store)
    return Look(now, ratings, rater_quality_table(ratings, desk.study.cleaning, controls, heard))
