"""`pairing_plan`: which responses are compared, in append-only epochs."""

from collections.abc import Generator, Mapping
from typing import Any

import dagster as dg
import polars as pl

from s2s_assets.orchestration import (
    OWNERS,
    Stage,
    StageEvent,
    StudyResource,
    Withdrawals,
    markdown_table,
    run_stage,
    settle,
)
from s2s_assets.pairing import (
    METHOD_VERSION,
    empty_plan,
    next_epoch,
    plan_level,
    plan_quality,
    playable_cells,
    waiting_for,
)
from s2s_assets.pairing.checks import SPECS, plan_checks
from s2s_assets.storage import StudyStore, Table, from_parquet, to_parquet
from s2s_assets.study import Study, plural

EPOCHS = "epochs"


def stored_plan(store: StudyStore) -> pl.DataFrame:
    """The plan so far: every epoch's write-once object, in order."""
    epochs = [from_parquet(store.get_blob(str(record["blob"]))) for _, record in store.records(EPOCHS)]
    return pl.concat([empty_plan(), *epochs])


def append_epoch(store: StudyStore, plan: pl.DataFrame, number: int) -> pl.DataFrame:
    """Write the plan's last epoch once; where another run wrote it first, that one stands."""
    epoch = plan.filter(pl.col("epoch") == number)
    if not epoch.is_empty():
        blob = store.put_blob(to_parquet(epoch), "parquet")
        store.put_record(EPOCHS, f"{number:06d}", {"epoch": number, "blob": blob})
    return stored_plan(store)


def refuse_to_open_early(study: Study, finished: Mapping[str, Table], opened: bool) -> None:
    """Epoch 1 waits for every active config.

    Raises:
        dagster.Failure: no config at all, or some that the first epoch still waits for.
    """
    active = [str(c.key) for c in study.active_configs]
    waiting = waiting_for(active, set(finished), study.pairing.without)
    if not finished:
        raise dg.Failure(
            f"pairing_plan: no config has responses yet. {plural(len(active), 'config waits', 'configs wait')} for a "
            "backfill of responses; their partition keys appear one sensor interval after start (or by `make materialize`)",
            allow_retries=False,
        )
    if waiting and not opened:
        raise dg.Failure(
            f"pairing_plan: the first epoch waits for {len(waiting)} of {len(active)} configs: {', '.join(waiting)}. "
            "Backfill their responses, or name them in pairing.without of study.yaml; they join by a later epoch",
            metadata={"waiting_for": waiting},
            allow_retries=False,
        )


def _describe(plan: pl.DataFrame, cells: pl.DataFrame, withdrawn: frozenset[str]) -> dict[str, Any]:
    quality = plan_quality(plan, cells, withdrawn)
    epochs = plan.group_by("epoch").agg(
        pl.col("pair").n_unique().alias("pairs"), pl.len().alias("slots"), pl.col("prompt").n_unique().alias("prompts")
    )
    return {
        "pairs": quality.n_pairs,
        "slots": quality.n_slots,
        "configs": quality.n_configs,
        "prompts": quality.n_prompts,
        "pair_rate": f"{quality.overall.rate_min} to {quality.overall.rate_max} prompts a pair of configs",
        "epochs": markdown_table(epochs.sort("epoch").to_dicts()),
        "quality": dg.MetadataValue.json(quality.to_dict()),
    }


@dg.asset(
    group_name="pairing",
    kinds={"python", "parquet"},
    owners=OWNERS,
    check_specs=SPECS,
    code_version=METHOD_VERSION,
)
def pairing_plan(
    context: dg.AssetExecutionContext,
    study: StudyResource,
    withdrawals: Withdrawals,
    normalized_audio: Table,
    response_audio: dict[str, Table],
) -> Generator[StageEvent, None, None]:
    """Pairs of responses with their slots and order, in append-only epochs; no old row ever changes."""
    folder = study.folder()
    store, withdrawn = study.store(folder.study), withdrawals.responses()
    active = {str(c.key) for c in folder.study.active_configs}
    heard = {key: table for key, table in response_audio.items() if key in active}
    plan = stored_plan(store)
    refuse_to_open_early(folder.study, heard, opened=not plan.is_empty())
    cells = playable_cells([t.frame for t in heard.values()], normalized_audio.frame, withdrawn)
    pairing, number = folder.study.pairing, 1 + max(plan["epoch"], default=0)

    def compute() -> pl.DataFrame:
        epoch = next_epoch(plan, cells, withdrawn, study=folder.study.study, slots=pairing.slots, units=pairing.units)
        context.log.info(
            "epoch %d: %s", number, "no new cell and no new hole" if epoch is None else f"{epoch.height} slots"
        )
        return plan if epoch is None else pl.concat([plan, epoch])

    stage = Stage(
        asset="pairing_plan",
        method_version=METHOD_VERSION,
        inputs={"response_audio": heard, "normalized_audio": normalized_audio},
        settings=[pairing.slots, pairing.units, sorted(withdrawn), number],
        compute=compute,
        checks=plan_checks(cells, withdrawn),
        commit=lambda frame: append_epoch(store, frame, number),
        describe=lambda table: _describe(table.frame, cells, withdrawn),
        memoize=False,
    )
    table = yield from run_stage(context, store, stage)
    settle(store, "pairing_plan", None, plan_level(cells, withdrawn, pairing.without), table.version)
