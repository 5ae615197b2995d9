"""A study's clusters of rubrics: from the stored fits by family to the boards of the clusters.

A cluster's board is one fit of the answers to all its rubrics, by model: strengths are common, thresholds are each
rubric's own (`FitSpec.members`). It is resampled with the same draws as every other board. How the source method ranks by
a cluster it does not say: this stratified fit is ours.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from s2s_assets.ranking import (
    BoardFit,
    BoardIntervals,
    FitSpec,
    bootstrap_boards,
    diagnose_boards,
    fit_boards,
    split_half_strengths,
)
from s2s_assets.rubrics.clustering import cluster_rubrics
from s2s_assets.rubrics.records import RubricClusters
from s2s_assets.study import Floats, Variant

HUMANNESS, TECHNICAL = "Humanness", "Technical"
"""Groups of questions that give the source method's two clusters their names."""
TECHNICAL_QUALITY = "Technical Quality"


@dataclass(frozen=True)
class ClusterReport:
    """The clusters, and a fit with intervals of each."""

    clusters: RubricClusters
    names: tuple[str, ...]
    """Name of each cluster of the reported partition, in its order: the `rubric` of the cluster's board."""
    fits: tuple[BoardFit, ...]
    intervals: tuple[BoardIntervals, ...]


def cluster_study(
    ratings: pl.DataFrame,
    fits: Sequence[BoardFit],
    intervals: Sequence[BoardIntervals],
    groups: Mapping[str, str],
    families: Mapping[str, str],
    dropped_raters: frozenset[str] = frozenset(),
    *,
    variant: Variant = "all",
    k: int = 2,
    splits: int = 500,
    resamples: int = 1000,
    seed: int = 0,
) -> ClusterReport:
    """Cluster the rubrics of a study, and fit each cluster's board.

    Args:
        ratings: the `ratings` table that the fits were made from.
        fits: every board's fit, those of each rubric by family among them.
        intervals: their intervals with the draws, as `bootstrap_boards` gave them.
        groups: rubric → the group it is asked in, in the study's order.
        families: model → family.
        dropped_raters: raters left out of the `cleaned` variant.
        variant: which ratings the boards are made of.
        k: number of clusters reported.
        splits: halvings of the raters.
        resamples: resamples of the clusters' boards.
        seed: the seed that `intervals` was made with, so that the draws are the same.

    Raises:
        FitError: a cluster's fit, a resample or a half that did not converge.
    """
    specs = tuple(FitSpec(rubric, "family", variant=variant) for rubric in groups)
    entities, strengths, draws = profiles(fits, intervals, specs)
    halves = split_half_strengths(ratings, specs, entities, families, dropped_raters, splits, seed)
    clusters = cluster_rubrics(strengths, draws, tuple(groups), k, seed=seed, halves=halves)
    names = cluster_names(clusters.reported.clusters if clusters.reported else (), groups)
    boards = cluster_boards(clusters, names, variant)
    found = fit_boards(ratings, boards, families, dropped_raters)
    drawn = bootstrap_boards(ratings, found, families, dropped_raters, resamples, seed)
    seen = diagnose_boards(ratings, found, drawn, families, dropped_raters)
    return ClusterReport(clusters, names, found, seen)


def profiles(
    fits: Sequence[BoardFit], intervals: Sequence[BoardIntervals], specs: Sequence[FitSpec]
) -> tuple[tuple[str, ...], Floats, Floats]:
    """Entities by name, strengths (K, M) and draws (B, K, M) of some boards; NaN where a board has no value.

    A board that fell into components has none: its strengths have no common zero.
    """
    row = {spec.fit: k for k, spec in enumerate(specs)}
    entities = tuple(sorted({e.entity for fit in fits if fit.spec.fit in row for e in fit.entities}))
    column = {entity: m for m, entity in enumerate(entities)}
    drawn = {i.fit: i.draws for i in intervals if i.fit in row}
    n_draws = max((values.shape[1] for values in drawn.values()), default=0)
    strengths = np.full((len(specs), len(entities)), np.nan)
    draws = np.full((n_draws, len(specs), len(entities)), np.nan)
    for fit in fits:
        if fit.fit in row and fit.status in ("ok", "separated"):
            at = [column[e.entity] for e in fit.entities]
            strengths[row[fit.fit], at] = [np.nan if e.strength is None else e.strength for e in fit.entities]
            if fit.fit in drawn:
                draws[:, row[fit.fit], at] = drawn[fit.fit].T
    return entities, strengths, draws


def cluster_boards(clusters: RubricClusters, names: Sequence[str], variant: Variant = "all") -> tuple[FitSpec, ...]:
    """The board of each cluster of the reported partition, by model."""
    found = clusters.reported.clusters if clusters.reported else ()
    return tuple(
        FitSpec(name, "model", variant=variant, members=members) for name, members in zip(names, found, strict=True)
    )


def cluster_names(clusters: Sequence[Sequence[str]], groups: Mapping[str, str]) -> tuple[str, ...]:
    """Names of clusters, after the groups in which their rubrics are asked.

    A cluster is named after the group of more than half of its rubrics, where no other cluster would be; else by its
    number. Where two clusters part the group Humanness from Technical, each holding most of one, they bear the source
    method's names Humanness and Technical Quality, whatever else they hold.
    """
    home = {
        group: _holder([sum(groups[r] == group for r in members) for members in clusters])
        for group in dict.fromkeys(groups.values())
    }
    human, technical = (_home_of(home, name) for name in (HUMANNESS, TECHNICAL))
    if len(clusters) == 2 and None not in (human, technical) and human != technical:
        return tuple(HUMANNESS if c == human else TECHNICAL_QUALITY for c in range(2))
    named = [_majority(members, groups) for members in clusters]
    taken = Counter(named)
    return tuple(
        name if name is not None and taken[name] == 1 and name not in groups else f"Cluster {c + 1}"
        for c, name in enumerate(named)
    )


def _holder(counts: Sequence[int]) -> int | None:
    """The cluster that holds more than half of a group."""
    return next((c for c, n in enumerate(counts) if 2 * n > sum(counts)), None)


def _home_of(home: Mapping[str, int | None], name: str) -> int | None:
    return next((cluster for group, cluster in home.items() if group.casefold().startswith(name.casefold())), None)


def _majority(members: Sequence[str], groups: Mapping[str, str]) -> str | None:
    group, n = Counter(groups[r] for r in members).most_common(1)[0]
    return group if 2 * n > len(members) else None
