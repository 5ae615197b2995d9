"""What the clustering of rubrics consists of."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

METHOD_VERSION = "rubric-clusters-1"
"""Changes whenever the same strengths and draws would give another result."""

REPRODUCED = 0.5
"""Share of the resamples that must give exactly the same partition."""
Status = Literal["ok", "undefined"]


@dataclass(frozen=True)
class Agreement:
    """Adjusted Rand indices between the two halves of the raters."""

    mean: float | None
    sd: float | None
    """Spread over the splits; they share raters, so it is no standard error."""
    low: float | None
    """2.5th percentile."""
    high: float | None
    """97.5th percentile."""
    splits: int
    """Splits asked for."""
    used: int
    dropped: int
    """Splits in which a half has no strength for some rubric and entity, or no partition."""


@dataclass(frozen=True)
class Partition:
    """The rubrics in k clusters, and how far to trust that."""

    k: int
    labels: tuple[int, ...]
    """Cluster of each rubric, 0 for the first rubric's; empty where two merges tie at the cut."""
    clusters: tuple[tuple[str, ...], ...]
    """Rubrics of each cluster, by label."""
    reliability: float | None
    """Share of the resamples that reproduce exactly this partition."""
    chance: float | None
    """Mean reliability where there is nothing but the first component and noise."""
    chance_high: float | None
    """95 % quantile of the same."""
    moved: tuple[float | None, ...]
    """Share of the resamples in which each rubric is in another cluster."""
    split_half: Agreement

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rubrics in each cluster; 1 against the rest with high reliability is an outlier, not a structure."""
        return tuple(len(members) for members in self.clusters)

    @property
    def reproduced(self) -> bool:
        """Whether to take the partition for more than noise: most resamples give it, and more than chance's 95 % do."""
        if self.reliability is None or self.chance_high is None:
            return False
        return self.reliability >= REPRODUCED and self.reliability > self.chance_high


@dataclass(frozen=True)
class LeftOut:
    """A rubric that cannot be clustered."""

    rubric: str
    reason: str


@dataclass(frozen=True)
class RubricClusters:
    """Clusters of rubrics; `undefined` with a reason where there are none."""

    status: Status
    reason: str | None
    rubrics: tuple[str, ...]
    """Those that take part."""
    left_out: tuple[LeftOut, ...]
    n_entities: int
    k: int
    """The number of clusters that is reported; other partitions are for comparison."""
    resamples: int
    resamples_used: int
    """Resamples with a finite strength for every rubric and entity."""
    pc1_share: float | None
    """σ1² / Σ σ²: how much of the strengths is one common axis."""
    gap: float | None
    """σ2² / σ3²; near 1 (and a low share) the first component is not one axis and the residuals are arbitrary."""
    similarity: tuple[tuple[float, ...], ...]
    """Corrected similarities of residual profiles, rubric × rubric."""
    partitions: tuple[Partition, ...]

    @property
    def reported(self) -> Partition | None:
        """The partition into k clusters, None where there is none."""
        return next((p for p in self.partitions if p.k == self.k and p.labels), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def no_clusters(
    reason: str,
    rubrics: Sequence[str],
    left_out: Sequence[LeftOut],
    *,
    n_entities: int,
    k: int,
    resamples: int,
    resamples_used: int,
) -> RubricClusters:
    """The result where nothing can be clustered."""
    return RubricClusters(
        status="undefined",
        reason=reason,
        rubrics=tuple(rubrics),
        left_out=tuple(left_out),
        n_entities=n_entities,
        k=k,
        resamples=resamples,
        resamples_used=resamples_used,
        pc1_share=None,
        gap=None,
        similarity=(),
        partitions=(),
    )
