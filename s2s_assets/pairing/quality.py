"""Is a plan balanced and connected? The figures, and the two gates that block what follows.

A pair of configs is counted on the prompts where neither response is withdrawn; bridges count no pair twice. Its *rate*
is that count; its *share* is that count over the prompts on which both configs have a place, so that a config with missing
responses is held against what it could meet. With r the overall share, a pair's *excess* is |count - r · shared
prompts|.

* **Connectivity** holds where every prompt's graph reaches all configs that can be played on it, and all configs hang
  together over the prompts. Of what cannot be played any more (retired, refused by now) old pairs may stand by themselves
  on a prompt: nothing new can be asked about them, so they close no gate.
* **Balance** holds where the largest share is at most 1.25 times the smallest, or no excess is above 2 + 3·√w prompts
  (whole numbers cannot do better on few prompts; with w pairs voided by withdrawals for each two configs, chance alone
  moves counts by √w, and old pairs are not made again); every config is heard first in 0.48 to 0.52 of its slots, or within one
  slot of half; no pair is heard in one order more than once more often than in the other; and pairs within one model
  are within a tenth of their share by chance, or within half of n pairs.

`algebraic_connectivity` is the second-smallest eigenvalue of the Laplacian of the counts over that of the complete
graph with as many pairs: 1 is the best design, 0 is disconnected (Fiedler 1973).
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from s2s_assets.pairing.schema import CELL_COLUMNS, check_cells
from s2s_assets.pairing.state import PlanState, build_state, replaced
from s2s_assets.study import DIMENSIONS, Bools, Floats, Ints

MAX_SHARE_RATIO = 1.25
MAX_EXCESS = 2.0
FIRST_SHARE = (0.48, 0.52)
MAX_ORDER_TILT = 1
SAME_MODEL_TOLERANCE = 0.1
_SHOWN = 10


@dataclass(frozen=True)
class SliceQuality:
    """Rates of pairs within one slice of the prompts, or over all of them."""

    dimension: str
    value: str
    n_prompts: int
    n_pairs: int
    rate_min: int
    rate_max: int
    rate_max_over_min: float | None
    """None where some pair never meets."""
    share_max_over_min: float | None
    """The same of shares, over pairs that share a prompt."""
    excess: float
    """Prompts by which the pair furthest off differs from its share."""
    connected: bool
    """All configs hang together over the slice's prompts."""


@dataclass(frozen=True)
class PlanQuality:
    """What a plan is; the gates list what is wrong, and hold where they list nothing."""

    n_configs: int
    n_prompts: int
    n_pairs: int
    """Distinct (prompt, config_a, config_b) that are not void."""
    n_slots: int
    """Slots of pairs that are not void, bridges among them."""
    n_void: int
    """Pairs of responses that are withdrawn or were collected anew."""
    n_epochs: int
    overall: SliceQuality
    excess_allowed: float
    """Prompts by which a pair may differ from its share, whatever the ratio."""
    prompts_connected_share: float
    """Of the prompts with at least two configs that can be played."""
    first_share_min: float | None
    first_share_max: float | None
    order_tilt_max: int
    """Slots of one pair and epoch in one order less those in the other, at most."""
    same_model_share: float
    same_model_expected: float
    algebraic_connectivity: float
    slices: tuple[SliceQuality, ...]
    connectivity_faults: tuple[str, ...]
    balance_faults: tuple[str, ...]

    @property
    def connected(self) -> bool:
        """The gate of connectivity."""
        return not self.connectivity_faults

    @property
    def balanced(self) -> bool:
        """The gate of balance."""
        return not self.balance_faults

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the gates among them."""
        return asdict(self) | {"connected": self.connected, "balanced": self.balanced}


def plan_quality(plan: pl.DataFrame, cells: pl.DataFrame | None = None, withdrawn: Collection[str] = ()) -> PlanQuality:
    """Figures and gates of a plan.

    Args:
        plan: all epochs, `PLAN_SCHEMA`.
        cells: what can be played now (`CELL_COLUMNS`); without it slices are empty, a cell that the plan left out is
            not missed, and every config with a pair counts as one that can be played.
        withdrawn: ids of withdrawn responses.

    Raises:
        InputError: `cells` is not a table of cells.
    """
    known = pl.DataFrame(schema=dict.fromkeys(CELL_COLUMNS, pl.String)) if cells is None else check_cells(cells)
    state = build_state(plan, known, withdrawn)
    void = [*withdrawn, *replaced(plan, known)]
    live = plan.filter(~pl.col("response_a").is_in(void) & ~pl.col("response_b").is_in(void))
    nodes = state.present | state.playable
    reached = nodes if cells is None else state.playable
    whole, compared = _whole_prompts(state, reached), reached.sum(axis=1) >= 2
    everything = _slice(state, nodes, np.ones(len(state.prompts), bool), "all", "all")
    heard, tilt = _heard(live), _order_tilt(live)
    first_shares = [first / total for first, total in heard.values()]
    n_void = plan["pair"].n_unique() - live["pair"].n_unique()
    n = len(state.configs)
    allowed = MAX_EXCESS + 3 * (n_void / max(n * (n - 1) / 2, 1)) ** 0.5
    same, expected = _same_model(state, nodes)
    apart = [state.prompts[p] for p in np.flatnonzero(compared & ~whole)]
    return PlanQuality(
        n_configs=n,
        n_prompts=len(state.prompts),
        n_pairs=everything.n_pairs,
        n_slots=live.height,
        n_void=n_void,
        n_epochs=plan["epoch"].n_unique(),
        overall=everything,
        excess_allowed=allowed,
        prompts_connected_share=float(whole[compared].mean()) if compared.any() else 0.0,
        first_share_min=min(first_shares, default=None),
        first_share_max=max(first_shares, default=None),
        order_tilt_max=tilt,
        same_model_share=same,
        same_model_expected=expected,
        algebraic_connectivity=_algebraic_connectivity(state.met_counts()),
        slices=_slices(state, nodes, known),
        connectivity_faults=_connectivity_faults(everything, apart),
        balance_faults=(
            *_rate_faults(everything, allowed),
            *_order_faults(heard, tilt),
            *_model_faults(same, expected, everything.n_pairs, n),
        ),
    )


def _whole_prompts(state: PlanState, nodes: Bools) -> Bools:
    """(P,) the prompt's pairs reach all of the nodes; one sparse graph with a block for each prompt."""
    n_prompts, n = nodes.shape
    p, a, b = np.nonzero(state.met)
    size = n_prompts * n
    graph = coo_array((np.ones(len(p), bool), (p * n + a, p * n + b)), shape=(size, size))
    parts = connected_components(graph, directed=False)[1].reshape(n_prompts, n)
    highest = np.where(nodes, parts, -1).max(axis=1, initial=-1)
    lowest = np.where(nodes, parts, size).min(axis=1, initial=size)
    whole: Bools = highest == lowest
    return whole


def _slice(state: PlanState, nodes: Bools, prompts: Bools, name: str, value: str) -> SliceQuality:
    there = np.flatnonzero(nodes[prompts].any(axis=0))
    counts = state.met[prompts].sum(axis=0, dtype=np.int64)[np.ix_(there, there)]
    present = nodes[prompts][:, there].astype(np.float64)
    upper = np.triu_indices(len(there), 1)
    met, shared = counts[upper], (present.T @ present)[upper]
    rate = met.sum() / shared.sum() if shared.sum() else 0.0
    parts = connected_components(coo_array(counts > 0), directed=False)[0] if len(there) else 0
    return SliceQuality(
        dimension=name,
        value=value,
        n_prompts=int(prompts.sum()),
        n_pairs=int(met.sum()),
        rate_min=int(met.min(initial=met.max(initial=0))),
        rate_max=int(met.max(initial=0)),
        rate_max_over_min=_ratio(met),
        share_max_over_min=_ratio(met[shared > 0] / shared[shared > 0]),
        excess=float(np.abs(met - rate * shared).max(initial=0.0)),
        connected=parts == 1,
    )


def _ratio(values: Ints | Floats) -> float | None:
    return float(values.max() / values.min()) if len(values) and values.min() > 0 else None


def _slices(state: PlanState, nodes: Bools, cells: pl.DataFrame) -> tuple[SliceQuality, ...]:
    prompts = cells.unique("prompt")
    found = []
    for dimension in DIMENSIONS:
        for (value,), group in sorted(prompts.group_by(dimension), key=lambda g: str(g[0])):
            chosen = np.isin(np.array(state.prompts), group["prompt"].to_numpy())
            found.append(_slice(state, nodes, chosen, dimension, str(value)))
    return tuple(found)


def _heard(live: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Config → slots in which it is heard first, and all its slots."""
    ends = pl.concat(
        live.select(config=f"config_{end}", first=(pl.col("first") == end).cast(pl.Int64)) for end in ("a", "b")
    )
    grouped = ends.group_by("config").agg(pl.col("first").sum(), total=pl.len()).sort("config")
    return {config: (first, total) for config, first, total in grouped.iter_rows()}


def _order_tilt(live: pl.DataFrame) -> int:
    lean = pl.when(pl.col("first") == "a").then(1).otherwise(-1).sum().abs().alias("lean")
    return int(max(live.group_by("pair").agg(lean)["lean"], default=0))


def _same_model(state: PlanState, nodes: Bools) -> tuple[float, float]:
    """Share of pairs whose configs are of one model, and the share among all pairs that could be made."""
    models = np.array([config.split("|")[0] for config in state.configs])
    i, j = np.triu_indices(len(models), 1)
    same = models[i] == models[j]
    met, present = state.met_counts()[i, j], nodes.astype(np.float64)
    shared = (present.T @ present)[i, j]
    return (
        float(met[same].sum() / met.sum()) if met.sum() else 0.0,
        float(shared[same].sum() / shared.sum()) if shared.sum() else 0.0,
    )


def _algebraic_connectivity(counts: Ints) -> float:
    n, pairs = len(counts), counts.sum() / 2
    if n < 2 or pairs == 0:
        return 0.0
    eigenvalues = np.linalg.eigvalsh(np.diag(counts.sum(axis=1)) - counts)
    return float(max(eigenvalues[1], 0.0) * (n - 1) / (2 * pairs))


def _connectivity_faults(everything: SliceQuality, apart: list[str]) -> tuple[str, ...]:
    faults = []
    if apart:
        more = f" and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
        faults.append(f"not all configs are connected on prompts {', '.join(apart[:_SHOWN])}{more}")
    if not everything.connected:
        faults.append("the configs do not hang together over the prompts")
    return tuple(faults)


def _rate_faults(everything: SliceQuality, allowed: float) -> list[str]:
    ratio = everything.share_max_over_min
    if everything.excess <= allowed or (ratio is not None and ratio <= MAX_SHARE_RATIO):
        return []
    said = "some pair never meets" if ratio is None else f"pair shares differ by a factor of {ratio:.2f}"
    off = f"the furthest is {everything.excess:.1f} prompts off its share (at most {allowed:.1f})"
    return [f"{said} (at most {MAX_SHARE_RATIO}); {off}"]


def _order_faults(heard: dict[str, tuple[int, int]], tilt: int) -> list[str]:
    low, high = FIRST_SHARE
    uneven = [
        f"{config} is heard first in {first / total:.3f} of its slots ({low} to {high})"
        for config, (first, total) in heard.items()
        if not low <= first / total <= high and abs(2 * first - total) > 2
    ]
    if tilt > MAX_ORDER_TILT:
        uneven.append(f"a pair is heard in one order {tilt} times more than in the other (at most {MAX_ORDER_TILT})")
    return uneven


def _model_faults(same: float, expected: float, n_pairs: int, n_configs: int) -> list[str]:
    off = abs(same - expected)
    if off <= SAME_MODEL_TOLERANCE * expected or off * n_pairs <= n_configs / 2:
        return []
    return [f"{same:.3f} of the pairs are within one model, by chance {expected:.3f}"]
