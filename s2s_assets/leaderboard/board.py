"""The published rows: fits and intervals joined, named, ordered and checked against what may be published.

Pure: frames in, frames out. The rank range is widened to hold the rank of the full data, so `rank_low ≤ rank ≤
rank_high` holds by construction; NaN and infinities become null; reals are rounded to 6 decimals, far below their
Monte-Carlo error, so that the last bits of a linear-algebra library do not make another release.
"""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import polars as pl

from s2s_assets.leaderboard.columns import LEADERBOARD, PAIRWISE, schema
from s2s_assets.leaderboard.inputs import Facts
from s2s_assets.ranking import entity_of
from s2s_assets.study import DIMENSIONS, OVERALL, SHARED, By, ReleaseError, Variant

BYS: tuple[By, ...] = ("model", "config", "family", "voice", "thinking")
"""What boards rank, in the page's order."""
VARIANTS: tuple[Variant, ...] = get_args(Variant)
FIT_KEYS = ("rubric", "by", "slice_dimension", "slice_value", "variant")

_FIT_FIELDS = ("strength", "elo", "rank", "n_ratings", "n_raters", "n_prompts")
_CI_FIELDS = (
    "ci_low",
    "ci_high",
    "rank_low",
    "rank_high",
    "se_sandwich",
    "sandwich_low",
    "sandwich_high",
    "valid_resamples",
    "letters",
    "delta",
    "delta_low",
    "delta_high",
)

_PAIR_FIELDS = ("simultaneous_low", "simultaneous_high", "expected_score", "misfit")


def leaderboard_rows(
    facts: Facts,
    fits: pl.DataFrame,
    cis: pl.DataFrame,
    coverage: pl.DataFrame | None = None,
    cluster_names: Sequence[str] = (),
) -> pl.DataFrame:
    """One row an entity of a fit, with the columns of `LEADERBOARD` after `fit`, the fit's id.

    Args:
        facts: names, families, and the ids that may be published.
        fits: `bt_fits`.
        cis: `bootstrap_cis`; entities and fits without a row there have no interval.
        coverage: responses by config and slice, see `inputs.coverage`; rows of a slice that it lacks stay null.
        cluster_names: clusters, which are published beside the study's rubrics.

    Raises:
        ReleaseError: an entity, rubric or slice that is not of the study.
    """
    point = _unnested(fits.select("fit", *FIT_KEYS, "status", "entities"), ("entity", *_FIT_FIELDS, "bound"))
    _refuse_unknown(point, facts, cluster_names)
    names = [facts.name(by, entity) for by, entity in point.select("by", "entity").iter_rows()]
    point = point.with_columns(display_name=pl.Series(names, dtype=pl.String))
    interval = _unnested(cis.select("fit", "entities"), ("entity", *_CI_FIELDS, "bound"))
    rows = point.join(interval, on=["fit", "entity"], how="left", suffix="_ci").with_columns(
        bound=pl.coalesce("bound", "bound_ci"),
        rank_low=pl.when(pl.col("rank_low").is_not_null()).then(pl.min_horizontal("rank_low", "rank")),
        rank_high=pl.when(pl.col("rank_high").is_not_null()).then(pl.max_horizontal("rank_high", "rank")),
        ratings=pl.lit("simulated" if facts.simulated else "human"),
    )
    rows = rows.join(_entity_coverage(rows, coverage, facts), on=_COVERAGE_KEYS, how="left")
    ordered = _ordered(rows, facts, cluster_names, last=("rank", "entity"))
    return ordered.select("fit", *_clean(schema(LEADERBOARD)))


def pairwise_rows(
    facts: Facts, fits: pl.DataFrame, cis: pl.DataFrame, cluster_names: Sequence[str] = ()
) -> pl.DataFrame:
    """One row a pair of entities of a fit, with the columns of `PAIRWISE` after `fit`.

    Args:
        facts: the study's facts; its rubrics give the order.
        fits: `bt_fits`.
        cis: `bootstrap_cis`, whose `pairs` are published.
        cluster_names: clusters, in the order after the rubrics.
    """
    fields = ("a", "b", "n", "mean_score", "difference", "ci_low", "ci_high", *_PAIR_FIELDS)
    pairs = _unnested(cis.select("fit", "pairs").rename({"pairs": "entities"}), fields)
    rows = fits.select("fit", *FIT_KEYS).join(pairs, on="fit", how="inner")
    ordered = _ordered(rows, facts, cluster_names, last=("a", "b"))
    return ordered.select("fit", *_clean(schema(PAIRWISE)))


def published(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows as they are published: without the fit's id."""
    return rows.drop("fit")


def headline_of(facts: Facts, fits: pl.DataFrame, cis: pl.DataFrame) -> list[dict[str, Any]]:
    """The headline's rows as objects: what a study's ranking is, before coverage and page."""
    return headline(leaderboard_rows(facts, fits, cis), facts.headline_variant).to_dicts()


def headline(rows: pl.DataFrame, variant: str) -> pl.DataFrame:
    """The rows of the headline: overall, the whole, by model; else what comes nearest to it.

    Args:
        rows: as from `leaderboard_rows`.
        variant: the study's headline variant; `all` where no fit has it.
    """
    whole = rows.filter(pl.col("slice_dimension") == "all")
    whole = (
        whole
        if len(whole)
        else rows.head(1)
        .select("slice_dimension", "slice_value")
        .join(rows, on=["slice_dimension", "slice_value"], maintain_order="right")
        .select(rows.columns)
    )
    rubrics = (OVERALL, *whole["rubric"].unique(maintain_order=True))
    for column, choices in (("rubric", rubrics), ("by", BYS), ("variant", (variant, *VARIANTS))):
        there = set(whole[column])
        chosen = next((c for c in choices if c in there), None)
        whole = whole.filter(pl.col(column) == chosen) if chosen else whole
    return whole


def _unnested(frame: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame:
    """One row a struct of the list column `entities`; only `fields` of the struct are kept."""
    long = frame.filter(pl.col("entities").list.len() > 0).explode("entities")
    return long.with_columns(pl.col("entities").struct.field(f).alias(f) for f in fields).drop("entities")


def _clean(target: pl.Schema) -> list[pl.Expr]:
    """The target's columns in its types; reals rounded, without NaN, infinities and negative zero."""
    return [
        pl.when(pl.col(name).cast(dtype).is_finite()).then(pl.col(name).cast(dtype).round(6) + 0.0).alias(name)
        if dtype == pl.Float64
        else pl.col(name).cast(dtype)
        for name, dtype in target.items()
    ]


def _ordered(rows: pl.DataFrame, facts: Facts, cluster_names: Sequence[str], last: tuple[str, str]) -> pl.DataFrame:
    """Rubrics as the study has them with `overall` first, then clusters; boards, slices, variants; then `last`."""
    rubrics = [OVERALL, *(r for r in facts.rubrics if r != OVERALL), *sorted(cluster_names)]
    orders = (
        ("rubric", rubrics),
        ("by", BYS),
        ("slice_dimension", ("all", *DIMENSIONS, *SHARED)),
        ("variant", VARIANTS),
    )
    places = [
        pl.col(column).replace_strict({v: i for i, v in enumerate(order)}, default=len(order), return_dtype=pl.Int64)
        for column, order in orders
    ]
    keys = [*places[:1], pl.col("rubric"), *places[1:3], pl.col("slice_value"), places[3], pl.col("fit")]
    return rows.sort(*keys, *last, nulls_last=True)


_COVERAGE_KEYS = ["by", "slice_dimension", "slice_value", "entity"]


def _entity_coverage(rows: pl.DataFrame, coverage: pl.DataFrame | None, facts: Facts) -> pl.DataFrame:
    """Coverage summed over the configs of each entity, for the boards in `rows`."""
    sums = ("responses_ok", "responses_planned")
    empty = pl.DataFrame(schema=dict.fromkeys(_COVERAGE_KEYS, pl.String) | dict.fromkeys(sums, pl.Int64))
    if coverage is None or rows.is_empty():
        return empty
    per_board = [
        coverage.with_columns(
            by=pl.lit(by),
            entity=pl.Series([entity_of(c, by, facts.families) for c in coverage["config"]], dtype=pl.String),
        )
        for by in sorted(set(rows["by"]))
    ]
    return pl.concat(per_board).group_by(_COVERAGE_KEYS).agg(pl.col(*sums).sum().cast(pl.Int64))


def _refuse_unknown(rows: pl.DataFrame, facts: Facts, cluster_names: Sequence[str]) -> None:
    """Fail closed on ids that are not of the study, so that nothing unforeseen is published."""
    if facts.known is None:
        return
    nothing: frozenset[str] = frozenset()
    allowed: Mapping[str, frozenset[str]] = facts.known.entities
    odd = {
        f"{by} {entity!r}"
        for by, entity in rows.select("by", "entity").unique().iter_rows()
        if entity not in allowed.get(by, nothing)
    }
    odd |= {f"rubric {r!r}" for r in set(rows["rubric"]) - facts.known.rubrics - set(cluster_names)}
    odd |= {
        f"{dimension} {value!r}"
        for dimension, value in rows.select("slice_dimension", "slice_value").unique().iter_rows()
        if value not in facts.known.slices.get(dimension, nothing)
    }
    if odd:
        raise ReleaseError(
            f"the board holds what is not in study {facts.study!r}: {', '.join(sorted(odd))}; "
            "publish only the study's own models, rubrics and slices, or add them to study.yaml"
        )
