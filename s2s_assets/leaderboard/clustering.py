"""The clustering of the rubrics in the page's words."""

import polars as pl

from s2s_assets.leaderboard.inputs import Clusters
from s2s_assets.leaderboard.numbers import fixed
from s2s_assets.rubrics import Partition, RubricClusters


def clusters_of(found: RubricClusters, fits: pl.DataFrame) -> Clusters:
    """What the page says of a clustering.

    Args:
        found: the clustering; where it is undefined the page gives the reason.
        fits: `bt_fits` with the clusters' fits, whose `members` say which rubrics each has.
    """
    partition = found.reported
    if partition is None:
        return Clusters({}, {}, f"There is no grouping: {found.reason or 'two ways to cut are equally good'}.")
    named = {
        tuple(sorted(members)): rubric
        for rubric, members in fits.select("rubric", "members").iter_rows()
        if len(members) > 0
    }
    members = {
        named.get(tuple(sorted(rubrics)), f"Group {i + 1}"): rubrics for i, rubrics in enumerate(partition.clusters)
    }
    return Clusters(members, _figures(found, partition), _note(found, partition))


def _figures(found: RubricClusters, partition: Partition) -> dict[str, float | None]:
    half = partition.split_half
    figures = {
        f"Reliability: resamples that give exactly these {partition.k} groups": partition.reliability,
        "The same by chance, mean": partition.chance,
        "The same by chance, 95 % quantile": partition.chance_high,
        f"Agreement of two halves of the raters (adjusted Rand index, mean of {half.used} splits)": half.mean,
        "Share of the first component, which is taken out": found.pc1_share,
        "Second component over the third": found.gap,
    }
    others = {f"Reliability of {p.k} groups": p.reliability for p in found.partitions if p.k != partition.k}
    return {**figures, **others}


def _note(found: RubricClusters, partition: Partition) -> str:
    """What is least sure: the rubrics that change sides, and those that could not take part."""
    shares = zip(found.rubrics, partition.moved, strict=True)
    restless = sorted(((s, r) for r, s in shares if s is not None and s >= 0.05), reverse=True)
    said = ", ".join(f"{rubric.replace('_', ' ')} ({fixed(100 * share)} %)" for share, rubric in restless) or "none"
    left = "; ".join(f"{out.rubric.replace('_', ' ')} ({out.reason})" for out in found.left_out)
    missing = f" Without a group: {left}." if left else ""
    return f"Questions that change sides in 5 % of the resamples or more: {said}.{missing}"
