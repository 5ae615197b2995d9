"""How the ratings of a file were sliced: every slice with its counts, and why one is not ranked or only preliminary."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from s2s_assets.ranking.boards import MIN_SLICE_RATERS, MIN_SLICE_RATINGS
from s2s_assets.ranking.records import BoardFit
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import plural

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


def preliminary(fit: BoardFit) -> str | None:
    """Why a slice's ranking is preliminary: too few ratings or raters; None where they suffice."""
    if fit.spec.slice_dimension == "all" or (fit.n_ratings >= MIN_SLICE_RATINGS and fit.n_raters >= MIN_SLICE_RATERS):
        return None
    return f"preliminary: {_counts(fit)}, where {_NEEDS}"


def _counts(fit: BoardFit) -> str:
    return f"{plural(fit.n_ratings, 'rating')} by {plural(fit.n_raters, 'rater')}"


def slices_of(
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
