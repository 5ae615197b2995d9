"""Which rubrics measure alike, once general quality and shared noise are taken away.

**Input.** X: strengths of K rubrics × M entities (model families), one ordinal Bradley-Terry fit a rubric. B draws of
the same matrix from the rater-and-prompt bootstrap, the same raters and prompts for every rubric in a draw. A rubric
without a finite strength of every entity, in the full data or in more than 5 % of the draws, is left out and named; of
the draws those count in which all others have theirs.

**Method.**

1. Rows are centred. All rubrics follow general quality (halo), so the first principal component is removed:
   R = (I - uu') X (I - vv') (`residuals`). The rows of R are the residual profiles.
2. The same people answer all rubrics about the same pair in one sitting, so errors are shared. Their part in RR' is N,
   the mean of P(E_b) P(E_b)' over the draws' deviations E_b, projected like X with the full data's u and v.
3. Similarity of rubrics k, l: (RR' - N)_kl / (|R_k| |R_l|), with the uncorrected norms.
4. Average linkage on 1 - similarity, cut at k clusters (`linkage`); a tie at the cut is no partition.

**Reliability** of a partition: the share of draws whose own pipeline (own centring, own first component, N of the full
data, subtracted *once*) gives exactly this partition. A draw holds the sample's noise and its own, so 2·N would be its
expected share; once is the source method's reading and the kinder one. A draw without a partition counts against.

**Chance**: the pipeline on data whose only signal is the first component: X₀ = σ1 uv' + E_d, partitioned with its own
u, v and N; its resamples are X₀ + E_b. Its reliability, mean and 95 % quantile over many d, is what noise alone gives.

**Split half**: raters in two random halves, each fitted alone and partitioned with its own u, v and 2·N (half the
raters, twice the variance); adjusted Rand index between the halves. Prompts are common to both halves and noise is
shared in the same way in each, so agreement here does not rule out an artefact; the chance baseline does.

**Assumptions.** One axis dominates (see `pc1_share`, `gap`); the draws' spread is that of the estimates (product
weights overstate it: the correction then takes off too much, which the uncorrected norms make harmless).
Similarities of residuals are negative on average, about -1 / (K - 1): zero is not "unrelated".
"""

from collections.abc import Sequence

import numpy as np

from s2s_assets.rubrics.agreement import moved_share
from s2s_assets.rubrics.linkage import Labels
from s2s_assets.rubrics.pipeline import FullData, full_data, partition_full
from s2s_assets.rubrics.records import Agreement, LeftOut, Partition, RubricClusters, no_clusters
from s2s_assets.rubrics.reliability import chance_reliability, resample_labels, same_partition, split_half_agreement
from s2s_assets.study import Floats, generator, one_blas_thread, percent

LEAST = 3
"""Rubrics and entities below which there is nothing to cluster."""
LEAST_DRAWS = 2
VALID_SHARE = 0.95
"""Share of draws with a strength for every entity below which a rubric is left out."""
_NOTHING = 1e-12
"""Share of σ1² below which a component is rounding."""


@one_blas_thread
def cluster_rubrics(
    strengths: Floats,
    draws: Floats,
    rubrics: Sequence[str],
    k: int = 2,
    *,
    seed: int | str = 0,
    halves: Floats | None = None,
    also: Sequence[int] = (3,),
) -> RubricClusters:
    """Cluster rubrics by their residual profiles.

    Args:
        strengths: (K, M) strengths in logits, rubric × entity; NaN where a fit gave none.
        draws: (B, K, M) strengths of the common resamples, not finite where lost or separated.
        rubrics: K names.
        k: number of clusters that is reported.
        seed: of the chance baseline.
        halves: (S, 2, K, M) strengths of both halves of the raters in S splits, not finite where lost; None without.
        also: further numbers of clusters, for comparison.

    Returns:
        The clusters; status `undefined` with a reason where strengths or draws do not allow any.
    """
    left_out = _left_out(strengths, draws, rubrics)
    kept = np.array([rubric not in {out.rubric for out in left_out} for rubric in rubrics], bool)
    rubrics = [rubric for rubric, keep in zip(rubrics, kept, strict=True) if keep]
    strengths, draws = strengths[kept], draws[:, kept]
    usable = draws[np.isfinite(draws).all(axis=(1, 2))]
    reason = _why_undefined(strengths, usable, k)
    if reason:
        sizes = {"n_entities": strengths.shape[1], "k": k, "resamples": len(draws), "resamples_used": len(usable)}
        return no_clusters(reason, rubrics, left_out, **sizes)
    data = full_data(strengths, usable)
    similarity, found = partition_full(data, sorted({c for c in (k, *also) if 2 <= c < len(rubrics)}))
    tied = f"two merges tie where the rubrics fall into {k} clusters" if found[k].min() < 0 else None
    square = data.sigma**2
    no_halves = np.empty((0, 2, *strengths.shape))
    return RubricClusters(
        status="undefined" if tied else "ok",
        reason=tied,
        rubrics=tuple(rubrics),
        left_out=left_out,
        n_entities=strengths.shape[1],
        k=k,
        resamples=len(draws),
        resamples_used=len(usable),
        pc1_share=float(square[0] / square.sum()) if square.sum() > 0 else None,
        gap=float(square[1] / square[2]) if square[2] > _NOTHING * square[0] else None,
        similarity=tuple(tuple(float(value) for value in row) for row in similarity),
        partitions=_assess(data, found, rubrics, seed, no_halves if halves is None else halves[:, :, kept]),
    )


def _left_out(strengths: Floats, draws: Floats, rubrics: Sequence[str]) -> tuple[LeftOut, ...]:
    """Rubrics without a strength of every entity, in the full data or in too many draws."""
    found = []
    for k, rubric in enumerate(rubrics):
        share = np.isfinite(draws[:, k]).all(axis=1).mean() if len(draws) else 1.0
        if not np.isfinite(strengths[k]).all():
            found.append(LeftOut(rubric, "the fit gives no finite strength for some entity"))
        elif share < VALID_SHARE:
            found.append(
                LeftOut(rubric, f"only {percent(float(share))} of the resamples have a strength for every entity")
            )
    return tuple(found)


def _why_undefined(strengths: Floats, usable: Floats, k: int) -> str | None:
    n_rubrics, n_entities = strengths.shape
    if n_rubrics < LEAST or n_entities < LEAST:
        return f"{n_rubrics} rubrics with strengths of {n_entities} entities; at least {LEAST} of each are needed"
    if not 2 <= k < n_rubrics:
        return f"{n_rubrics} rubrics cannot be cut into {k} clusters"
    if len(usable) < LEAST_DRAWS:
        return f"{len(usable)} resamples have a strength for every rubric and entity; {LEAST_DRAWS} are needed"
    return None


def _assess(
    data: FullData, found: dict[int, Labels], rubrics: Sequence[str], seed: int | str, halves: Floats
) -> tuple[Partition, ...]:
    again = resample_labels(data, list(found))
    chance = chance_reliability(data, list(found), generator("rubrics", seed, "chance"))
    agreement = split_half_agreement(halves, data.moments, list(found))
    return tuple(
        _partition(k, labels, rubrics, again[k], chance[k], agreement[k]) for k, labels in sorted(found.items())
    )


def _partition(
    k: int, labels: Labels, rubrics: Sequence[str], again: Labels, chance: Floats, agreement: Agreement
) -> Partition:
    tied = labels.min() < 0
    moved = moved_share(again, labels) if not tied else np.full(len(labels), np.nan)
    return Partition(
        k=k,
        labels=() if tied else tuple(labels.tolist()),
        clusters=() if tied else tuple(tuple(np.array(rubrics)[labels == c].tolist()) for c in range(k)),
        reliability=None if tied else float(same_partition(again, labels).mean()),
        chance=float(chance.mean()),
        chance_high=float(np.quantile(chance, 0.95)),
        moved=tuple(None if np.isnan(share) else float(share) for share in moved),
        split_half=agreement,
    )
