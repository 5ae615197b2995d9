"""What the rating app knows of raters beside their votes, for the cleaning rules and for export."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from sqlalchemy import func, select

from s2s_assets.ratings.app_schema import reply, sitting, stimulus, task
from s2s_assets.ratings.quality_controls import CONTROLS
from s2s_assets.ratings.quality_tasks import HEARD
from s2s_assets.ratings.schema import assignment, pair, rater
from s2s_assets.ratings.shown import CLOSED
from s2s_assets.ratings.store import RatingsStore

MOS = pl.Schema(
    {
        "response": pl.String(),
        "prompt": pl.String(),
        "config": pl.String(),
        "rater": pl.String(),
        "question": pl.String(),
        "score": pl.Int64(),
        "submitted_at": pl.Datetime("us", "UTC"),
    }
)
"""Columns of the single-response scores, 1 to 5."""


def controls_table(store: RatingsStore) -> pl.DataFrame:
    """Replies in finished controls (`CONTROLS`), sorted by rater, task, rubric."""
    kinds = task.c.kind.in_(("null", "gold", "trap", "repeat"))
    joined = _with_raters().join(reply, reply.c.task_id == task.c.id)
    columns = (*task.c["id", "kind", "expected", "first", "second"], *reply.c["rubric", "value"], rater.c.name)
    query = select(*columns).select_from(joined).where(kinds, task.c.state == "done")
    with store.reading() as connection:
        rows = [_control(row) for row in connection.execute(query).mappings()]
    return pl.DataFrame(rows, schema=CONTROLS, orient="row").sort("rater", "task", "rubric")


def heard_table(store: RatingsStore) -> pl.DataFrame:
    """How much was heard of each pair that was answered, and how fast at most (`HEARD`), sorted by rater, pair."""
    joined = (
        _with_raters()
        .join(stimulus, stimulus.c.task_id == task.c.id)
        .join(assignment, assignment.c.id == task.c.assignment_id)
        .join(pair, pair.c.id == assignment.c.pair_id)
    )
    least, fastest = func.min(stimulus.c.coverage), func.max(stimulus.c.rate)
    query = (
        select(rater.c.name, pair.c.pair, least, fastest)
        .select_from(joined)
        .where(task.c.kind == "pair", task.c.state.in_(CLOSED))
        .group_by(rater.c.name, pair.c.pair)
    )
    with store.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    return pl.DataFrame(rows, schema=HEARD, orient="row").sort("rater", "pair")


def mos_table(store: RatingsStore) -> pl.DataFrame:
    """The single-response scores (`MOS`), sorted by response, rater, question."""
    joined = _with_raters().join(reply, reply.c.task_id == task.c.id)
    columns = (*task.c["first", "prompt", "closed_at"], *reply.c["rubric", "value"], rater.c.name)
    query = select(*columns).select_from(joined).where(task.c.kind == "mos", task.c.state == "done")
    sides = [select(pair.c[f"response_{side}"], pair.c[f"config_{side}"]).distinct() for side in "ab"]
    with store.reading() as connection:
        configs = {response: config for side in sides for response, config in connection.execute(side).tuples()}
        rows = [
            (row.first, row.prompt, configs.get(row.first), row.name, row.rubric, row.value, row.closed_at)
            for row in connection.execute(query)
        ]
    return pl.DataFrame(rows, schema=MOS, orient="row").sort("response", "rater", "question")


def _with_raters() -> Any:
    return task.join(sitting, sitting.c.id == task.c.sitting_id).join(rater, rater.c.id == sitting.c.rater_id)


def _control(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A reply with the bounds that its control sets to it; none in a repeat, nor where one clip is heard twice."""
    expected, low, high = row["expected"], None, None
    if row["kind"] in ("gold", "trap") and expected["rubric"] in (None, row["rubric"]):
        low, high = expected["low"], expected["high"]
    return {
        "rater": row["name"],
        "kind": row["kind"],
        "task": str(row["id"]),
        "rubric": row["rubric"],
        "value": row["value"],
        "low": low,
        "high": high,
        "first": row["first"],
        "second": row["second"],
    }
