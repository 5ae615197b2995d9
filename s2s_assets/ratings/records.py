"""All that is known of one rater or one response: answers, controls, flags, problems, and what was decided about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import or_, select

from s2s_assets.ratings.exclude import Scope
from s2s_assets.ratings.progress import problems_told
from s2s_assets.ratings.quality_controls import judged_controls
from s2s_assets.ratings.replies import controls_table
from s2s_assets.ratings.schema import exclusion, media, pair, rater
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.ratings.watch import Look
from s2s_assets.study import Cleaning


@dataclass(frozen=True)
class Decision:
    """An exclusion, in force until it was lifted."""

    author: str
    reason: str
    created_at: datetime
    lifted_at: datetime | None
    lifted_by: str | None
    lifted_reason: str | None


@dataclass(frozen=True)
class RaterRecord:
    """One rater."""

    name: str
    provider: str
    external_id: str
    simulated: bool
    created_at: datetime
    attributes: dict[str, Any]
    decisions: tuple[Decision, ...]
    days: pl.DataFrame
    """`day`, `tasks`, `answers`, `excluded`."""
    controls: pl.DataFrame
    """`kind`, `passed`, `failed`."""
    measures: pl.DataFrame
    """`measure`, `value`, `n`, `flag`, `effect`."""
    flagged_answers: int
    problems: pl.DataFrame


@dataclass(frozen=True)
class ResponseRecord:
    """One response."""

    response: str
    prompt: str
    config: str
    blob: str | None
    duration_s: float | None
    prompt_blob: str | None
    decisions: tuple[Decision, ...]
    answers: pl.DataFrame
    """`rater`, `rubric`, `against`, `score` (above 0 this response is better), `submitted_at`, `flags`, `excluded_by`."""
    problems: pl.DataFrame


def decisions_about(store: RatingsStore, scope: Scope, target: str) -> tuple[Decision, ...]:
    """Exclusions of a target, lifted ones too, newest first."""
    columns = exclusion.c["author", "reason", "created_at", "lifted_at", "lifted_by", "lifted_reason"]
    about = (exclusion.c.scope == scope) & (exclusion.c.target == target)
    with store.reading() as connection:
        rows = connection.execute(select(*columns).where(about).order_by(exclusion.c.id.desc())).all()
    return tuple(Decision(*row) for row in rows)


def rater_record(store: RatingsStore, look: Look, rules: Cleaning, name: str) -> RaterRecord | None:
    """What is known of a rater; None where there is none of that name.

    Args:
        store: The study's database.
        look: The answers and their quality.
        rules: The study's cleaning rules.
        name: The rater's.
    """
    with store.reading() as connection:
        found = connection.execute(select(rater).where(rater.c.name == name)).first()
    if found is None:
        return None
    mine = look.ratings.filter(pl.col("rater") == name)
    of_rater = look.quality.filter((pl.col("scope") == "rater") & (pl.col("name") == name))
    flagged = look.quality.filter((pl.col("scope") == "rating") & pl.col("flag").is_not_null())["name"]
    return RaterRecord(
        name,
        found.provider,
        found.external_id,
        found.simulated,
        found.created_at,
        found.attributes,
        decisions_about(store, "rater", name),
        _days(mine),
        _controls(judged_controls(controls_table(store).filter(pl.col("rater") == name), rules)),
        of_rater.select("measure", "value", "n", "flag", "effect"),
        mine.filter(pl.col("rating_id").is_in(flagged.implode())).height,
        problems_told(store).filter(pl.col("rater") == name),
    )


def response_record(store: RatingsStore, look: Look, response: str) -> ResponseRecord | None:
    """What is known of a response; None where no pair holds it.

    Args:
        store: The study's database.
        look: The answers and their quality.
        response: Its id.
    """
    holds = or_(pair.c.response_a == response, pair.c.response_b == response)
    with store.reading() as connection:
        found = connection.execute(select(pair).where(holds).limit(1)).first()
        if found is None:
            return None
        heard = media.c["kind", "subject", "blob", "duration_s"]
        of = media.c.subject.in_((response, found.prompt))
        clips = {(row.kind, row.subject): row for row in connection.execute(select(*heard).where(of))}
    own, asked = clips.get(("response", response)), clips.get(("prompt", found.prompt))
    return ResponseRecord(
        response,
        found.prompt,
        found.config_a if found.response_a == response else found.config_b,
        None if own is None else own.blob,
        None if own is None else own.duration_s,
        None if asked is None else asked.blob,
        decisions_about(store, "response", response),
        _answers_about(look, response),
        problems_told(store).filter(pl.col("response") == response),
    )


def _controls(judged: pl.DataFrame) -> pl.DataFrame:
    right = pl.col("right")
    counts = (right.sum().cast(pl.Int64).alias("passed"), (~right).sum().cast(pl.Int64).alias("failed"))
    return judged.group_by("kind").agg(*counts).sort("kind")


def _days(answers: pl.DataFrame) -> pl.DataFrame:
    by_day = answers.group_by(day=pl.col("submitted_at").dt.date()).agg(
        tasks=pl.col("pair").n_unique(), answers=pl.len(), excluded=pl.col("excluded_by").count()
    )
    return by_day.sort("day", descending=True, nulls_last=True)


def _answers_about(look: Look, response: str) -> pl.DataFrame:
    ours = pl.col("response_a") == response
    about = look.ratings.filter(ours | (pl.col("response_b") == response))
    flags = (
        look.quality.filter((pl.col("scope") == "rating") & pl.col("flag").is_not_null())
        .group_by("name")
        .agg(flags=pl.col("flag").sort().str.join(", "))
    )
    return (
        about.join(flags, left_on="rating_id", right_on="name", how="left", maintain_order="left")
        .select(
            "rater",
            "rubric",
            against=pl.when(ours).then("response_b").otherwise("response_a"),
            score=pl.when(ours).then("score").otherwise(-pl.col("score")),
            submitted_at="submitted_at",
            flags="flags",
            excluded_by="excluded_by",
        )
        .sort("submitted_at", "rater", "rubric", descending=[True, False, False], nulls_last=True)
    )
