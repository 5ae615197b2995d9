"""What `rater_quality` says, in short tables for people: on the admin pages and in the asset's metadata."""

import polars as pl

from s2s_assets.ratings.measures import ALL

AGREEMENT = (
    "alpha",
    "alpha_cleaned",
    "kappa",
    "icc",
    "icc_mean",
    "sign_agreement",
    "order_effect",
    "loading",
)
"""Measures of the study and of its rubrics, in the order of their columns."""
_OF_RATER = ("share", "tasks", "order_effect", "rest_r", "coherence")
_NONE = "–"


def agreement_report(quality: pl.DataFrame) -> pl.DataFrame:
    """One row a rubric, that of the whole study first.

    Args:
        quality: The table `rater_quality`.

    Returns:
        `rubric`, `answers`, and each of `AGREEMENT` as text: its value to two digits, with its interval where it has one.
    """
    rows = quality.filter(pl.col("scope").is_in(["study", "rubric"]) & pl.col("measure").is_in(AGREEMENT))
    value, low, high = (pl.col(name).map_elements(_digits, pl.String) for name in ("value", "low", "high"))
    interval = pl.when(pl.col("low").is_not_null()).then(pl.format(" ({} to {})", low, high)).otherwise(pl.lit(""))
    told = rows.with_columns(told=pl.concat_str(value, interval))
    answers = rows.filter(pl.col("measure") == "alpha").select("scope", "name", pl.col("n").alias("answers"))
    wide = told.pivot("measure", index=("scope", "name"), values="told")
    missing = [pl.lit(None, pl.String).alias(name) for name in AGREEMENT if name not in wide.columns]
    joined = wide.with_columns(missing).join(answers, on=("scope", "name"), how="left")
    ordered = joined.sort(pl.col("scope") != "study", "name")
    return ordered.select(pl.col("name").alias("rubric"), "answers", pl.col(AGREEMENT).fill_null(_NONE))


def alike_report(quality: pl.DataFrame) -> pl.DataFrame:
    """Every two questions, those first that are most often answered alike.

    Returns:
        `questions`, `tasks` in which both were asked, `same_share` of them, `correlation`, and the `flag` of a collapse.
    """
    rows = quality.filter(pl.col("scope") == "questions")
    one, other = (rows.filter(pl.col("measure") == name) for name in ("same_share", "correlation"))
    found = one.select(pl.col("name").alias("questions"), pl.col("n").alias("tasks"), same_share="value", flag="flag")
    beside = other.select(pl.col("name").alias("questions"), correlation="value")
    joined = found.join(beside, on="questions", how="left")
    ordered = joined.sort(pl.col("same_share"), "questions", descending=[True, False], nulls_last=True)
    return ordered.select("questions", "tasks", "same_share", "correlation", "flag")


def raters_report(quality: pl.DataFrame) -> pl.DataFrame:
    """Every rater, the busiest first.

    Returns:
        `rater`, `share` of all answers, `tasks`, `order_effect`, `rest_r`, `coherence`, `flags` as one text, and whether a
        rule `drops` the rater from the cleaned variant.
    """
    rows = quality.filter(pl.col("scope") == "rater")
    wanted = (pl.col("value").filter(pl.col("measure") == name).first().alias(name) for name in _OF_RATER)
    flags = pl.col("flag").drop_nulls().unique().sort().str.join(", ")
    found = rows.group_by(pl.col("name").alias("rater")).agg(
        *wanted, flags=flags, drops=(pl.col("effect") == "drop").any()
    )
    told = found.with_columns(pl.col("tasks").cast(pl.Int64), flags=pl.when(pl.col("flags") != "").then("flags"))
    return told.sort("share", "rater", descending=[True, False], nulls_last=True)


def one_opinion(quality: pl.DataFrame) -> float | None:
    """How much of all questions' variance is their first common factor; null before there is any."""
    rows = quality.filter((pl.col("measure") == "first_factor_share") & (pl.col("name") == ALL))
    return None if rows.is_empty() else rows["value"][0]


def _digits(value: float) -> str:
    return f"{value:.2f}"
