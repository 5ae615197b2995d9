"""A plan for configs and prompts that exist only as numbers: what a design would look like before anything is sent."""

import io

import polars as pl

from s2s_assets.pairing.epochs import next_epoch
from s2s_assets.pairing.schema import empty_plan

CSV_COLUMNS = ("epoch", "prompt", "config_a", "config_b", "slot", "first")
CATEGORIES, LEVELS = 11, 5


def simulated_cells(n_configs: int, n_prompts: int) -> pl.DataFrame:
    """A full table of cells: prompts spread over 11 categories × 5 levels, each config a model of its own."""
    prompts = pl.DataFrame(
        {
            "prompt": [f"prompt-{p:0{len(str(n_prompts))}d}" for p in range(1, n_prompts + 1)],
            "category": [f"category-{p % CATEGORIES + 1:02d}" for p in range(n_prompts)],
            "level": [f"L{p // CATEGORIES % LEVELS + 1}" for p in range(n_prompts)],
            "acoustic": ["clean"] * n_prompts,
        }
    )
    configs = pl.DataFrame({"config": [f"config-{c:03d}" for c in range(1, n_configs + 1)]})
    response_id = pl.concat_str("prompt", "config", separator=" ")
    return prompts.join(configs, how="cross").with_columns(response_id=response_id)


def simulate_plan(
    n_configs: int, n_prompts: int, *, slots: int, seed: int, units: int, append: int
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Make a plan, then add configs one epoch each.

    Returns:
        The plan, its cells, and how many of the first epoch's rows are no longer as they were.

    Raises:
        InputError: a number out of range.
    """
    first = empty_plan()
    plan, cells = first, simulated_cells(n_configs, n_prompts)
    for added in range(append + 1):
        cells = simulated_cells(n_configs + added, n_prompts)
        rows = next_epoch(plan, cells, (), study=f"simulation {seed}", slots=slots, units=units)
        plan = plan if rows is None else pl.concat([plan, rows])
        first = plan if added == 0 else first
    changed = sum(new != old for new, old in zip(plan.head(first.height).rows(), first.rows(), strict=True))
    return plan, cells, changed


def plan_csv(plan: pl.DataFrame) -> bytes:
    """The plan as CSV, one row a slot, without ids."""
    buffer = io.BytesIO()
    plan.select(CSV_COLUMNS).write_csv(buffer)
    return buffer.getvalue()
