"""Rank the entities of a ratings file: a pure function of a frame, and its document.

```python
from s2s_assets.ranking import rank

result = rank(frame, by="model", resamples=1000, seed=0)
document = result.to_json()
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from s2s_assets.ranking.attributes import Kinds, attribute_values, with_attribute
from s2s_assets.ranking.bootstrap import Progress, bootstrap_boards
from s2s_assets.ranking.diagnose import diagnose_boards, whole_of
from s2s_assets.ranking.document import fit_document
from s2s_assets.ranking.fits import fit_boards
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.ranking.slicing import Slicing, slices_of
from s2s_assets.ranking.spec import METHOD_VERSION, FitSpec
from s2s_assets.ranking.structs import plain
from s2s_assets.study import OVERALL, By, InputError

_NEEDED = ("prompt", "rater", "config_a", "config_b", "score")
_USED = (*_NEEDED, "rubric", "first")


@dataclass(frozen=True)
class RankResult:
    """Fits and their uncertainty, with what was read."""

    method_version: str
    seed: int
    resamples: int
    input: Mapping[str, Any]
    """Rows read, used, repeated and rejected, as in the document."""
    fits: tuple[BoardFit, ...]
    intervals: tuple[BoardIntervals, ...]
    """One a fit, in their order."""
    slicing: Slicing | None = None
    """None without slices."""

    def to_json(self) -> dict[str, Any]:
        """The document that `s2s rank --json` prints: plain values, None for what there is not."""
        return {
            "method_version": self.method_version,
            "seed": self.seed,
            "resamples": self.resamples,
            "input": dict(self.input),
            "fits": [fit_document(f, i) for f, i in zip(self.fits, self.intervals, strict=True)],
            "slicing": plain(self.slicing),
        }


def rank(
    frame: pl.DataFrame,
    *,
    rubrics: Sequence[str] | None = None,
    by: By = "config",
    slice: str | None = None,  # noqa: A002 - the name of the command's option
    resamples: int = 1000,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    voices: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> RankResult:
    """Rank the entities of a ratings frame.

    Args:
        frame: one answer a row: prompt, rater, config_a, config_b, score (integer, > 0: config_a is better) and, where
            there are any, rubric (else all rows are `overall`), first, excluded_by, and attributes to slice by.
        rubrics: the rubrics to rank by; all by default.
        by: the entities; anything but `config` needs config keys.
        slice: also split by this attribute, one fit a value: a column of the frame, or the `voice`, `thinking` level or
            `family` that both configs of a rating share (see `attributes.py`).
        resamples: clustered resamples; 0 gives no bootstrap intervals.
        seed: of the resampling.
        families: model → family, for `by="family"` and `slice="family"`.
        voices: `model|voice` → kind, for `slice="voice"`; by default the voices' names.
        progress: as in `bootstrap_boards`.

    Returns:
        Fits by rubric and slice value, sorted, `overall` first, with intervals, letters and diagnostics. Slices are
        compared with the board of all ratings, which is fitted and resampled for it but not among the fits.

    Raises:
        InputError: a column, rubric, score, config key, family or voice that is missing or wrong, a column with more
            values than slices can have, no ratings, or resamples below 0.
        FitError: a fit that did not converge.
    """
    if resamples < 0:
        raise InputError(f"resamples: {resamples}; expected 0 or more")
    kinds = Kinds(families or {}, voices)
    ratings = _ratings(frame, slice, kinds)
    wanted = _wanted(ratings, rubrics)
    specs = _specs(ratings, wanted, by, slice)
    wholes = list(dict.fromkeys(whole_of(spec) for spec in specs))  # what slices are compared with; fitted last
    boards = fit_boards(ratings, [*specs, *(w for w in wholes if w not in specs)], families)
    found = bootstrap_boards(ratings, boards, families, resamples=resamples, seed=seed, progress=progress, engines=True)
    found = diagnose_boards(ratings, boards, found, families)
    fits = tuple(fit for fit in boards if fit.spec in specs)
    intervals = found[: len(fits)]
    slicing = None
    if slice is not None:
        rated = ratings.filter(pl.col("rubric").is_in(wanted))
        slicing = Slicing(
            slice, slice not in frame.columns, rated[slice].null_count(), slices_of(rated, slice, specs, fits)
        )
    return RankResult(METHOD_VERSION, seed, resamples, _read(frame, ratings), fits, intervals, slicing)


def rank_specs(
    frame: pl.DataFrame,
    rubrics: Sequence[str] | None,
    by: By,
    slice: str | None = None,  # noqa: A002 - as in `rank`
    families: Mapping[str, str] | None = None,
    voices: Mapping[str, str] | None = None,
) -> list[FitSpec]:
    """The boards that `rank` makes of a frame: one a rubric, or one for each of its values of a slice.

    Raises:
        InputError: as `rank`.
    """
    ratings = _ratings(frame, slice, Kinds(families or {}, voices))
    return _specs(ratings, _wanted(ratings, rubrics), by, slice)


def _read(frame: pl.DataFrame, ratings: pl.DataFrame) -> dict[str, Any]:
    """What was read, of a frame in which nothing is looked for twice; who reads a file knows more and puts it in the place."""
    return {
        "rows": frame.height,
        "used": ratings.height,
        "duplicates": 0,
        "conflicts": 0,
        "repeats": {"identical": 0, "conflicting": 0},
        "rejected": [],
    }


def _wanted(ratings: pl.DataFrame, rubrics: Sequence[str] | None) -> list[str]:
    """The rubrics to rank by, `overall` first."""
    present = ratings["rubric"].unique().sort().to_list()
    unknown = sorted(set(rubrics or ()) - set(present))
    if unknown:
        raise InputError(f"rubric {', '.join(unknown)}: no such rubric in the ratings, which have {', '.join(present)}")
    return sorted((r for r in present if rubrics is None or r in rubrics), key=lambda r: (r != OVERALL, r))


def _specs(ratings: pl.DataFrame, rubrics: Sequence[str], by: By, dimension: str | None) -> list[FitSpec]:
    if dimension is None:
        return [FitSpec(rubric=r, by=by) for r in rubrics]
    return [
        FitSpec(rubric=r, by=by, slice_dimension=dimension, slice_value=value)
        for r in rubrics
        for value in attribute_values(ratings.filter(pl.col("rubric") == r), dimension)
    ]


def _ratings(frame: pl.DataFrame, dimension: str | None, kinds: Kinds) -> pl.DataFrame:
    """The counting ratings with the columns that are used."""
    missing = [c for c in _NEEDED if c not in frame.columns]
    if missing:
        raise InputError(f"ratings lack the column {', '.join(missing)}; they have {', '.join(frame.columns)}")
    if "rubric" not in frame.columns:
        frame = frame.with_columns(pl.lit(OVERALL).alias("rubric"))
    if "excluded_by" in frame.columns:
        frame = frame.filter(pl.col("excluded_by").is_null())
    if frame.is_empty():
        raise InputError("there are no ratings to rank: expected one answer a row")
    if frame["rubric"].null_count():
        raise InputError("ratings without a rubric: name a question in each row, or leave the whole column out")
    attribute = [] if dimension is None else [dimension]
    if dimension is not None:
        frame = with_attribute(frame, dimension, kinds)
    return frame.select(c for c in (*_USED, *attribute) if c in frame.columns)
