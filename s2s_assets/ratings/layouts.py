"""How a ratings file may be arranged.

`answers`: one answer a row, as in the contract. `wide`: one comparison a row, with a column of scores for each rubric;
an empty cell is a question that was not asked. `lmarena`: the columns of the public arena sets (`model_a`, `model_b`,
`winner`), a win being ±3, so that partial-margin Bradley-Terry is Bradley-Terry with a tie as half a win.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from s2s_assets.ratings.raw import ROW, RawFile
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


def rubric_columns(raw: RawFile, known: Sequence[str], scores: Mapping[str, int] | None, path: Path) -> list[str]:
    """The columns of scores of a wide file, in its order.

    Args:
        raw: the file.
        known: columns that hold something else, by the file's names.
        scores: the labels of scores; None where they are numbers.
        path: of the file.

    Raises:
        RatingsError: there is none, or a column that only other layouts have.
    """
    foreign = [name for name in ("score", "rubric") if name in raw.names]
    if foreign:
        raise RatingsError(
            f"{path}: column {foreign[0]} is of a file with one answer a row: rename it, or leave out --layout wide"
        )
    counts = {name: [0, 0] for name in raw.names if name not in known}
    for table in raw.tables():
        for name, (given, fitting) in counts.items():
            one, other = _as_scores(table.frame[name], scores)
            counts[name] = [given + one, fitting + other]
    rubrics = [name for name, (given, fitting) in counts.items() if given and fitting > given / 2]
    if not rubrics:
        kind = "scores from -3 to 3" if scores is None else f"the labels {', '.join(scores)}"
        raise RatingsError(f"{path}: no column of {kind} beside {', '.join(raw.names)}")
    return rubrics


def unfolded(frame: pl.DataFrame, rubrics: Sequence[str]) -> pl.DataFrame:
    """One answer a row, from rows with a column of scores for each rubric."""
    rest = [c for c in frame.columns if c not in rubrics]
    texts = frame.with_columns(pl.col(c).cast(pl.String) for c in rubrics)
    answers = texts.unpivot(rubrics, index=rest, variable_name="rubric", value_name="score")
    answers = answers.filter(pl.col("score").str.strip_chars().fill_null("") != "").sort(ROW, maintain_order=True)
    if "rating_id" in answers.columns:
        answers = answers.with_columns(pl.format("{}/{}", "rating_id", "rubric").alias("rating_id"))
    return answers


def _as_scores(column: pl.Series, scores: Mapping[str, int] | None) -> tuple[int, int]:
    """How many values a column has, and how many of these are labels, or without such integers from -3 to 3."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return 0, 0
    given = column.cast(pl.String, strict=False).str.strip_chars().replace("", None).drop_nulls()
    if scores is not None:
        return len(given), int(given.is_in(list(scores)).sum())
    values = given.cast(pl.Float64, strict=False)
    return len(given), int((values.is_between(-3, 3) & (values == values.round())).sum())
