"""`rubric_clusters`: which rubrics measure alike, and each cluster's own board."""

from collections.abc import Generator, Mapping
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import OWNERS, Stage, StageEvent, StudyResource, markdown_table, run_stage
from s2s_assets.ranking import bootstrap_seed, dropped_raters, fits_from_frame, intervals_from_frame, with_cleaning
from s2s_assets.rubrics import METHOD_VERSION, cluster_study, clusters_from_frame, clusters_to_frame
from s2s_assets.rubrics.checks import SPECS, cluster_checks
from s2s_assets.storage import Table


def _describe(frame: pl.DataFrame) -> Mapping[str, Any]:
    found = clusters_from_frame(frame).clusters
    rows = [
        {
            "k": p.k,
            "reliability": p.reliability,
            "chance": p.chance,
            "split_half_ari": p.split_half.mean,
            "sizes": p.sizes,
        }
        for p in found.partitions
    ]
    members = (
        []
        if found.reported is None
        else [{"cluster": i, "rubrics": ", ".join(c)} for i, c in enumerate(found.reported.clusters)]
    )
    return {
        "status": found.status if found.reason is None else f"{found.status}: {found.reason}",
        "partitions": markdown_table(rows),
        "clusters": markdown_table(members),
        "pc1_share": found.pc1_share,
        "resamples_used": found.resamples_used,
    }


@dg.asset(
    group_name="rubrics",
    kinds={"python", "numpy"},
    owners=OWNERS,
    code_version=METHOD_VERSION,
    check_specs=SPECS,
)
def rubric_clusters(
    context: dg.AssetExecutionContext,
    study: StudyResource,
    ratings: Table,
    rater_quality: Table,
    bt_fits: Table,
    bootstrap_cis: Table,
) -> Generator[StageEvent, None, None]:
    """Clusters of rubrics by residual profile, their reliability beside chance, and a board for each cluster."""
    folder = study.folder()
    analysis = folder.study.analysis

    def compute() -> pl.DataFrame:
        report = cluster_study(
            with_cleaning(ratings.frame, rater_quality.frame),
            fits_from_frame(bt_fits.frame),
            intervals_from_frame(bootstrap_cis.frame),
            {r.id: r.group for r in folder.study.rubrics},
            folder.study.families,
            dropped_raters(rater_quality.frame),
            variant=analysis.headline_variant,
            resamples=analysis.resamples,
            seed=bootstrap_seed(folder.study),
        )
        return clusters_to_frame(report)

    stage = Stage(
        asset="rubric_clusters",
        method_version=METHOD_VERSION,
        inputs={"ratings": ratings, "rater_quality": rater_quality, "bt_fits": bt_fits, "bootstrap_cis": bootstrap_cis},
        settings=[
            [r.model_dump(mode="json") for r in folder.study.rubrics],
            folder.study.families,
            analysis.model_dump(mode="json"),
            folder.study.study,
        ],
        compute=compute,
        checks=cluster_checks(),
        describe=lambda table: _describe(table.frame),
    )
    yield from run_stage(context, study.store(folder.study), stage)
