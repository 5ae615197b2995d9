"""The boards that every study publishes, and those that a study adds.

Overall by model is the headline. Beside it: overall by config, family, model|voice and model|thinking; each rubric by
model; overall by model in every slice; each rubric by family, for the clustering of rubrics. All are of the study's
headline variant; the headline is also fitted in the other two. Boards of a study's own may also be sliced by what both
answers share (`attributes.py`).
"""

from collections.abc import Mapping, Sequence
from typing import get_args

import polars as pl

from s2s_assets.ranking.attributes import Kinds, attribute_values, with_attribute
from s2s_assets.ranking.spec import CLEANED_BY, FitSpec
from s2s_assets.study import DIMENSIONS, OVERALL, SHARED, Board, By, Study, Variant

MIN_SLICE_RATINGS, MIN_SLICE_RATERS = 30, 3
"""Below either a slice's ranking is preliminary."""


def sliceable(ratings: pl.DataFrame, study: Study) -> pl.DataFrame:
    """A study's counting ratings, with a column for everything that its own boards are sliced by.

    Raises:
        InputError: a rating of a config that the study does not know.
    """
    counting = ratings.filter(pl.col("excluded_by").is_null())
    kinds = Kinds(study.families, study.voice_kinds)
    for name in sorted({own.slice for own in study.boards if own.slice in SHARED}):
        counting = with_attribute(counting, name, kinds)
    return counting


def slice_values(ratings: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """The values of each slicing attribute that occur in a `ratings` table, sorted."""
    return {
        dimension: attribute_values(ratings, dimension)
        for dimension in (*DIMENSIONS, *SHARED)
        if dimension in ratings.columns
    }


def standard_boards(
    rubrics: Sequence[str],
    dimensions: Mapping[str, Sequence[str]],
    boards: Sequence[Board] = (),
    *,
    headline_variant: Variant = "all",
    min_slice_ratings: int = MIN_SLICE_RATINGS,
) -> tuple[FitSpec, ...]:
    """The boards of a study, each once, the headline first.

    Args:
        rubrics: ids of the study's rubrics, `overall` among them.
        dimensions: attribute → its values, as `slice_values` gives them; every study has boards of the prompts' ones.
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
    specs += [spec for d in dimensions if d in DIMENSIONS for spec in sliced(OVERALL, "model", d)]
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


def adaptive_votes(fits: pl.DataFrame) -> tuple[int, int] | None:
    """Adaptive votes, and all votes, those within one entity among them; None where either fit is missing.

    Args:
        fits: the rows of a `bt_fits` table that are of one board, in its variants.
    """
    counts = fits.group_by("variant").agg(pl.col("n_ratings").sum() + pl.col("n_within").first())
    votes = dict(counts.iter_rows())
    if not {"all", "baseline"} <= votes.keys():
        return None
    return votes["all"] - votes["baseline"], votes["all"]


def dropped_raters(quality: pl.DataFrame) -> frozenset[str]:
    """Raters that the cleaned variant leaves out."""
    return frozenset(_dropped(quality, "rater")["name"])


def with_cleaning(ratings: pl.DataFrame, quality: pl.DataFrame) -> pl.DataFrame:
    """Ratings with `cleaned_by`: the rule by which the cleaned variant leaves a single answer out, else null."""
    flagged = _dropped(quality, "rating").select(pl.col("name").alias("rating_id"), pl.col("flag").alias(CLEANED_BY))
    first = flagged.unique("rating_id", keep="first", maintain_order=True)
    return ratings.join(first, on="rating_id", how="left", maintain_order="left")


def _dropped(quality: pl.DataFrame, scope: str) -> pl.DataFrame:
    return quality.filter((pl.col("scope") == scope) & (pl.col("effect") == "drop"))
