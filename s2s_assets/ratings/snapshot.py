"""The table `ratings` as of a settled version: every answer, with what does not count marked and not left out.

The version in the result is computed from the answers that were read. It equals the one asked for unless an answer
landed late in between; then it is that newer version, which is what the table holds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl
from sqlalchemy import Connection, Select, select

from s2s_assets.ratings.schema import answer, assignment, pair, rater
from s2s_assets.ratings.settled import HALF, Settled, exclusions_at, version_of
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.study import Script

LATE = "late"
UNKNOWN_CONFIG = "unknown_config"
EXCLUSION_RULES = (LATE, UNKNOWN_CONFIG)
"""Values of `excluded_by` that are rules; any other is the author of an exclusion."""
_LATE_REASON = "the lease had run out and the slot was given to another rater"
_CHUNK = 50_000
_TIME = pl.Datetime("us", "UTC")
_ANSWER: dict[str, Any] = {
    "rating_id": pl.String,
    "assignment_id": pl.Int64,
    "pair_id": pl.Int64,
    "rater_id": pl.Int64,
    "rubric": pl.String,
    "score": pl.Int64,
    "screen_value": pl.Int64,
    "first": pl.String,
    "submitted_at": _TIME,
    "elapsed_ms": pl.Int64,
    "source": pl.String,
    "simulated": pl.Boolean,
    "mark": pl.Int64,
}
_PAIR: dict[str, Any] = {
    "id": pl.Int64,
    **dict.fromkeys(
        ("pair", "prompt", "config_a", "config_b", "response_a", "response_b", "category", "level", "acoustic"),
        pl.String,
    ),
}
RATINGS = pl.Schema(
    {
        "rating_id": pl.String(),
        "pair": pl.String(),
        "prompt": pl.String(),
        "rater": pl.String(),
        "rubric": pl.String(),
        "config_a": pl.String(),
        "config_b": pl.String(),
        "response_a": pl.String(),
        "response_b": pl.String(),
        "score": pl.Int64(),
        "screen_value": pl.Int64(),
        "first": pl.String(),
        "submitted_at": _TIME,
        "source": pl.String(),
        "simulated": pl.Boolean(),
        "category": pl.String(),
        "level": pl.String(),
        "acoustic": pl.String(),
        "elapsed_ms": pl.Int64(),
        "excluded_by": pl.String(),
        "excluded_reason": pl.String(),
    }
)
"""Columns of `ratings`."""


@dataclass(frozen=True)
class Snapshot:
    """The table `ratings` (docs/tables.md), sorted by rating_id, and the version that it is."""

    version: str
    watermark: datetime
    frame: pl.DataFrame


def snapshot(
    store: RatingsStore, settled: Settled, scripts: Sequence[Script], configs: Collection[str] | None = None
) -> Snapshot:
    """Read the answers that landed at or before the settled watermark.

    Args:
        store: The study's database.
        settled: From `settled_version`.
        scripts: The study's; category, level and acoustic of its prompts come from them, those of other prompts from
            the import that brought them.
        configs: Config keys of the study; answers about any other are marked as excluded. None knows them all.
    """
    with store.reading() as connection:
        query = select(*answer.c[tuple(_ANSWER)]).where(answer.c.landed_at <= settled.watermark)
        answers = _read(connection, query, _ANSWER)
        late = _read(connection, select(assignment.c.id).where(assignment.c.state == LATE), {"id": pl.Int64})
        pairs = _read(connection, select(*pair.c[tuple(_PAIR)]), _PAIR)
        raters = _read(connection, select(rater.c.id, rater.c.name), {"id": pl.Int64, "rater": pl.String})
        exclusions = exclusions_at(connection, settled.watermark)
    marks = answers["mark"].to_numpy()
    low, high = int((marks & (2**HALF - 1)).sum()), int((marks >> HALF).sum())
    version = version_of(answers.height, low, high, exclusions)
    joined = answers.join(pairs, left_on="pair_id", right_on="id").join(raters, left_on="rater_id", right_on="id")
    attributed = _with_scripts(joined, scripts)
    marked = _with_exclusions(_with_strangers(attributed, configs), set(late["id"]), exclusions)
    frame = marked.select(RATINGS.names()).cast(RATINGS).sort("rating_id")
    return Snapshot(version, settled.watermark, frame)


def _read(connection: Connection, query: "Select[Any]", schema: Mapping[str, Any]) -> pl.DataFrame:
    """A query's rows as a frame, in chunks, so that millions of them never lie about as Python objects."""
    parts = [
        pl.DataFrame(dict(zip(schema, zip(*rows, strict=True), strict=True)), schema=schema)
        for rows in connection.execute(query.execution_options(yield_per=_CHUNK)).partitions()
    ]
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def _with_scripts(frame: pl.DataFrame, scripts: Sequence[Script]) -> pl.DataFrame:
    names = ("category", "level", "acoustic")
    known = pl.DataFrame(
        [(s.prompt, s.category, s.level, s.acoustic) for s in scripts],
        schema=dict.fromkeys(("prompt", *names), pl.String),
        orient="row",
    )
    joined = frame.join(known, on="prompt", how="left", suffix="_script")
    return joined.with_columns(pl.coalesce(f"{name}_script", name).alias(name) for name in names)


def _with_strangers(frame: pl.DataFrame, configs: Collection[str] | None) -> pl.DataFrame:
    """Add `stranger`: a config of the answer that the study does not have, null where it has both."""
    if configs is None:
        return frame.with_columns(stranger=pl.lit(None, dtype=pl.String))
    known = sorted(configs)
    strangers = [pl.when(~pl.col(name).is_in(known)).then(name) for name in ("config_a", "config_b")]
    return frame.with_columns(stranger=pl.coalesce(strangers))


def _with_exclusions(frame: pl.DataFrame, late: set[int], exclusions: list[dict[str, Any]]) -> pl.DataFrame:
    """Mark each answer with the first that holds: late, no config of the study, response, rater, rating excluded."""
    columns = (("response_a", "response"), ("response_b", "response"), ("rater", "rater"), ("rating_id", "rating"))
    by, reasons = [], []
    for column, scope in columns:
        of_scope = {e["target"]: e for e in exclusions if e["scope"] == scope}
        by.append(_looked_up(column, {target: e["author"] for target, e in of_scope.items()}))
        reasons.append(_looked_up(column, {target: e["reason"] for target, e in of_scope.items()}))
    is_late, is_strange = pl.col("assignment_id").is_in(sorted(late)), pl.col("stranger").is_not_null()
    strange = pl.format("the study has no config {}", "stranger")
    return frame.with_columns(
        excluded_by=pl.coalesce(
            pl.when(is_late).then(pl.lit(LATE)), pl.when(is_strange).then(pl.lit(UNKNOWN_CONFIG)), *by
        ),
        excluded_reason=pl.coalesce(
            pl.when(is_late).then(pl.lit(_LATE_REASON)), pl.when(is_strange).then(strange), *reasons
        ),
    )


def _looked_up(column: str, values: Mapping[str, str]) -> pl.Expr:
    if not values:
        return pl.lit(None, dtype=pl.String)
    return pl.col(column).replace_strict(values, default=None, return_dtype=pl.String)
