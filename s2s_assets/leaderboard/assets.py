"""`leaderboard`, `release`: the draft board of each refit, and sealed copies of it."""

from collections.abc import Generator, Mapping
from datetime import UTC, date, datetime
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pydantic

from s2s_assets.leaderboard import (
    BoardInputs,
    Previous,
    Run,
    Sealing,
    build_board,
    clusters_of,
    coverage,
    facts_of,
    headline_of,
    previous_release,
    read_board,
    recovered,
    seal,
    thumbnail,
)
from s2s_assets.leaderboard.checks import LEADERBOARD_SPECS, leaderboard_checks, red_checks
from s2s_assets.leaderboard.drafts import current_draft, draft_of, lay_out, put_in_force, store_draft
from s2s_assets.orchestration import (
    OWNERS,
    Stage,
    StageEvent,
    StudyResource,
    leave_out,
    png_metadata,
    preview,
    run_stage,
    settle,
)
from s2s_assets.ranking import METHOD_VERSION as RANKING_VERSION
from s2s_assets.ranking import bootstrap_seed, fits_to_frame, headline_rows, intervals_to_frame
from s2s_assets.ratings import EXCLUSION_RULES, QUALITY_VERSION, RatingsStore, board_level, planted_strengths
from s2s_assets.rubrics import clusters_from_frame
from s2s_assets.storage import Table
from s2s_assets.study import OVERALL, Study, Variant

PAGE_VERSION = "board-6"
CITATION = "s2s_assets: ranking speech-to-speech models by human preference (Apache-2.0), see CITATION.cff"


def _answers(ratings: pl.DataFrame) -> pl.DataFrame:
    return ratings.filter(pl.col("excluded_by").is_null())


def _data_date(ratings: pl.DataFrame) -> date:
    last = _answers(ratings)["submitted_at"].drop_nulls().max()
    assert isinstance(last, datetime)
    return last.astimezone(UTC).date()


def _exclusions(ratings: pl.DataFrame) -> dict[str, int]:
    """Rule → answers left out; what a person excluded is one rule, since reasons in their words are not published."""
    rule = pl.when(pl.col("excluded_by").is_in(list(EXCLUSION_RULES))).then("excluded_by").otherwise(pl.lit("by hand"))
    left_out = ratings.filter(pl.col("excluded_by").is_not_null()).select(rule.alias("rule"))
    return {str(name): int(n) for name, n in left_out["rule"].value_counts().sort("rule").iter_rows()}


def _run(study: Study, ratings: Table) -> Run:
    return Run(
        method_version=RANKING_VERSION,
        seed=bootstrap_seed(study),
        resamples=study.analysis.resamples,
        data_date=_data_date(ratings.frame),
        ratings_version=ratings.version,
        code_version=package_version("s2s-assets"),
        cleaning_version=QUALITY_VERSION,
    )


def _inputs(
    study: Study,
    tables: Mapping[str, Table],
    responses: Mapping[str, Table],
    planted: Mapping[str, float],
    sealed: Previous | None,
) -> BoardInputs:
    """What the board is built from: the unpartitioned tables by name, and the responses by config."""
    ratings, fits, cis = tables["ratings"], tables["bt_fits"].frame, tables["bootstrap_cis"].frame
    found = clusters_from_frame(tables["rubric_clusters"].frame)
    simulated = bool(_answers(ratings.frame)["simulated"].any()) or study.analysis.simulated
    facts = facts_of(study, simulated=simulated)
    answered = pl.concat([t.frame.select("config", "prompt", "status") for t in responses.values()])
    prompts = tables["normalized_audio"].frame.filter(pl.col("status") == "ok")
    all_fits = pl.concat([fits, fits_to_frame(found.fits)])
    return BoardInputs(
        facts=facts,
        run=_run(study, ratings),
        fits=all_fits,
        cis=pl.concat([cis, intervals_to_frame(found.intervals)]),
        coverage=coverage([str(c.key) for c in study.active_configs], answered, prompts),
        clusters=clusters_of(found.clusters, all_fits),
        quality=tables["rater_quality"].frame,
        exclusions=_exclusions(ratings.frame),
        paragraphs=(recovered(planted, headline_of(facts, fits, cis)).sentence,) if planted else (),
        citation=CITATION,
        previous=sealed,
    )


def _describe(frame: pl.DataFrame, files: Mapping[str, bytes], page: Path, variant: Variant) -> Mapping[str, Any]:
    columns = ["rank", "rank_low", "rank_high", "display_name", "elo", "ci_low", "ci_high", "n_ratings", "ratings"]
    lead = headline_rows(frame, variant).sort("rank", "entity")
    return {
        "page": dg.MetadataValue.path(str(page)),
        "variant": variant,
        "headline": preview(lead, columns, rows=40),
        "forest": png_metadata(
            thumbnail(files[f"forest-{OVERALL}.svg"].decode(), limit=22_000), "Elo with 95 % intervals"
        ),
    }


@dg.asset(
    group_name="leaderboard",
    kinds={"python", "html"},
    owners=OWNERS,
    code_version=PAGE_VERSION,
    check_specs=LEADERBOARD_SPECS,
)
def leaderboard(
    context: dg.AssetExecutionContext,
    study: StudyResource,
    normalized_audio: Table,
    responses: dict[str, Table],
    ratings: Table,
    rater_quality: Table,
    bt_fits: Table,
    bootstrap_cis: Table,
    rubric_clusters: Table,
) -> Generator[StageEvent, None, None]:
    """Tables, charts and page of the current board; a draft, replaced at each refit."""
    folder = study.folder()
    store, home = study.store(folder.study), study.settings.home
    sealed = previous_release(home / "releases", ratings.version)
    planted = planted_strengths(RatingsStore(study.engine(), folder.study.study))
    tables = {
        "normalized_audio": normalized_audio,
        "ratings": ratings,
        "rater_quality": rater_quality,
        "bt_fits": bt_fits,
        "bootstrap_cis": bootstrap_cis,
        "rubric_clusters": rubric_clusters,
    }

    def compute() -> pl.DataFrame:
        board = build_board(_inputs(folder.study, tables, responses, planted, sealed))
        store_draft(store, board.files, stage.key)
        return board.leaderboard

    stage = Stage(
        asset="leaderboard",
        method_version=PAGE_VERSION,
        inputs={**tables, "responses": responses},
        settings=[folder.study.model_dump(mode="json"), None if sealed is None else sealed.release, planted],
        compute=compute,
        checks=leaderboard_checks(folder.study),
        describe=lambda table: _describe(
            table.frame,
            draft_of(store, stage.key),
            home.absolute() / "draft" / "index.html",
            folder.study.analysis.headline_variant,
        ),
    )
    table = yield from run_stage(context, store, stage)
    put_in_force(store, stage.key)
    lay_out(current_draft(store), home / "draft")
    settle(store, "leaderboard", None, board_level(ratings.version), table.version)


class ReleaseConfig(dg.Config):
    """Who publishes, and why; without both nothing is published."""

    by: str = ""
    note: str = ""
    removed: dict[str, str] = pydantic.Field(default_factory=dict)
    """Entity that left the board since the last release → why."""


@dg.asset(
    group_name="leaderboard", kinds={"python", "html"}, owners=OWNERS, code_version=PAGE_VERSION, output_required=False
)
def release(
    context: dg.AssetExecutionContext, config: ReleaseConfig, study: StudyResource, leaderboard: Table
) -> Generator[StageEvent, None, None]:
    """A sealed copy of the current board; by hand only, with run config `{by, note}`."""
    if not config.by or not config.note:
        yield from leave_out(context, "nothing is published without run config {by, note}")
        return
    folder = study.folder()
    store, home = study.store(folder.study), study.settings.home
    board = read_board(current_draft(store))
    red = red_checks(context.instance, folder.study)
    done = seal(
        board,
        home,
        store.blobs,
        f"{folder.study.study}/releases",
        Sealing(config.by, config.note, config.removed),
        red,
    )
    context.log.info("release %s %s", done.name, "sealed" if done.new else "was sealed before; the data are the same")
    rows = [(done.name, board.data_date, board.data_hash, leaderboard.version)]
    schema = {"release": pl.String, "data_date": pl.Date, "data_hash": pl.String, "leaderboard": pl.String}
    stage = Stage(
        asset="release",
        method_version=PAGE_VERSION,
        inputs={"leaderboard": leaderboard},
        compute=lambda: pl.DataFrame(rows, schema=schema, orient="row"),
        describe=lambda _: {
            "release": done.name,
            "new": done.new,
            "page": dg.MetadataValue.path(str(done.folder.absolute() / "index.html")),
        },
        memoize=False,
    )
    yield from run_stage(context, store, stage)
