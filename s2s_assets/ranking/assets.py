"""`bt_fits`, `bootstrap_cis`: every board's fits, and how far they can be trusted."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import (
    OWNERS,
    LastFit,
    Stage,
    StageEvent,
    StudyResource,
    markdown_table,
    preview,
    run_stage,
)
from s2s_assets.ranking import (
    DIAGNOSTICS_VERSION,
    METHOD_VERSION,
    FitSpec,
    bootstrap_boards,
    bootstrap_seed,
    diagnose_boards,
    dropped_raters,
    entity_of,
    fit_boards,
    fits_from_frame,
    fits_to_frame,
    intervals_to_frame,
    slice_values,
    sliceable,
    standard_boards,
    stored_uncertainty,
    with_cleaning,
)
from s2s_assets.ranking.checks import CIS_SPECS, FITS_SPECS, cis_checks, fits_checks
from s2s_assets.storage import Table
from s2s_assets.study import By, Study, Uncertainty

TABLES = ("bt_fits", "bootstrap_cis")
"""Where a fit and its draws are stored."""


class StoredFit(LastFit):
    """The last stored fit, from the tables in force."""

    study: dg.ResourceDependency[StudyResource]

    def uncertainty(self, by: By) -> Uncertainty | str:
        """The uncertainty of the overall board that ranks this, in the headline's variant."""
        study = self.study.folder().study
        store = self.study.store(study)
        versions = {name: version for name in TABLES if (version := store.head(name, None)) is not None}
        if len(versions) < len(TABLES):
            return "no fit is stored yet"
        fits, intervals = (store.read_table(name, None, versions[name]).frame for name in TABLES)
        keys = [str(c.key) for c in study.active_configs]
        entities = {key: entity_of(key, by, study.families) for key in keys}
        spec = FitSpec(by=by, variant=study.analysis.headline_variant)
        found = stored_uncertainty(fits, intervals, spec, entities)
        return found if isinstance(found, str) else replace(found, versions=versions)


def boards_of(study: Study, ratings: pl.DataFrame) -> tuple[FitSpec, ...]:
    """Every board of a study but the clusters'."""
    return standard_boards(
        [r.id for r in study.rubrics],
        slice_values(ratings),
        study.boards,
        headline_variant=study.analysis.headline_variant,
        min_slice_ratings=study.analysis.min_slice_ratings,
    )


def _describe_fits(frame: pl.DataFrame) -> Mapping[str, Any]:
    by_status = frame["status"].value_counts().sort("status")
    checks = frame.select("fit", "spearman_massey", "spearman_partial_margin_bt").drop_nulls()
    low = checks.sort("spearman_massey").head(8)
    return {
        "fits": frame.height,
        "by_status": markdown_table(by_status.to_dicts()),
        "lowest_cross_checks": markdown_table(low.to_dicts()),
    }


@dg.asset(
    group_name="ranking",
    kinds={"python", "numpy"},
    owners=OWNERS,
    code_version=METHOD_VERSION,
    check_specs=FITS_SPECS,
)
def bt_fits(
    context: dg.AssetExecutionContext, study: StudyResource, ratings: Table, rater_quality: Table
) -> Generator[StageEvent, None, None]:
    """Ordinal Bradley-Terry fits of every board, with Massey and partial-margin BT as cross-checks."""
    folder = study.folder()
    if ratings.frame.filter(pl.col("excluded_by").is_null()).is_empty():
        raise dg.Failure(
            "bt_fits: no answers to fit. People rate outside Dagster; this goes on by itself once a batch has settled",
            allow_retries=False,
        )
    counting = sliceable(with_cleaning(ratings.frame, rater_quality.frame), folder.study)
    specs = boards_of(folder.study, counting)
    stage = Stage(
        asset="bt_fits",
        method_version=METHOD_VERSION,
        inputs={"ratings": ratings, "rater_quality": rater_quality},
        settings=[[[s.fit, s.min_ratings] for s in specs], folder.study.families, folder.study.voice_kinds],
        compute=lambda: fits_to_frame(
            fit_boards(counting, specs, folder.study.families, dropped_raters(rater_quality.frame))
        ),
        checks=fits_checks(folder.study.analysis.headline_variant),
        describe=lambda table: _describe_fits(table.frame),
    )
    yield from run_stage(context, study.store(folder.study), stage)


def _describe_cis(frame: pl.DataFrame) -> Mapping[str, Any]:
    widest = frame.explode("entities").unnest("entities").with_columns(width=pl.col("ci_high") - pl.col("ci_low"))
    columns = ["fit", "entity", "ci_low", "ci_high", "rank_low", "rank_high", "valid_resamples"]
    return {
        "fits": frame.height,
        "resamples": int(frame["resamples"].to_numpy().max(initial=0)),
        "widest_intervals": preview(widest.sort("width", descending=True, nulls_last=True), columns, rows=8),
    }


@dg.asset(
    group_name="ranking",
    kinds={"python", "numpy"},
    owners=OWNERS,
    code_version=f"{METHOD_VERSION} {DIAGNOSTICS_VERSION}",
    check_specs=CIS_SPECS,
)
def bootstrap_cis(
    context: dg.AssetExecutionContext, study: StudyResource, ratings: Table, rater_quality: Table, bt_fits: Table
) -> Generator[StageEvent, None, None]:
    """Rater-and-prompt clustered bootstrap, rank ranges, paired differences and the two-way sandwich; the draws too."""
    folder = study.folder()
    analysis = folder.study.analysis

    def compute() -> pl.DataFrame:
        fits = fits_from_frame(bt_fits.frame)
        dropped = dropped_raters(rater_quality.frame)
        families, seed = folder.study.families, bootstrap_seed(folder.study)
        counting = sliceable(with_cleaning(ratings.frame, rater_quality.frame), folder.study)
        drawn = bootstrap_boards(counting, fits, families, dropped, analysis.resamples, seed, engines=True)
        return intervals_to_frame(diagnose_boards(counting, fits, drawn, families, dropped))

    stage = Stage(
        asset="bootstrap_cis",
        method_version=METHOD_VERSION,
        inputs={"ratings": ratings, "rater_quality": rater_quality, "bt_fits": bt_fits},
        settings=[folder.study.families, analysis.resamples, folder.study.study, DIAGNOSTICS_VERSION],
        compute=compute,
        checks=cis_checks(analysis.headline_variant),
        describe=lambda table: _describe_cis(table.frame),
    )
    yield from run_stage(context, study.store(folder.study), stage)
