"""What a hand-out costs does not grow with the study: rows read and statements sent, not seconds."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, event

from s2s_assets.ratings import Handout, RatingsStore, enrol, invite, next_assignment, submit, upsert_tasks
from s2s_assets.ratings.consents import consent_of
from s2s_assets.ratings.invitations import Claims, invited
from s2s_assets.ratings.mos import show_mos
from s2s_assets.ratings.schema import pair
from s2s_assets.ratings.sittings import begin

RULES = Handout(candidates=20, prompt_per_rater=9)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


def rows_of_pair(connection: Connection, statement: str, parameters: Any) -> int:
    """How many rows of `pair` Postgres looks at."""
    told = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    return sum(
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        for node in nodes(plan)
        if node.get("Relation Name") == "pair"
    )


def work(store: RatingsStore, do: Callable[[], Any]) -> int:
    """What something costs: rows of `pair` that Postgres looks at, steps of SQLite's machine."""
    postgres = store.engine.dialect.name == "postgresql"
    done = 0

    def look(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        nonlocal done
        if postgres and not statement.startswith("EXPLAIN") and statement.startswith(("SELECT", "WITH")):
            done += rows_of_pair(connection, statement, parameters)
        elif not postgres:
            connection.connection.dbapi_connection.set_progress_handler(step, 1)

    def step() -> None:
        nonlocal done
        done += 1

    event.listen(store.engine, "before_cursor_execute", look)
    assert do()
    event.remove(store.engine, "before_cursor_execute", look)
    return done


@pytest.fixture
def grown(ratings: RatingsStore, plan_of, media_of):
    """Fills the database with this many prompts of 28 pairs; nine tenths of them are done, if so wanted."""

    def grow(prompts: int, mostly_done: bool) -> RatingsStore:
        plan = plan_of(prompts=prompts, configs=8)
        upsert_tasks(ratings, plan, media_of(plan))
        if mostly_done:
            with ratings.writing() as connection:
                connection.execute(pair.update().where(pair.c.id % 10 != 0).values(taken=pair.c.slots))
        with ratings.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
        return ratings

    return grow


@pytest.mark.parametrize("mostly_done", [False, True], ids=["open", "mostly_done"])
def test_a_hand_out_does_not_read_all_pairs(grown, clock, mostly_done: bool) -> None:
    store = grown(100, mostly_done)
    rng, who = np.random.default_rng(3), enrol(store, "panel", "ann", clock())
    for _ in range(3):
        submit(store, next_assignment(store, who, "s", rng, clock, RULES).nonce, {"overall": 0}, clock)
    done = work(store, lambda: next_assignment(store, who, "s", rng, clock, RULES))
    # a window of 20 pairs is read twice, to be found and to be weighed; SQLite takes some 180 steps a pair
    assert done < (8_000 if store.engine.dialect.name == "sqlite" else 100)
    assert done > 20


def test_a_single_response_is_found_without_reading_all_pairs(grown, clock) -> None:
    store = grown(100, False)
    found = invited(store, invite(store, clock(), "generic", "mos"))
    sat, _ = begin(store, found, Claims("ann", "1"), "en", consent_of("1", "en", ["I agree."]), clock())

    def show() -> bool:
        with store.importing() as connection:
            return show_mos(connection, sat, 2, 0, np.random.default_rng(3), clock)

    # a hundred pairs on each side of a random place, once for each of their responses
    assert work(store, show) < (60_000 if store.engine.dialect.name == "sqlite" else 500)


def test_a_hand_out_is_one_transaction_of_few_statements(planned, clock) -> None:
    rng, who, sent = np.random.default_rng(3), enrol(planned, "panel", "ann", clock()), []
    event.listen(planned.engine, "before_cursor_execute", lambda _c, _u, statement, *_: sent.append(statement))
    event.listen(planned.engine, "begin", lambda _: sent.append("transaction"))
    next_assignment(planned, who, "s", rng, clock)
    statements = [s for s in sent if not s.startswith(("BEGIN", "transaction", "SAVEPOINT", "RELEASE"))]
    assert len(statements) == 9
    assert sent.count("transaction") == 2
