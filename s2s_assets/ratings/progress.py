"""How far a study is: slots by pair, config, prompt and rater, the time that is left, links and problems.

`done` and `leased` count slots that are taken, `open` those of open pairs that are free. Pairs that are void, or that only
came with an import, have no open slot; they are listed with their state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from sqlalchemy import Select, case, func, select, true

from s2s_assets.ratings.app_schema import invitation, sitting, task
from s2s_assets.ratings.schema import answer, assignment, exclusion, pair, rater
from s2s_assets.ratings.store import RatingsStore

_TIME = pl.Datetime("us", "UTC")
PAIRS = pl.Schema(
    {
        "pair": pl.String(),
        "prompt": pl.String(),
        "config_a": pl.String(),
        "config_b": pl.String(),
        "response_a": pl.String(),
        "response_b": pl.String(),
        "state": pl.String(),
        "slots": pl.Int64(),
        "done": pl.Int64(),
        "leased": pl.Int64(),
        "problems": pl.Int64(),
        "open": pl.Int64(),
    }
)
"""Columns of the pairs."""
_COUNTS = ("slots", "done", "leased", "open", "problems")
_OF_SIDES = {"config": ("config",), "response": ("response", "config")}
"""What a pair has two of, with what else is told of each."""


@dataclass(frozen=True)
class Pace:
    """Votes of the last hours, and how long the rest takes at that rate."""

    hours: float
    votes: int
    left_h: float | None
    """None where nothing was voted."""


def pairs_progress(store: RatingsStore, prompt: str | None = None) -> pl.DataFrame:
    """Every pair (`PAIRS`), or those on one prompt, in the order of their names."""
    states = {"done": "done", "leased": "leased", "problems": "problem"}
    counts = [func.count(assignment.c.id).filter(assignment.c.state == s).label(n) for n, s in states.items()]
    columns = pair.c["pair", "prompt", "config_a", "config_b", "response_a", "response_b", "state", "slots"]
    query = (
        select(*columns, *counts)
        .select_from(pair.outerjoin(assignment, assignment.c.pair_id == pair.c.id))
        .where(true() if prompt is None else pair.c.prompt == prompt)
        .group_by(pair.c.id)
        .order_by(pair.c.pair)
    )
    free = pl.col("slots") - pl.col("done") - pl.col("leased")
    frame = _frame(store, query, {name: kind for name, kind in PAIRS.items() if name != "open"})
    return frame.with_columns(open=pl.when(pl.col("state") == "open").then(free).otherwise(0))


def totals(pairs: pl.DataFrame) -> dict[str, int]:
    """Sums over open pairs: `pairs`, `slots`, `done`, `leased`, `open`, `problems`."""
    wanted = pairs.filter(pl.col("state") == "open")
    return {"pairs": wanted.height, **{name: int(wanted[name].sum()) for name in _COUNTS}}


def progress_by(pairs: pl.DataFrame, name: str) -> pl.DataFrame:
    """Sums over open pairs by `prompt`, or by `config` or `response`, of which a pair counts for both of its own.

    A response comes with its `config` and `prompt`.
    """
    wanted = pairs.filter(pl.col("state") == "open")
    if name in _OF_SIDES:
        sides = [{f"{own}_{side}": own for own in _OF_SIDES[name]} for side in "ab"]
        wanted = pl.concat([wanted.select(*own, "prompt", *_COUNTS).rename(own) for own in sides])
    keys = [name] if name != "response" else ["response", "config", "prompt"]
    sums = wanted.group_by(keys).agg(pl.len().cast(pl.Int64).alias("pairs"), *(pl.col(c).sum() for c in _COUNTS))
    return sums.sort(name)


def responses_progress(store: RatingsStore, prompt: str | None = None) -> pl.DataFrame:
    """`progress_by` response, on all prompts or one; its `problems` are those told of the response itself."""
    counts = progress_by(pairs_progress(store, prompt), "response")
    told = problems_told(store).drop_nulls("response").group_by("response").agg(pl.len().alias("told"))
    joined = counts.join(told, on="response", how="left", maintain_order="left")
    return joined.with_columns(problems=pl.col("told").fill_null(0).cast(pl.Int64)).drop("told")


def raters_progress(store: RatingsStore) -> pl.DataFrame:
    """Every rater: where from, sessions, tasks done and leased, problems told, answers, first and last, by whom excluded."""
    states = {"done": "done", "leased": "leased", "problems": "problem"}
    of_states = select(
        assignment.c.rater_id,
        *(func.count().filter(assignment.c.state == s).label(n) for n, s in states.items()),
    ).group_by(assignment.c.rater_id)
    of_answers = select(
        answer.c.rater_id,
        func.count().label("answers"),
        func.min(answer.c.submitted_at).label("first_at"),
        func.max(answer.c.submitted_at).label("last_at"),
    ).group_by(answer.c.rater_id)
    of_sittings = select(sitting.c.rater_id, func.count().label("sessions")).group_by(sitting.c.rater_id)
    tasks, answers, sessions = of_states.subquery(), of_answers.subquery(), of_sittings.subquery()
    live = select(exclusion).where(exclusion.c.scope == "rater", exclusion.c.lifted_at.is_(None)).subquery()
    joined = rater
    for part in (tasks, answers, sessions):
        joined = joined.outerjoin(part, part.c.rater_id == rater.c.id)  # type: ignore[assignment]
    counted = {
        "sessions": sessions.c.sessions,
        "done": tasks.c.done,
        "leased": tasks.c.leased,
        "problems": tasks.c.problems,
        "answers": answers.c.answers,
    }
    query = (
        select(
            *rater.c["name", "provider", "simulated"],
            *(func.coalesce(found, 0) for found in counted.values()),
            answers.c.first_at,
            answers.c.last_at,
            live.c.author,
        )
        .select_from(joined.outerjoin(live, live.c.target == rater.c.name))
        .order_by(rater.c.name)
    )
    schema: dict[str, Any] = {"rater": pl.String, "provider": pl.String, "simulated": pl.Boolean}
    schema |= dict.fromkeys(counted, pl.Int64) | {"first_at": _TIME, "last_at": _TIME, "excluded_by": pl.String}
    return _frame(store, query, schema)


def paces(store: RatingsStore, left: int, now: datetime, windows_h: tuple[float, ...] = (1.0, 24.0)) -> list[Pace]:
    """Votes of the last hours, and how long `left` slots take at that rate, for each window."""
    found = []
    with store.reading() as connection:
        for hours in windows_h:
            since = now - timedelta(hours=hours)
            recent = (assignment.c.state == "done") & (assignment.c.submitted_at > since)
            votes = connection.execute(select(func.count()).select_from(assignment).where(recent)).scalar_one()
            found.append(Pace(hours, votes, left / votes * hours if votes else None))
    return found


def invitations_use(store: RatingsStore) -> pl.DataFrame:
    """Every invitation with its sessions by outcome and the raters who came, oldest first."""
    outcomes = ("done", "failed", "no_work")
    ended = [func.count(sitting.c.id).filter(sitting.c.outcome == one).label(one) for one in outcomes]
    query = (
        select(
            *invitation.c["id", "label", "panel", "work"],
            case((invitation.c.revoked_at.is_(None), "open"), else_="revoked"),
            invitation.c.created_at,
            func.count(sitting.c.id).label("sessions"),
            func.count(sitting.c.rater_id.distinct()).label("raters"),
            *ended,
            *invitation.c["revoked_at", "revoked_by", "revoked_reason"],
        )
        .select_from(invitation.outerjoin(sitting, sitting.c.invitation_id == invitation.c.id))
        .group_by(invitation.c.id)
        .order_by(invitation.c.id)
    )
    schema: dict[str, Any] = {"invitation": pl.Int64, **dict.fromkeys(("label", "panel", "work", "state"), pl.String)}
    schema |= {"created_at": _TIME, **dict.fromkeys(("sessions", "raters", *outcomes), pl.Int64)}
    schema |= {"revoked_at": _TIME, "revoked_by": pl.String, "revoked_reason": pl.String}
    return _frame(store, query, schema)


def sittings_by(store: RatingsStore, number: int) -> pl.DataFrame:
    """Every session by an invitation, newest first: whose, the panel's submission, how far, when, tasks done."""
    done = func.count(task.c.id).filter(task.c.state == "done").label("tasks")
    columns = sitting.c["claim", "started_at", "ended_at", "outcome", "headphones"]
    query = (
        select(rater.c.name, *columns, done)
        .select_from(sitting.join(rater).outerjoin(task, task.c.sitting_id == sitting.c.id))
        .where(sitting.c.invitation_id == number)
        .group_by(sitting.c.id, rater.c.name)
        .order_by(sitting.c.id.desc())
    )
    schema: dict[str, Any] = {"rater": pl.String, "submission": pl.String, "started_at": _TIME, "ended_at": _TIME}
    return _frame(store, query, schema | {"outcome": pl.String, "headphones": pl.String, "tasks": pl.Int64})


def problems_told(store: RatingsStore) -> pl.DataFrame:
    """Every technical problem, newest first: when, which, in which recording, in what kind of task, by whom.

    `response` is null where the recording was the prompt's or a trap's; a gold task's response may be its spoilt twin.
    """
    joined = task.join(sitting, sitting.c.id == task.c.sitting_id).join(rater, rater.c.id == sitting.c.rater_id)
    told = ("closed_at", "problem", "problem_role", "kind", "prompt", "first", "second", "comment")
    columns = (*task.c[told], rater.c.name)
    query = select(*columns).select_from(joined).where(task.c.state == "problem").order_by(task.c.id.desc())
    names = ("problem", "role", "kind", "prompt", "first", "second", "comment", "rater")
    schema: dict[str, Any] = {"at": _TIME, **dict.fromkeys(names, pl.String)}
    of_trap = (pl.col("kind") == "trap") & (pl.col("role") == "second")
    response = pl.coalesce(pl.when(pl.col("role") == role).then(pl.col(role)) for role in ("first", "second"))
    return _frame(store, query, schema).select(
        "at",
        "problem",
        "role",
        "kind",
        pl.when(~of_trap).then(response).alias("response"),
        "prompt",
        "rater",
        "comment",
    )


def _frame(store: RatingsStore, query: "Select[Any]", schema: Mapping[str, Any]) -> pl.DataFrame:
    with store.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    return pl.DataFrame(rows, schema=pl.Schema(schema), orient="row")
