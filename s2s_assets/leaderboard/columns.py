"""The columns of the published tables: names, types and meanings, in their order.

Elo values, intervals and differences are in Elo points; a missing value is null. `schema.json` of a release and the
frames of this room are both made from these lists, so that they cannot differ.
"""

from typing import NamedTuple

import polars as pl


class Column(NamedTuple):
    """A published column."""

    name: str
    dtype: pl.DataType
    meaning: str


_TEXT, _REAL, _COUNT = pl.String(), pl.Float64(), pl.Int64()

_FIT = (
    Column("rubric", _TEXT, "question rated, or a cluster of questions"),
    Column("by", _TEXT, "what is ranked: config, model, family, voice (model|voice) or thinking (model|thinking)"),
    Column(
        "slice_dimension",
        _TEXT,
        "attribute that the fit is restricted by, the prompt's or shared by both answers; `all` for the whole",
    ),
    Column("slice_value", _TEXT, "its value; `all` for the whole"),
    Column("variant", _TEXT, "answers used: all, cleaned (flagged raters left out), baseline (no adaptive votes)"),
)

LEADERBOARD = (
    *_FIT,
    Column("entity", _TEXT, "key of what is ranked"),
    Column("display_name", _TEXT, "its name for people"),
    Column("strength", _REAL, "latent strength s, mean 0 over the fit's entities; null where it has no bound"),
    Column("elo", _REAL, "1000 + (400 / ln 10) s"),
    Column("ci_low", _REAL, "2.5th percentile of the rater-and-prompt bootstrap; null where unbounded or withheld"),
    Column("ci_high", _REAL, "97.5th percentile"),
    Column("se_sandwich", _REAL, "standard error from the two-way cluster sandwich"),
    Column("sandwich_low", _REAL, "lower end of the sandwich's 95 % interval"),
    Column("sandwich_high", _REAL, "upper end"),
    Column("rank", _COUNT, "rank by the full data"),
    Column("rank_low", _COUNT, "best rank within the 95 % range of the joint resamples, never above rank"),
    Column("rank_high", _COUNT, "worst rank within it, never below rank"),
    Column("n_ratings", _COUNT, "answers that involve the entity"),
    Column("n_raters", _COUNT, "people who gave them"),
    Column("n_prompts", _COUNT, "prompts they are about"),
    Column("responses_ok", _COUNT, "responses that succeeded"),
    Column("responses_planned", _COUNT, "responses that were planned"),
    Column("valid_resamples", _COUNT, "resamples in which the entity has a value"),
    Column("status", _TEXT, "of the fit: ok, separated, disconnected or undefined"),
    Column("bound", _TEXT, "above or below where strength or interval has no bound on that side"),
    Column("ratings", _TEXT, "human or simulated"),
    Column(
        "letters", _TEXT, "names that share a letter are not told apart, all pairs taken together (max-t, sandwich)"
    ),
    Column("delta", _REAL, "in a slice: Elo minus that on the whole, over the names that both have"),
    Column("delta_low", _REAL, "2.5th percentile of that difference within the same resamples"),
    Column("delta_high", _REAL, "97.5th percentile"),
)

PAIRWISE = (
    *_FIT,
    Column("a", _TEXT, "entity"),
    Column("b", _TEXT, "the entity it is compared with"),
    Column("n", _COUNT, "answers about this pair"),
    Column("mean_score", _REAL, "mean of their scores, -3..3, above 0: a is better"),
    Column("difference", _REAL, "Elo of a minus Elo of b"),
    Column("ci_low", _REAL, "2.5th percentile of the paired resamples"),
    Column("ci_high", _REAL, "97.5th percentile"),
    Column("simultaneous_low", _REAL, "lower end of an interval that holds for all pairs together, from the sandwich"),
    Column("simultaneous_high", _REAL, "upper end"),
    Column("expected_score", _REAL, "mean score that the fit expects of these answers"),
    Column("misfit", _REAL, "how far the pair's own difference is from the fit's, in cluster-robust standard errors"),
)


def schema(columns: tuple[Column, ...]) -> pl.Schema:
    """The polars schema of a list of columns."""
    return pl.Schema({c.name: c.dtype for c in columns})


def describe() -> dict[str, list[dict[str, str]]]:
    """Both tables' columns as JSON: name, type (`text`, `integer`, `number`) and meaning."""
    kinds = {pl.String: "text", pl.Int64: "integer", pl.Float64: "number"}
    return {
        table: [{"name": c.name, "type": kinds[type(c.dtype)], "meaning": c.meaning} for c in columns]
        for table, columns in (("leaderboard", LEADERBOARD), ("pairwise", PAIRWISE))
    }
