"""The boards that every study publishes, and those that a study adds.

Overall by model is the headline. Beside it: overall by config, family, model|voice and model|thinking; each rubric by
model; overall by model in every slice; each rubric by family, for the clustering of rubrics. All are of the study's
headline variant; the headline is also fitted in the other two.
"""

from collections.abc import Mapping, Sequence
from typing import get_args

import polars as pl

from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import DIMENSIONS, OVERALL, Board, By, Variant


def slice_values(ratings: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """The values of each slicing attribute that occur in a `ratings` table, sorted."""
    return {
        dimension: tuple(ratings[dimension].drop_nulls().unique().sort())
        for dimension in DIMENSIONS
        if dimension in ratings.columns
    }


def standard_boards(
    rubrics: Sequence[str],
    dimensions: Mapping[str, Sequence[str]],
    boards: Sequence[Board] = (),
    *,
    headline_variant: Variant = "all",
    min_slice_ratings: int = 30,
) -> tuple[FitSpec, ...]:
    """The boards of a study, each once, the headline first.

    Args:
        rubrics: ids of the study's rubrics, `overall` among them.
        dimensions: attribute → its values, as `slice_values` gives them.
        boards: the study's own boards; one with a slice is made for each of its values.
        headline_variant: which ratings the study's boards are made of.
        min_slice_ratings: a slice with fewer ratings has no board.
    """

    def whole(rubric: str, by: By) -> FitSpec:
        return FitSpec(rubric, by, variant=headline_variant)

    def sliced(rubric: str, by: By, dimension: str) -> list[FitSpec]:
        return [
            FitSpec(rubric, by, dimension, value, headline_variant, min_ratings=min_slice_ratings)
            for value in dimensions.get(dimension, ())
        ]

    pooled: tuple[By, ...] = ("model", "config", "family", "voice", "thinking")
    specs = [whole(OVERALL, by) for by in pooled]
    specs += [FitSpec(OVERALL, "model", variant=v) for v in get_args(Variant)]
    specs += [whole(rubric, "model") for rubric in rubrics]
    specs += [spec for dimension in dimensions for spec in sliced(OVERALL, "model", dimension)]
    specs += [whole(rubric, "family") for rubric in rubrics]
    for own in boards:
        specs += [whole(own.rubric, own.by)] if own.slice == "all" else sliced(own.rubric, own.by, own.slice)
    return tuple({spec.fit: spec for spec in specs}.values())


def headline_rows(frame: pl.DataFrame, variant: Variant | None = None) -> pl.DataFrame:
    """The rows of a `bt_fits` or `leaderboard` table that are of overall by model; None takes every variant."""
    rows = frame.filter(
        (pl.col("rubric") == OVERALL) & (pl.col("by") == "model") & (pl.col("slice_dimension") == "all")
    )
    return rows if variant is None else rows.filter(pl.col("variant") == variant)


def dropped_raters(quality: pl.DataFrame) -> frozenset[str]:
    """Raters that the cleaned variant leaves out."""
    flagged = quality.filter((pl.col("scope") == "rater") & (pl.col("effect") == "drop"))
    return frozenset(flagged["name"])
