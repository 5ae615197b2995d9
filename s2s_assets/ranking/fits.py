"""From ratings to the fits of boards: select, pool, split into components, fit, cross-check."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from s2s_assets.ranking.coding import CodedRatings, Numbers, code_ratings
from s2s_assets.ranking.crosschecks import massey, partial_margin_bt, spearman
from s2s_assets.ranking.elo import to_elo
from s2s_assets.ranking.ordinal import RIDGE_LAMBDA, OrdinalFit, Status, fit_ordinal, fit_ridge
from s2s_assets.ranking.problems import Problem, problems
from s2s_assets.ranking.ranks import estimate_ranks
from s2s_assets.ranking.records import BoardFit, EntityFit, Strengths
from s2s_assets.ranking.selection import Selection, select
from s2s_assets.ranking.spec import FitSpec, entity_of
from s2s_assets.study import Bools, Floats, Ints, one_blas_thread

SIDE = {1: "above", -1: "below"}
"""Names of `OrdinalFit.sides`."""


@dataclass(frozen=True)
class Prepared:
    """One component of a board, pooled and fitted, with what resampling needs."""

    spec: FitSpec
    component: int | None
    components: tuple[tuple[str, ...], ...]
    n_within: int
    problem: Problem
    ordinal: OrdinalFit

    @property
    def fit(self) -> str:
        """The fit's id."""
        return self.spec.fit_of(self.component)


@one_blas_thread
def fit_boards(
    ratings: pl.DataFrame,
    specs: Sequence[FitSpec],
    families: Mapping[str, str] | None = None,
    dropped_raters: frozenset[str] = frozenset(),
) -> tuple[BoardFit, ...]:
    """Fit every board that has ratings enough.

    Args:
        ratings: a `ratings` table; answers with an exclusion do not count.
        specs: the boards.
        families: model → family, for boards by family.
        dropped_raters: raters left out of the `cleaned` variant.

    Returns:
        Fits in the order of `specs`; none for a board below its `min_ratings`.

    Raises:
        InputError: a score or config that cannot be, a missing family or slice column.
        FitError: a fit that did not converge.
    """
    coded = code_ratings(ratings, dropped_raters)
    made: dict[FitSpec, list[BoardFit]] = {}
    for group in by_selection(specs):
        selection = select(coded, group[0])
        for spec in group:
            made[spec] = [record(prepared) for prepared in prepare(spec, selection, coded, families or {})]
    return tuple(fit for spec in specs for fit in made[spec])


@one_blas_thread
def fit_strengths(
    ratings: pl.DataFrame,
    spec: FitSpec,
    families: Mapping[str, str] | None = None,
    dropped_raters: frozenset[str] = frozenset(),
) -> tuple[Strengths, ...]:
    """The ordinal strengths of one board, as `fit_boards` has them, without cross-checks and counts.

    Returns:
        One record a component; none for a board below its `min_ratings`.

    Raises:
        InputError, FitError: as `fit_boards`.
    """
    coded = code_ratings(ratings, dropped_raters)
    boards = prepare(spec, select(coded, spec), coded, families or {})
    return tuple(
        Strengths(
            _status(board),
            dict(zip(board.problem.entities, map(none_if_nan, board.ordinal.strengths.tolist()), strict=True)),
            tuple(none_if_nan(t) for t in board.ordinal.thresholds.tolist()),
        )
        for board in boards
    )


def by_selection(specs: Iterable[FitSpec]) -> list[list[FitSpec]]:
    """The specs, each once, those made from the same rows (rubrics, slice, variant) together."""
    groups: dict[FitSpec, dict[FitSpec, None]] = {}
    for spec in specs:
        rows = FitSpec("", "config", spec.slice_dimension, spec.slice_value, spec.variant, spec.rubrics)
        groups.setdefault(rows, {})[spec] = None
    return [list(group) for group in groups.values()]


def prepare(
    spec: FitSpec, selection: Selection, coded: CodedRatings, families: Mapping[str, str]
) -> tuple[Prepared, ...]:
    """Pool a board's selection by entity and fit each component."""
    labels = [""] * len(coded.configs)
    for k in selection.rated.tolist():
        labels[k] = entity_of(coded.configs[k], spec.by, families)
    parts, n_within = problems(selection, labels)
    if sum(part.counts.sum() for part in parts) < spec.min_ratings:
        return ()
    components = tuple(part.entities for part in parts)
    return tuple(
        Prepared(spec, k if len(parts) > 1 else None, components, n_within, part, fit_ordinal(part))
        for k, part in enumerate(parts)
    )


def record(prepared: Prepared) -> BoardFit:
    """The published record of a fit, cross-checks included."""
    problem, ordinal = prepared.problem, prepared.ordinal
    by_rater, by_prompt = (_seen_by(problem, of) for of in (problem.rows.rater, problem.rows.prompt))
    engines = {"massey": massey(problem), "partial_margin_bt": partial_margin_bt(problem)}
    ridge = fit_ridge(problem) if ordinal.status == "separated" else None
    ranks = entity_ranks(ordinal)
    used = set().union(*ordinal.layout.used)
    return BoardFit(
        spec=prepared.spec,
        component=prepared.component,
        status=_status(prepared),
        reason=_reason(prepared),
        n_ratings=int(problem.counts.sum()),
        n_raters=int(by_rater.any(axis=0).sum()),
        n_prompts=int(by_prompt.any(axis=0).sum()),
        n_within=prepared.n_within,
        thresholds=tuple(none_if_nan(t) for t in ordinal.thresholds.tolist()),
        merged_scores=tuple(m for m in range(4) if m not in used),
        log_likelihood=none_if_nan(ordinal.log_likelihood),
        components=prepared.components,
        ridge_lambda=None if ridge is None else RIDGE_LAMBDA,
        entities=_entities(prepared, ranks, engines, ridge, by_rater.sum(axis=1), by_prompt.sum(axis=1)),
        spearman_massey=spearman(ordinal.strengths, engines["massey"]),
        spearman_partial_margin_bt=spearman(ordinal.strengths, engines["partial_margin_bt"]),
    )


def entity_ranks(ordinal: OrdinalFit) -> Ints:
    """Ranks (E,) of a fit's entities."""
    return estimate_ranks(ordinal.strengths, ordinal.levels)


def entity_order(ordinal: OrdinalFit) -> Ints:
    """Numbers of the entities by rank, then name (entities are numbered by name)."""
    return np.argsort(entity_ranks(ordinal), kind="stable")


def none_if_nan(value: float) -> float | None:
    """A finite value, or None."""
    return value if math.isfinite(value) else None


def _entities(
    prepared: Prepared,
    ranks: Ints,
    engines: Mapping[str, Floats],
    ridge: Floats | None,
    n_raters: Ints,
    n_prompts: Ints,
) -> tuple[EntityFit, ...]:
    problem, ordinal = prepared.problem, prepared.ordinal
    elo = to_elo(ordinal.strengths)
    n_ratings = abs(problem.incidence) @ problem.counts.sum(axis=0)
    return tuple(
        EntityFit(
            entity=problem.entities[e],
            strength=none_if_nan(float(ordinal.strengths[e])),
            elo=none_if_nan(float(elo[e])),
            rank=int(ranks[e]),
            bound=SIDE.get(int(ordinal.sides[e])),
            ridge=None if ridge is None else float(ridge[e]),
            massey=none_if_nan(float(engines["massey"][e])),
            partial_margin_bt=none_if_nan(float(engines["partial_margin_bt"][e])),
            n_ratings=int(n_ratings[e]),
            n_raters=int(n_raters[e]),
            n_prompts=int(n_prompts[e]),
        )
        for e in entity_order(ordinal)
    )


def _seen_by(problem: Problem, factor: Numbers) -> Bools:
    """(E, raters or prompts): which of them an entity has ratings from."""
    size = int(factor.max(initial=0)) + 1
    seen = np.zeros(len(problem.entities) * size, bool)
    for end in problem.pairs.T:
        start = np.tile(end * size, len(problem.counts))  # by cell
        seen[np.take(start, problem.rows.cell) + factor] = True
    return seen.reshape(-1, size)


def _status(prepared: Prepared) -> Status:
    return prepared.ordinal.status if prepared.component is None else "disconnected"


def _reason(prepared: Prepared) -> str | None:
    """What a reader must know about the fit, in words."""
    said = []
    if prepared.component is not None:
        groups = "; ".join(", ".join(c) for c in prepared.components)
        said.append(f"no ratings connect these groups, so each is ranked by itself: {groups}")
    if prepared.ordinal.status == "undefined":
        said.append("all ratings are ties: nothing tells the entities apart, and intervals are undefined")
    elif prepared.ordinal.status == "separated":
        said.append(_separation_reason(prepared.ordinal))
    return "; ".join(said) or None


def _separation_reason(ordinal: OrdinalFit) -> str:
    groups = " above ".join("{" + ", ".join(group) + "}" for group in ordinal.groups)
    if len(ordinal.groups) < 2:
        return "thresholds diverge: no finite maximum of the likelihood exists for them"
    return f"no finite maximum of the likelihood exists: {groups} by an unbounded amount; ridge values are a fallback"
