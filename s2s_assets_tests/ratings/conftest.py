"""A small study in a ratings database: a plan of pairs, what is heard, and a clock that tests wind."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sqlalchemy import Engine, text

from s2s_assets.ratings import RatingsStore, enrol, next_assignment, submit, upsert_tasks
from s2s_assets.storage import open_engine

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


class WoundClock:
    """A clock that stands until it is wound."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def wind(self, **parts: float) -> datetime:
        self.now += timedelta(**parts)
        return self.now


def make_plan(
    prompts: int = 3, configs: int = 4, slots: int = 2, epoch: int = 1, first_prompt: int = 0
) -> pl.DataFrame:
    """Every pair of configs on every prompt, each slot in the other order."""
    numbers = range(first_prompt, first_prompt + prompts)
    rows = [
        {
            "epoch": epoch,
            "pair": f"pair-{p}-{a}-{b}",
            "prompt": f"p{p}",
            "config_a": f"m{a}|v|none",
            "config_b": f"m{b}|v|none",
            "response_a": f"r-{p}-{a}",
            "response_b": f"r-{p}-{b}",
            "slot": s,
            "first": "ab"[s % 2],
            "source": "baseline",
        }
        for p, (a, b), s in itertools.product(numbers, itertools.combinations(range(configs), 2), range(slots))
    ]
    return pl.DataFrame(rows)


def make_media(plan: pl.DataFrame, duration_s: float = 5.0) -> pl.DataFrame:
    """Audio for every prompt and response of a plan."""
    responses = sorted({*plan["response_a"], *plan["response_b"]})
    rows = [("prompt", p, f"{p}.flac", duration_s) for p in sorted(set(plan["prompt"]))]
    rows += [("response", r, f"{r}.flac", duration_s) for r in responses]
    return pl.DataFrame(rows, schema=["kind", "subject", "blob", "duration_s"], orient="row")


def vote_all(ratings: RatingsStore, clock: WoundClock, raters: int = 8, rubrics: tuple[str, ...] = ("overall",)) -> int:
    """Raters in turn take and answer whatever they are given; how many tasks that was."""
    rng, done = np.random.default_rng(1), 0
    people = [enrol(ratings, "panel", f"pid-{i}", clock(), name=f"rater-{i}") for i in range(raters)]
    for sitting in range(3):
        for who in people:
            while task := next_assignment(ratings, who, f"{who.name}/{sitting}", rng, clock):
                clock.wind(seconds=40)
                submit(ratings, task.nonce, {r: int(rng.integers(-3, 4)) for r in rubrics}, clock, elapsed_ms=40_000)
                done += 1
    return done


@pytest.fixture(scope="session")
def shared_postgres_url(new_postgres_database: Callable[[], str]) -> str:
    """One database for the whole room: making one costs more than most of its tests."""
    return new_postgres_database()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """SQLAlchemy URL of an empty database: SQLite, then Postgres, emptied."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ratings.sqlite'}"
    url = str(request.getfixturevalue("shared_postgres_url"))
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return url


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
def ratings(engine: Engine) -> RatingsStore:
    """An empty database of the study, of each kind."""
    return RatingsStore(engine, "study")


@pytest.fixture
def plan() -> pl.DataFrame:
    return make_plan()


@pytest.fixture
def planned(ratings: RatingsStore, plan: pl.DataFrame) -> RatingsStore:
    """A database with the plan in it: 3 prompts × 6 pairs × 2 slots."""
    upsert_tasks(ratings, plan, make_media(plan))
    return ratings


@pytest.fixture
def voted(planned: RatingsStore, clock: WoundClock) -> RatingsStore:
    """The same with every slot voted on two rubrics."""
    assert vote_all(planned, clock, rubrics=("naturalness", "overall")) == 36
    return planned


Maker = Callable[..., pl.DataFrame]


@pytest.fixture
def plan_of() -> Maker:
    return make_plan


@pytest.fixture
def media_of() -> Maker:
    return make_media


@pytest.fixture
def vote() -> Callable[..., int]:
    return vote_all
