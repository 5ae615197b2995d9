"""`rating_tasks`, `ratings_log`, `ratings`, `rater_quality`: what raters are given, and what they answered."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import (
    OWNERS,
    LastFit,
    Reviews,
    Stage,
    StageEvent,
    StudyResource,
    Withdrawals,
    markdown_table,
    run_stage,
    settle,
)
from s2s_assets.pairing import playable_cells, tasks_level
from s2s_assets.ratings import (
    DRAWS,
    QUALITY_VERSION,
    RatingsStore,
    RecordedTable,
    Round,
    Settled,
    agreement_report,
    alike_report,
    all_pairs,
    controls_table,
    heard_table,
    one_opinion,
    open_round,
    pass_over,
    rater_quality_table,
    raters_report,
    rating_tasks_table,
    round_due,
    round_rows,
    rounds,
    settled_version,
    snapshot,
    task_media,
    upsert_tasks,
    verdicts_to_take,
    withdrawn,
)
from s2s_assets.ratings.checks import QUALITY_SPECS, quality_checks
from s2s_assets.storage import StudyStore, Table
from s2s_assets.study import RecordingVerdict, Study, plural

TASKS_VERSION = "tasks-1"
SNAPSHOT_VERSION = "ratings-2"
_SHOWN = 12
"""Rows of a table in the metadata."""


class DatabaseWithdrawals(Withdrawals):
    """Withdrawn responses, as the ratings database has them."""

    study: dg.ResourceDependency[StudyResource]

    def responses(self) -> frozenset[str]:
        """Ids of the responses that are withdrawn now."""
        return withdrawn(RatingsStore(self.study.engine(), self.study.folder().study.study))


class DatabaseReviews(Reviews):
    """Reviewers' verdicts, as the ratings database has them."""

    study: dg.ResourceDependency[StudyResource]

    def verdicts(self) -> tuple[RecordingVerdict, ...]:
        """The newest verdict about each file of each recording, oldest first, but none that answers overtook."""
        study = self.study.folder().study
        recorded = RecordedTable(self.study.store(study)).frame()
        return verdicts_to_take(RatingsStore(self.study.engine(), study.study), recorded)


recording_verdicts = dg.AssetSpec(
    "recording_verdicts",
    group_name="prompts",
    kinds={"sql"},
    owners=OWNERS,
    description=(
        "What reviewers say of the recordings, in the ratings database. People listen outside Dagster; the sensor "
        "verdicts_to_prompts reports each version once they pause."
    ),
)
ratings_log = dg.AssetSpec(
    "ratings_log",
    deps=["rating_tasks"],
    group_name="ratings",
    kinds={"sql"},
    owners=OWNERS,
    description=(
        "The settled version of the answers and exclusions in the ratings database. People rate outside Dagster; the "
        "refit sensor reports each settled version as this asset's data version."
    ),
)


def ask_further(
    study: Study,
    store: StudyStore,
    database: RatingsStore,
    last_fit: LastFit,
    plan: pl.DataFrame,
    cells: Callable[[frozenset[str]], pl.DataFrame],
) -> Round | str:
    """The round of adaptive pairs that is due, or in words why there is none; `cells` are those without some responses."""
    draws = store.head(DRAWS, None)
    due, rules = round_due(store, database, study), study.pairing.adaptive
    if isinstance(due, str) or rules is None:
        return str(due)
    known, gone = last_fit.uncertainty(rules.by), withdrawn(database)
    if isinstance(known, str):
        return pass_over(store, str(draws), known)
    return open_round(store, study, plan, cells(gone), gone, known, due)


def _describe_tasks(counts: Mapping[str, int], asked: Round | str, made: Sequence[Round]) -> dict[str, Any]:
    """Counts, why or why not a round was opened, and the rounds so far."""
    opened = asked if isinstance(asked, str) else asked.note or f"round {asked.round}: {plural(asked.pairs, 'pair')}"
    columns = ["round", "pairs", "fit", "widest_se", "widest_se_after", "note"]
    table = {"adaptive/rounds": markdown_table([asdict(one) for one in made], columns)} if made else {}
    return {f"tasks/{name}": value for name, value in counts.items()} | {"adaptive/round": opened} | table


@dg.asset(group_name="ratings", kinds={"python", "sql"}, owners=OWNERS, code_version=TASKS_VERSION)
def rating_tasks(
    context: dg.AssetExecutionContext,
    study: StudyResource,
    last_fit: LastFit,
    pairing_plan: Table,
    response_audio: dict[str, Table],
    normalized_audio: Table,
) -> Generator[StageEvent, None, None]:
    """The plan's pairs, slots and media in the ratings database, and the round of adaptive pairs that is due.

    Running it again changes nothing, until votes and a new fit make another round due.
    """
    folder = study.folder()
    store, database = study.store(folder.study), RatingsStore(study.engine(), folder.study.study)
    active = {str(c.key) for c in folder.study.active_configs}
    heard = {key: table.frame for key, table in response_audio.items()}
    counts: dict[str, int] = {}
    asked: list[Round | str] = []

    def cells(gone: frozenset[str]) -> pl.DataFrame:
        return playable_cells([frame for key, frame in heard.items() if key in active], normalized_audio.frame, gone)

    def compute() -> pl.DataFrame:
        plan, media = pairing_plan.frame, task_media(normalized_audio.frame, pl.concat(heard.values()))
        counts.update(upsert_tasks(database, all_pairs(plan, round_rows(store)), media))
        asked.append(ask_further(folder.study, store, database, last_fit, plan, cells))
        if isinstance(asked[0], Round):
            counts.update(upsert_tasks(database, all_pairs(plan, round_rows(store)), media))
        return rating_tasks_table(database)

    stage = Stage(
        asset="rating_tasks",
        method_version=TASKS_VERSION,
        inputs={"pairing_plan": pairing_plan, "response_audio": response_audio, "normalized_audio": normalized_audio},
        compute=compute,
        describe=lambda _: _describe_tasks(counts, asked[0], rounds(store)),
        memoize=False,
    )
    table = yield from run_stage(context, store, stage)
    heard_versions = {key: heard.version for key, heard in response_audio.items()}
    settle(store, "rating_tasks", None, tasks_level(pairing_plan.version, heard_versions), table.version)


def _describe_ratings(table: Table, version: str) -> dict[str, Any]:
    counted = table.scan().filter(pl.col("excluded_by").is_null())
    measures = (
        pl.len().alias("answers"),
        pl.col("rater").n_unique().alias("raters"),
        pl.col("score").mean().round(3).alias("mean"),
    )
    whole, by_rubric = counted.select(measures), counted.group_by("rubric").agg(measures).sort("rubric")
    answers, raters, _ = whole.collect().row(0)
    return {
        "settled_version": version,
        "answers": answers,
        "excluded": table.height - answers,
        "raters": raters,
        "simulated": bool(table.scan().select(pl.col("simulated").any()).collect().item()),
        "by_rubric": markdown_table(by_rubric.collect().to_dicts(), ["rubric", "answers", "raters", "mean"]),
    }


@dg.asset(
    deps=[ratings_log], group_name="ratings", kinds={"python", "parquet"}, owners=OWNERS, code_version=SNAPSHOT_VERSION
)
def ratings(
    context: dg.AssetExecutionContext, study: StudyResource, pairing_plan: Table
) -> Generator[StageEvent, None, None]:
    """An immutable snapshot of the settled answers; exclusions are columns, never deletions."""
    folder = study.folder()
    store, database = study.store(folder.study), RatingsStore(study.engine(), folder.study.study)
    now, settle_s = datetime.now(UTC), folder.study.refit.settle_s
    found = settled_version(database, now, settle_s, min_new=1, max_age_s=0.0)
    at = found or Settled("", now - timedelta(seconds=settle_s), 0)
    taken = snapshot(database, at, folder.scripts, [str(c.key) for c in folder.study.configs])
    if not taken.answers:
        context.log.warning("ratings: no settled answers yet; the fits will fail until people have rated")
    stage = Stage(
        asset="ratings",
        method_version=SNAPSHOT_VERSION,
        inputs={"pairing_plan": pairing_plan},
        compute=lambda: taken.rows,
        describe=lambda table: _describe_ratings(table, taken.version),
        memoize=False,
    )
    table = yield from run_stage(context, store, stage)
    settle(store, "ratings", None, taken.version, table.version)


def _describe_quality(frame: pl.DataFrame) -> Mapping[str, Any]:
    flagged = frame.filter(pl.col("flag").is_not_null())
    flags = flagged.group_by("flag", "effect", "scope").agg(pl.col("name").n_unique()).sort("flag", "effect")
    dropped = frame.filter(pl.col("effect") == "drop")
    raters = raters_report(frame)
    by_side = raters.sort(pl.col("order_effect").abs(), descending=True, nulls_last=True)
    return {
        "agreement": markdown_table(agreement_report(frame).to_dicts()),
        "questions_answered_alike": markdown_table(alike_report(frame).head(_SHOWN).to_dicts()),
        "first_factor_share": one_opinion(frame),
        "busiest_raters": markdown_table(raters.head(_SHOWN).to_dicts()),
        "raters_by_order_effect": markdown_table(by_side.head(_SHOWN).to_dicts()),
        "flags": markdown_table(flags.to_dicts()),
        "dropped_raters": len(dropped.filter(pl.col("scope") == "rater")["name"].unique()),
        "dropped_answers": len(dropped.filter(pl.col("scope") == "rating")["name"].unique()),
    }


@dg.asset(
    group_name="ratings",
    kinds={"python", "parquet"},
    owners=OWNERS,
    code_version=QUALITY_VERSION,
    check_specs=QUALITY_SPECS,
)
def rater_quality(
    context: dg.AssetExecutionContext, study: StudyResource, ratings: Table
) -> Generator[StageEvent, None, None]:
    """Agreement, order effect and cleaning flags, per rubric and rater; flags are published, rows are never deleted."""
    rules, database = study.folder().study.cleaning, RatingsStore(study.engine(), study.folder().study.study)
    controls, heard = controls_table(database), heard_table(database)
    stage = Stage(
        asset="rater_quality",
        method_version=QUALITY_VERSION,
        inputs={"ratings": ratings},
        settings=[rules.model_dump(mode="json"), controls.rows(), heard.rows()],
        compute=lambda: rater_quality_table(ratings.scan(), rules, controls, heard),
        checks=quality_checks(),
        describe=lambda table: _describe_quality(table.frame),
    )
    yield from run_stage(context, study.store(study.folder().study), stage)
