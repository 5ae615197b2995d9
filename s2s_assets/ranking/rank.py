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

from s2s_assets.ranking.boards import slice_values
from s2s_assets.ranking.bootstrap import Progress, bootstrap_boards
from s2s_assets.ranking.diagnose import diagnose_boards, whole_of, within_models
from s2s_assets.ranking.fits import fit_boards
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.ranking.spec import METHOD_VERSION, FitSpec
from s2s_assets.ranking.structs import plain
from s2s_assets.study import OVERALL, By, Dimension, InputError

_NEEDED = ("prompt", "rater", "config_a", "config_b", "score")


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

    def to_json(self) -> dict[str, Any]:
        """The document that `s2s rank --json` prints: plain values, None for what there is not."""
        return {
            "method_version": self.method_version,
            "seed": self.seed,
            "resamples": self.resamples,
            "input": dict(self.input),
            "fits": [_fit_json(f, i) for f, i in zip(self.fits, self.intervals, strict=True)],
        }


def rank(
    frame: pl.DataFrame,
    *,
    rubrics: Sequence[str] | None = None,
    by: By = "config",
    slice: Dimension | None = None,  # noqa: A002 - the name of the command's option
    resamples: int = 1000,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> RankResult:
    """Rank the entities of a ratings frame.

    Args:
        frame: one answer a row: prompt, rater, config_a, config_b, score (integer, > 0: config_a is better) and, where
            there are any, rubric (else all rows are `overall`), category, level, acoustic, source, excluded_by.
        rubrics: the rubrics to rank by; all by default.
        by: the entities; anything but `config` needs config keys.
        slice: also split by this attribute: one fit a value.
        resamples: clustered resamples; 0 gives no bootstrap intervals.
        seed: of the resampling.
        families: model → family, for `by="family"`.
        progress: as in `bootstrap_boards`.

    Returns:
        Fits by rubric and slice value, sorted, `overall` first, with intervals, letters and diagnostics. Slices are
        compared with the board of all ratings, which is fitted and resampled for it but not among the fits.

    Raises:
        InputError: a column, rubric, score, config key or family that is missing or wrong.
        FitError: a fit that did not converge.
    """
    ratings = _checked(frame)
    specs = rank_specs(ratings, rubrics, by, slice)
    wholes = list(dict.fromkeys(whole_of(spec) for spec in specs))  # what slices are compared with
    boards = fit_boards(ratings, [*specs, *(w for w in wholes if w not in specs)], families)
    found = bootstrap_boards(ratings, boards, families, resamples=resamples, seed=seed, progress=progress)
    found = diagnose_boards(ratings, boards, found, families)
    fits = tuple(fit for fit in boards if fit.spec in specs)
    intervals = found[: len(fits)]
    summary: dict[str, Any] = {"rows": frame.height, "used": ratings.height, "duplicates": 0, "conflicts": 0}
    summary |= {"repeats": {"identical": 0, "conflicting": 0}, "rejected": []}
    return RankResult(METHOD_VERSION, seed, resamples, summary, fits, intervals)


def rank_specs(
    ratings: pl.DataFrame, rubrics: Sequence[str] | None, by: By, dimension: Dimension | None
) -> list[FitSpec]:
    """One board a rubric, or one for each value of a slice.

    Raises:
        InputError: an unknown rubric or a missing slice column.
    """
    present = ratings["rubric"].unique().sort().to_list()
    unknown = sorted(set(rubrics or ()) - set(present))
    if unknown:
        raise InputError(f"rubric {', '.join(unknown)}: no such rubric in the ratings, which have {', '.join(present)}")
    wanted = [r for r in present if rubrics is None or r in rubrics]
    wanted.sort(key=lambda r: (r != OVERALL, r))
    if dimension is None:
        return [FitSpec(rubric=r, by=by) for r in wanted]
    if dimension not in ratings.columns:
        raise InputError(f"ratings have no column {dimension!r} to slice by; they have {', '.join(ratings.columns)}")
    values = slice_values(ratings)[dimension]
    return [FitSpec(rubric=r, by=by, slice_dimension=dimension, slice_value=v) for r in wanted for v in values]


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [c for c in _NEEDED if c not in frame.columns]
    if missing:
        raise InputError(f"ratings lack the column {', '.join(missing)}; they have {', '.join(frame.columns)}")
    if "rubric" not in frame.columns:
        frame = frame.with_columns(pl.lit(OVERALL).alias("rubric"))
    if "excluded_by" in frame.columns:
        frame = frame.filter(pl.col("excluded_by").is_null())
    return frame


def _fit_json(fit: BoardFit, intervals: BoardIntervals) -> dict[str, Any]:
    reasons = [r for r in (fit.reason, intervals.reason) if r]
    ridge = {e.entity: e.ridge for e in fit.entities}
    return {
        "rubric": fit.spec.rubric,
        "by": fit.spec.by,
        "slice": {"dimension": fit.spec.slice_dimension, "value": fit.spec.slice_value},
        "status": fit.status,
        "reason": "; ".join(reasons) or None,
        "n_ratings": fit.n_ratings,
        "n_raters": fit.n_raters,
        "n_prompts": fit.n_prompts,
        "n_within": fit.n_within,
        "thresholds": list(fit.thresholds),
        "merged_scores": list(fit.merged_scores),
        "log_likelihood": fit.log_likelihood,
        "components": [list(c) for c in fit.components],
        "ridge": None if fit.ridge_lambda is None else {"lambda": fit.ridge_lambda, "strengths": ridge},
        "entities": _entities_json(fit, intervals),
        "pairs": [vars(p) for p in intervals.pairs],
        "within_model": [vars(p) for p in within_models(fit, intervals)],
        "cross_checks": {
            "massey": {e.entity: e.massey for e in fit.entities},
            "partial_margin_bt": {e.entity: e.partial_margin_bt for e in fit.entities},
            "spearman": {"massey": fit.spearman_massey, "partial_margin_bt": fit.spearman_partial_margin_bt},
        },
        "diagnostics": plain(intervals.diagnostics),
    }


def _entities_json(fit: BoardFit, intervals: BoardIntervals) -> list[dict[str, Any]]:
    return [
        {
            "entity": e.entity,
            "strength": e.strength,
            "elo": e.elo,
            "ci_low": i.ci_low,
            "ci_high": i.ci_high,
            "se_sandwich": i.se_sandwich,
            "sandwich_low": i.sandwich_low,
            "sandwich_high": i.sandwich_high,
            "rank": e.rank,
            "rank_low": i.rank_low,
            "rank_high": i.rank_high,
            "n_ratings": e.n_ratings,
            "n_raters": e.n_raters,
            "n_prompts": e.n_prompts,
            "valid_resamples": i.valid_resamples,
            "bound": e.bound or i.bound,
            "letters": i.letters,
            "delta": i.delta,
            "delta_low": i.delta_low,
            "delta_high": i.delta_high,
        }
        for e, i in zip(fit.entities, intervals.entities, strict=True)
    ]
