"""How a ratings file may be arranged.

`answers`: one answer a row, as in the contract. `wide`: one comparison a row, with a column of scores for each rubric;
an empty cell is a question that was not asked. `lmarena`: the columns of the public arena sets (`model_a`, `model_b`,
`winner`), a win being ±3, so that partial-margin Bradley-Terry is Bradley-Terry with a tie as half a win.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from s2s_assets.ratings.raw import ROW
from s2s_assets.study import RatingsError

Layout = Literal["answers", "wide", "lmarena"]
_LMARENA_COLUMNS = {
    "config_a": "model_a",
    "config_b": "model_b",
    "score": "winner",
    "prompt": "question_id",
    "rater": "judge",
}
_LMARENA_SCORES = {"model_a": 3, "model_b": -3, "tie": 0, "tie (bothbad)": 0, "both_bad": 0}


def columns_of(layout: Layout, columns: Mapping[str, str]) -> dict[str, str]:
    """The file's names of columns; what the caller names goes before the layout's."""
    return {**(_LMARENA_COLUMNS if layout == "lmarena" else {}), **columns}


def scores_of(layout: Layout, scores: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """The labels of scores; the caller's go before the layout's."""
    return _LMARENA_SCORES if scores is None and layout == "lmarena" else scores


def arranged(frame: pl.DataFrame, layout: Layout, known: Sequence[str], path: Path) -> pl.DataFrame:
    """One answer a row.

    Raises:
        RatingsError: a wide file without a column of scores, or with one of those that only other layouts have.
    """
    if layout != "wide":
        return frame
    foreign = [name for name in ("score", "rubric") if name in frame.columns]
    if foreign:
        raise RatingsError(
            f"{path}: column {foreign[0]} is of a file with one answer a row: rename it, or leave out --layout wide"
        )
    rubrics = [c for c in frame.columns if c not in (ROW, *known) and _is_scores(frame[c])]
    if not rubrics:
        raise RatingsError(f"{path}: no column of scores from -3 to 3 beside {', '.join(frame.columns[1:])}")
    rest = [c for c in frame.columns if c not in rubrics]
    texts = frame.with_columns(pl.col(c).cast(pl.String) for c in rubrics)
    answers = texts.unpivot(rubrics, index=rest, variable_name="rubric", value_name="score")
    answers = answers.filter(pl.col("score").str.strip_chars().fill_null("") != "").sort(ROW, maintain_order=True)
    if "rating_id" in answers.columns:
        answers = answers.with_columns(pl.format("{}/{}", "rating_id", "rubric").alias("rating_id"))
    return answers


def _is_scores(column: pl.Series) -> bool:
    """Whether a column holds scores: something, and mostly integers from -3 to 3."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return False
    given = column.cast(pl.String, strict=False).str.strip_chars().replace("", None).drop_nulls()
    values = given.cast(pl.Float64, strict=False)
    fitting = (values.is_between(-3, 3) & (values == values.round())).sum()
    return len(given) > 0 and fitting > len(given) / 2
