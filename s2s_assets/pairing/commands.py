"""`s2s pairs`: look at a design before a study is run."""

from pathlib import Path
from typing import Any

import click

from s2s_assets.pairing.quality import PlanQuality, plan_quality
from s2s_assets.pairing.simulate import plan_csv, simulate_plan
from s2s_assets.study import percent, plural
from s2s_assets.study.console import console, emit, guard, json_option, people


@click.group()
def pairs() -> None:
    """Simulate a pairing plan."""


@pairs.command()
@click.option("--configs", type=click.IntRange(2, 500), default=19, show_default=True, help="Model configurations.")
@click.option("--prompts", type=click.IntRange(1, 20_000), default=819, show_default=True, help="Prompts.")
@click.option("--slots", type=click.IntRange(1, 10), default=2, show_default=True, help="Ratings asked of each pair.")
@click.option("--units", type=click.IntRange(1, 9), default=1, show_default=True, help="Cycles or paths a prompt gets.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--append", type=click.IntRange(0, 50), default=0, help="Configs added later, one epoch each.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan as CSV, one row a slot.")
@json_option
@guard
def simulate(
    configs: int, prompts: int, slots: int, units: int, seed: int, append: int, out: Path | None, as_json: bool
) -> None:
    """Make a plan for so many configs and prompts, and say how balanced it is."""
    plan, cells, changed = simulate_plan(configs, prompts, slots=slots, seed=seed, units=units, append=append)
    if out is not None:
        _write(out, plan_csv(plan))
    quality = plan_quality(plan, cells)
    if as_json:
        emit(_summary(quality, changed))
    else:
        _show(quality, changed)


def _write(out: Path, data: bytes) -> None:
    try:
        out.write_bytes(data)
    except OSError as error:
        raise click.BadParameter(f"cannot write {out}: {error.strerror}", param_hint="--out") from error


def _summary(quality: PlanQuality, changed: int) -> dict[str, Any]:
    return {
        "n_pairs": quality.n_pairs,
        "n_slots": quality.n_slots,
        "pair_rate_max_over_min": quality.overall.rate_max_over_min,
        "prompts_connected_share": quality.prompts_connected_share,
        "first_share_min": quality.first_share_min,
        "first_share_max": quality.first_share_max,
        "old_pairs_changed": changed,
    }


def _show(quality: PlanQuality, changed: int) -> None:
    rates = quality.overall
    people.print(
        f"{plural(quality.n_pairs, 'pair')} in {plural(quality.n_slots, 'slot')}, {plural(quality.n_epochs, 'epoch')}; "
        f"two configs meet on {rates.rate_min} to {rates.rate_max} prompts"
    )
    people.print(
        f"connected prompts {percent(quality.prompts_connected_share, 1)}; heard first "
        f"{quality.first_share_min:.3f} to {quality.first_share_max:.3f}; old rows changed: {changed}"
    )
    for fault in (*quality.connectivity_faults, *quality.balance_faults):
        console.print(f"[yellow]fault[/yellow] {fault}")
