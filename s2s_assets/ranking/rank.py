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
from s2s_assets.ranking.boards import MIN_SLICE_RATERS, MIN_SLICE_RATINGS
from s2s_assets.ranking.bootstrap import Progress, bootstrap_boards
from s2s_assets.ranking.diagnose import diagnose_boards, whole_of, within_models
from s2s_assets.ranking.disagreement import cross_check_reason
from s2s_assets.ranking.fits import fit_boards
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.ranking.spec import METHOD_VERSION, FitSpec
from s2s_assets.ranking.structs import plain
from s2s_assets.study import OVERALL, By, InputError, plural

_NEEDED = ("prompt", "rater", "config_a", "config_b", "score")
_USED = (*_NEEDED, "rubric", "first")
_NEEDS = f"a slice needs {MIN_SLICE_RATINGS} by {MIN_SLICE_RATERS}"
_NOUNS = {"thinking": "thinking level"}


@dataclass(frozen=True)
class Slice:
    """One slice of one rubric, ranked or not."""

    rubric: str
    value: str
    n_ratings: int
    n_raters: int
    n_prompts: int
    reason: str | None
    """Why it has no ranking, or a preliminary one."""


@dataclass(frozen=True)
class Slicing:
    """How ratings were sliced: nothing is left out without a word."""

    dimension: str
    shared: bool
    """Whether a slice is what both answers share, and not the value of a column."""
    n_outside: int
    """Ratings of no slice: without a value, or of two that are not shared."""
    slices: tuple[Slice, ...]
    """Of each rubric, every value that its ratings have."""


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
            "fits": [_fit_json(f, i) for f, i in zip(self.fits, self.intervals, strict=True)],
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
    wholes = list(dict.fromkeys(whole_of(spec) for spec in specs))  # what slices are compared with
    boards = fit_boards(ratings, [*specs, *(w for w in wholes if w not in specs)], families)
    found = bootstrap_boards(ratings, boards, families, resamples=resamples, seed=seed, progress=progress, engines=True)
    found = diagnose_boards(ratings, boards, found, families)
    fits = tuple(fit for fit in boards if fit.spec in specs)
    intervals = found[: len(fits)]
    summary: dict[str, Any] = {"rows": frame.height, "used": ratings.height, "duplicates": 0, "conflicts": 0}
    summary |= {"repeats": {"identical": 0, "conflicting": 0}, "rejected": []}
    slicing = None
    if slice is not None:
        rated = ratings.filter(pl.col("rubric").is_in(wanted))
        slicing = Slicing(
            slice, slice not in frame.columns, rated[slice].null_count(), _slices(rated, slice, specs, fits)
        )
    return RankResult(METHOD_VERSION, seed, resamples, summary, fits, intervals, slicing)


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


def preliminary(fit: BoardFit) -> str | None:
    """Why a slice's ranking is preliminary: too few ratings or raters; None where they suffice."""
    if fit.spec.slice_dimension == "all" or (fit.n_ratings >= MIN_SLICE_RATINGS and fit.n_raters >= MIN_SLICE_RATERS):
        return None
    return f"preliminary: {_counts(fit)}, where {_NEEDS}"


def _counts(fit: BoardFit) -> str:
    return f"{plural(fit.n_ratings, 'rating')} by {plural(fit.n_raters, 'rater')}"


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


def _slices(
    ratings: pl.DataFrame, dimension: str, specs: Sequence[FitSpec], fits: Sequence[BoardFit]
) -> tuple[Slice, ...]:
    """Every slice with its counts, and why one is not ranked."""
    counts = ratings.group_by("rubric", dimension).agg(pl.len(), pl.n_unique("rater"), prompts=pl.n_unique("prompt"))
    counted = {(rubric, value): given for rubric, value, *given in counts.iter_rows()}
    made: dict[FitSpec, list[BoardFit]] = {spec: [] for spec in specs}
    for fit in fits:
        made[fit.spec].append(fit)
    found = []
    for spec, own in made.items():
        n_ratings, n_raters, n_prompts = counted[spec.rubric, spec.slice_value]
        found.append(Slice(spec.rubric, spec.slice_value, n_ratings, n_raters, n_prompts, _slice_reason(spec, own)))
    return tuple(found)


def _slice_reason(spec: FitSpec, fits: Sequence[BoardFit]) -> str | None:
    if not fits:
        return f"not ranked: each of its ratings compares one {_NOUNS.get(spec.by, spec.by)} with itself"
    few = [fit for fit in fits if preliminary(fit)]
    if len(fits) == 1 or not few:
        return preliminary(fits[0])
    counts = "; ".join(_counts(fit) for fit in few)
    return (
        f"{len(few)} of {len(fits)} groups that no rating connects {'is' if len(few) == 1 else 'are'} preliminary: "
        f"{counts}, where {_NEEDS}"
    )


def _fit_json(fit: BoardFit, intervals: BoardIntervals) -> dict[str, Any]:
    reasons = [r for r in (fit.reason, intervals.reason, preliminary(fit)) if r]
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
            "spearman_intervals": {a.engine: [a.spearman_low, a.spearman_high] for a in intervals.agreement},
            "reason": cross_check_reason(fit, intervals),
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
