"""One way to materialize a table: look the memo up, else compute; check; store; report.

A *memo key* is the hash of the asset, its METHOD_VERSION, the versions of its inputs and the settings that matter. Where a
table is stored under that key it is returned as it is and the event says so. A blocking check is evaluated before anything
is written: when it fails the step yields the result and raises, and the stored table stays what it was.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration.metadata import column_schema
from s2s_assets.storage import Rows, StudyStore, Table
from s2s_assets.study import digest

Inputs = Mapping[str, Table | Mapping[str, Table]]
StageEvent = dg.MaterializeResult[Table] | dg.AssetCheckResult
_REUSED = "reused: the stored table of the same inputs, method and settings"
_UNCHANGED = "unchanged: computed again, and the same as the table in force"


@dataclass(frozen=True)
class Check:
    """One check of a table: its name, whether it blocks, and how it is evaluated."""

    name: str
    blocking: bool
    evaluate: Callable[[pl.DataFrame], tuple[bool, str, dict[str, Any]]]
    """Frame → passed, what was found in words, figures for the UI."""

    def result(self, frame: pl.DataFrame) -> dg.AssetCheckResult:
        """Evaluate on a table; a failed check that does not block is a warning."""
        passed, description, figures = self.evaluate(frame)
        severity = dg.AssetCheckSeverity.ERROR if self.blocking else dg.AssetCheckSeverity.WARN
        return dg.AssetCheckResult(
            passed=passed, check_name=self.name, severity=severity, description=description, metadata=figures
        )

    def skipped(self, why: str) -> dg.AssetCheckResult:
        """The warning in place of a result where there is no table to check; Dagster asks for one all the same."""
        return dg.AssetCheckResult(
            passed=False, check_name=self.name, severity=dg.AssetCheckSeverity.WARN, description=f"skipped: {why}"
        )


@dataclass(frozen=True)
class Stage:
    """What a step computes and from what."""

    asset: str
    method_version: str
    inputs: Inputs
    compute: Callable[[], Rows]
    """The table, or the query that makes it where it would fill the memory."""
    settings: Any = None
    """Canonical-JSON value of every setting that the result depends on."""
    checks: Sequence[Check] = ()
    describe: Callable[[Table], Mapping[str, Any]] = field(default=lambda _: {})
    """Stored table → metadata for the UI."""
    partition: str | None = None
    commit: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    """Called once the blocking checks have passed, before the table is written; returns what is written."""
    memoize: bool = True
    """False where the result also depends on the outside, such as the records of exchanges."""

    @property
    def key(self) -> str:
        """The memo key."""
        versions = {
            name: value.version if isinstance(value, Table) else {k: t.version for k, t in value.items()}
            for name, value in self.inputs.items()
        }
        return digest([self.asset, self.method_version, versions, self.settings])


def stored(store: StudyStore, stage: Stage) -> Table | None:
    """The table that is stored under the stage's memo key."""
    version = store.memo(stage.asset, stage.partition, stage.key) if stage.memoize else None
    return None if version is None else store.read_table(stage.asset, stage.partition, version)


def run_stage(context: dg.AssetExecutionContext, store: StudyStore, stage: Stage) -> Generator[StageEvent, None, Table]:
    """Materialize a stage; yields its check results and its table, and returns the table.

    Raises:
        dagster.Failure: a blocking check failed; no table was stored.
    """
    table = stored(store, stage)
    rows = stage.compute() if table is None else table.frame
    if stage.checks or stage.commit is not None:
        rows = _in_memory(rows)
    results = [check.result(_in_memory(rows)) for check in stage.checks]
    failed = [r for c, r in zip(stage.checks, results, strict=True) if c.blocking and not r.passed]
    yield from results
    if failed:
        reasons = "; ".join(f"{r.check_name}: {r.description}" for r in failed)
        raise dg.Failure(f"{stage.asset}: no new table was stored. {reasons}", allow_retries=False)
    note = _REUSED
    if table is None:
        head = store.head(stage.asset, stage.partition)
        kept = rows if stage.commit is None else stage.commit(_in_memory(rows))
        table = store.write_table(stage.asset, stage.partition, kept)
        note = _UNCHANGED if table.version == head else "computed"
    if stage.memoize:
        store.remember(stage.asset, stage.partition, stage.key, table.version)
    context.log.info("%s: %s (%d rows, version %s)", stage.asset, note, table.height, table.version[:12])
    yield dg.MaterializeResult(
        value=table,
        data_version=dg.DataVersion(table.version),
        metadata={
            "result": note,
            **stage.describe(table),
            "method_version": stage.method_version,
            "memo_key": stage.key,
            "dagster/row_count": table.height,
            "dagster/column_schema": column_schema(table.schema),
        },
    )
    return table


def _in_memory(rows: Rows) -> pl.DataFrame:
    """The table itself, which checks and `commit` look at."""
    return rows.collect() if isinstance(rows, pl.LazyFrame) else rows


def leave_out(context: dg.AssetExecutionContext, why: str) -> Generator[dg.MaterializeResult[Table], None, None]:
    """End a step that makes no table: green, and the stored table stays what it was.

    A backfill waits for an event of every asset that it asked for, and counts one without as failed together with all
    that stands downstream. So inside a backfill the step reports an event, which says that nothing was made.
    """
    context.log.warning("%s: nothing made: %s", context.asset_key.path[-1], why)
    if "dagster/backfill" in context.run.tags:
        yield dg.MaterializeResult(metadata={"result": f"nothing made: {why}"})
