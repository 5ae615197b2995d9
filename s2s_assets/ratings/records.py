"""All that is known of one rater, prompt, response or rating: answers, controls, flags, problems, and what was decided about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import polars as pl
from sqlalchemy import or_, select

from s2s_assets.ratings.consents import Agreed, agreed_by
from s2s_assets.ratings.exclude import Scope
from s2s_assets.ratings.progress import pairs_progress, problems_told, responses_progress
from s2s_assets.ratings.quality_controls import judged_controls
from s2s_assets.ratings.replies import controls_table
from s2s_assets.ratings.schema import exclusion, media, pair, rater
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.ratings.watch import Look
from s2s_assets.study import Cleaning

Role = Literal["prompt", "first", "second"]
_CLIP = media.c["kind", "subject"]


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
    agreed: tuple[Agreed, ...]
    decisions: tuple[Decision, ...]
    days: pl.DataFrame
    """`day`, `tasks`, `answers`, `excluded`."""
    controls: pl.DataFrame
    """`kind`, `passed`, `failed`."""
    measures: pl.DataFrame
    """`measure`, `value`, `n`, `flag`, `effect`."""
    flagged_answers: int
    problems: pl.DataFrame
    answers: pl.DataFrame
    """`rating`, `prompt`, `rubric`, `config_a`, `config_b`, `score`, `screen_value`, `submitted_at`, `flags`, `excluded_by`."""


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
    """`rating`, `rater`, `rubric`, `against`, `score` (above 0 this response is better), `submitted_at`, `flags`, `excluded_by`."""
    problems: pl.DataFrame


@dataclass(frozen=True)
class PromptRecord:
    """One prompt."""

    prompt: str
    blob: str | None
    duration_s: float | None
    responses: pl.DataFrame
    """`response`, `config`, and the counts of `responses_progress`."""
    problems: pl.DataFrame


@dataclass(frozen=True)
class RatingRecord:
    """One rating: a rater's answer to one question about a pair."""

    answer: dict[str, Any]
    """Its row of the table `ratings`."""
    heard: tuple[tuple[Role, str | None, bool], ...]
    """What was heard, in its order: which, the id, and whether there is a recording."""
    decisions: tuple[Decision, ...]
    flags: pl.DataFrame
    """`measure`, `value`, `n`, `flag`, `effect`."""
    others: pl.DataFrame
    """The rater's other answers about the pair: `rating`, `rubric`, `score`, `flags`, `excluded_by`."""


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
        agreed_by(store, name),
        decisions_about(store, "rater", name),
        _days(mine),
        _controls(judged_controls(controls_table(store).filter(pl.col("rater") == name), rules)),
        of_rater.select("measure", "value", "n", "flag", "effect"),
        mine.filter(pl.col("rating_id").is_in(flagged.implode())).height,
        problems_told(store).filter(pl.col("rater") == name),
        _with_flags(mine, look).select(
            pl.col("rating_id").alias("rating"),
            *("prompt", "rubric", "config_a", "config_b", "score", "screen_value"),
            *("submitted_at", "flags", "excluded_by"),
        ),
    )


def prompt_record(store: RatingsStore, prompt: str) -> PromptRecord | None:
    """What is known of a prompt; None where no pair is about it."""
    pairs = pairs_progress(store, prompt)
    if pairs.is_empty():
        return None
    with store.reading() as connection:
        mine = (media.c.kind == "prompt") & (media.c.subject == prompt)
        heard = connection.execute(select(*media.c["blob", "duration_s"]).where(mine)).first()
    problems = problems_told(store)
    return PromptRecord(
        prompt,
        None if heard is None else heard.blob,
        None if heard is None else heard.duration_s,
        responses_progress(store, prompt).drop("prompt").sort("config"),
        problems.filter((pl.col("prompt") == prompt) & (pl.col("role") == "prompt")),
    )


def rating_record(store: RatingsStore, look: Look, rating: str) -> RatingRecord | None:
    """What is known of a rating; None where the look has none of this id.

    Args:
        store: The study's database.
        look: The answers and their quality.
        rating: Its id.
    """
    found = look.ratings.filter(pl.col("rating_id") == rating)
    if found.is_empty():
        return None
    row = found.row(0, named=True)
    sides = (row["response_a"], row["response_b"])
    first, second = sides if row["first"] != "b" else sides[::-1]
    names: tuple[tuple[Role, str | None], ...] = (("prompt", row["prompt"]), ("first", first), ("second", second))
    with store.reading() as connection:
        subjects = {name for _, name in names if name is not None}
        there = {tuple(r) for r in connection.execute(select(*_CLIP).where(media.c.subject.in_(subjects)))}
    same_task = (pl.col("rater") == row["rater"]) & (pl.col("pair") == row["pair"]) & (pl.col("rating_id") != rating)
    others = _with_flags(look.ratings.filter(same_task), look).sort("rubric")
    flags = look.quality.filter((pl.col("scope") == "rating") & (pl.col("name") == rating))
    return RatingRecord(
        row,
        tuple((role, name, (_kind(role), name) in there) for role, name in names),
        decisions_about(store, "rating", rating),
        flags.select("measure", "value", "n", "flag", "effect"),
        others.select(pl.col("rating_id").alias("rating"), "rubric", "score", "flags", "excluded_by"),
    )


def exclusions_told(store: RatingsStore) -> pl.DataFrame:
    """Every exclusion, newest first: what it is about, by whom and why, and by whom and why it was lifted."""
    told = ("author", "reason", "created_at", "lifted_at", "lifted_by", "lifted_reason")
    with store.reading() as connection:
        rows = connection.execute(select(*exclusion.c["scope", "target", *told]).order_by(exclusion.c.id.desc())).all()
    times = dict.fromkeys(("created_at", "lifted_at"), pl.Datetime("us", "UTC"))
    schema = dict.fromkeys(("scope", "target", *told), pl.String) | times
    frame = pl.DataFrame([tuple(row) for row in rows], schema=schema, orient="row")
    about = (pl.when(pl.col("scope") == scope).then("target").alias(scope) for scope in get_args(Scope))
    return frame.select(pl.col("lifted_at").is_null().alias("in_force"), *about, *told)


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
    return (
        _with_flags(about, look)
        .select(
            pl.col("rating_id").alias("rating"),
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


def _with_flags(answers: pl.DataFrame, look: Look) -> pl.DataFrame:
    """Some answers with the names of their own flags, in one text."""
    flags = (
        look.quality.filter((pl.col("scope") == "rating") & pl.col("flag").is_not_null())
        .group_by("name")
        .agg(flags=pl.col("flag").sort().str.join(", "))
    )
    return answers.join(flags, left_on="rating_id", right_on="name", how="left", maintain_order="left")


def _kind(role: Role) -> str:
    """What kind of recording has a role."""
    return "prompt" if role == "prompt" else "response"
