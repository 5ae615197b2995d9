"""A plan as arrays: who has met whom on which prompt, what is playable, and what withdrawals have left owing."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from s2s_assets.study import DIMENSIONS, Bools, Ints


class Edge(NamedTuple):
    """A new pair: indices of prompt, config_a and config_b, and why it is made."""

    prompt: int
    a: int
    b: int
    source: str


@dataclass
class PlanState:
    """Working state while one epoch is made; P prompts, n configs, both sorted by name.

    `add` keeps every array in step with the new edges.
    """

    prompts: tuple[str, ...]
    configs: tuple[str, ...]
    stratum: Ints
    """(P,) number of the prompt's category, level and acoustic environment; -1 for prompts no longer playable."""
    response: NDArray[Any]
    """(P, n) the playable response's id, None where there is none."""
    playable: Bools
    """(P, n) there is a response that can be paired."""
    planned: Bools
    """(P, n) the playable response has a place in the plan."""
    met: Bools
    """(P, n, n) the two configs are a pair on the prompt and neither response is withdrawn."""
    owed: Ints
    """(P, n) partners lost to withdrawals, less pairs made to heal that."""
    tilt: Ints
    """(n,) how often a config is `config_a` less how often it is `config_b`."""
    edges: list[Edge] = field(default_factory=list)

    @property
    def present(self) -> Bools:
        """(P, n) the config has a place on the prompt, whether or not it can still be paired."""
        return np.logical_or(self.planned, self.met.any(axis=2))

    def met_counts(self) -> Ints:
        """(n, n) prompts on which two configs are a pair."""
        counts: Ints = self.met.sum(axis=0, dtype=np.int64)
        return counts

    def shared_counts(self) -> Ints:
        """(n, n) prompts on which two configs both have a place."""
        present = self.present.astype(np.float64)
        return np.rint(present.T @ present).astype(np.int64)

    def rate(self) -> float:
        """Share of shared prompts on which two configs are a pair, over all pairs; 0 before the first pair."""
        upper = np.triu_indices(len(self.configs), 1)
        shared = self.shared_counts()[upper].sum()
        return float(self.met_counts()[upper].sum() / shared) if shared else 0.0

    def add(self, prompt: int, a: int, b: int, source: str) -> None:
        """Make a pair."""
        self.edges.append(Edge(prompt, a, b, source))
        self.met[prompt, a, b] = self.met[prompt, b, a] = True
        self.planned[prompt, [a, b]] = True
        self.tilt[a] += 1
        self.tilt[b] -= 1
        if source == "healed":
            self.owed[prompt, [a, b]] -= 1


def build_state(plan: pl.DataFrame, cells: pl.DataFrame, withdrawn: Collection[str]) -> PlanState:
    """Arrays of a plan and of the cells that can be played now; withdrawn responses are out of both."""
    gone = list(withdrawn)
    cells = cells.filter(~pl.col("response_id").is_in(gone))
    pairs = plan.filter(pl.col("source") != "bridge").unique("pair", maintain_order=True)
    prompts = tuple(sorted(set(cells["prompt"]) | set(pairs["prompt"])))
    configs = tuple(sorted(set(cells["config"]) | set(pairs["config_a"]) | set(pairs["config_b"])))
    shape = (len(prompts), len(configs))
    state = PlanState(
        prompts,
        configs,
        _strata(cells, prompts),
        np.full(shape, None, object),
        np.zeros(shape, bool),
        np.zeros(shape, bool),
        np.zeros((*shape, len(configs)), bool),
        np.zeros(shape, np.int64),
        np.zeros(len(configs), np.int64),
    )
    _place_cells(state, cells, pairs)
    _place_pairs(state, pairs, gone, list(replaced(pairs, cells)))
    return state


def index(names: tuple[str, ...], values: pl.Series) -> Ints:
    """Position of each value in sorted names that hold them all."""
    where = {name: k for k, name in enumerate(names)}
    return np.fromiter((where[v] for v in values), np.int64, len(values))


def _strata(cells: pl.DataFrame, prompts: tuple[str, ...]) -> Ints:
    stratum = np.full(len(prompts), -1, np.int64)
    if cells.height:
        one = cells.unique("prompt").with_columns(rank=pl.struct(DIMENSIONS).rank("dense"))
        stratum[index(prompts, one["prompt"])] = one["rank"].to_numpy()
    return stratum


def _place_cells(state: PlanState, cells: pl.DataFrame, pairs: pl.DataFrame) -> None:
    known = set(pairs["response_a"]) | set(pairs["response_b"])
    p, c = index(state.prompts, cells["prompt"]), index(state.configs, cells["config"])
    state.response[p, c] = cells["response_id"].to_list()
    state.playable[p, c] = True
    state.planned[p, c] = [r in known for r in cells["response_id"]]


def replaced(plan: pl.DataFrame, cells: pl.DataFrame) -> frozenset[str]:
    """Responses of a plan that were collected anew: their config has another one on the same prompt.

    In force is the one that can be played, else the one that was planned last.
    """
    of_cell = ["prompt", "config"]
    planned = pl.concat(
        plan.select("prompt", "epoch", config=f"config_{end}", response_id=f"response_{end}") for end in ("a", "b")
    )
    last = planned.sort("epoch").group_by(of_cell).agg(last=pl.col("response_id").last())
    now = cells.select(*of_cell, now="response_id")
    rows = planned.join(last, on=of_cell).join(now, on=of_cell, how="left")
    old = rows.filter(pl.col("response_id") != pl.coalesce("now", "last"))
    return frozenset(old["response_id"])


def _place_pairs(state: PlanState, pairs: pl.DataFrame, gone: list[str], old: list[str]) -> None:
    """Pairs whose responses are both in force; a partner of one that is gone is owed a pair.

    The pairs of a replaced response are none any more, but nothing is owed for them: its successor is a newcomer, and
    as one falls short of the same opponents. What a replaced response was owed is not its successor's, either.
    """
    p = index(state.prompts, pairs["prompt"])
    a, b = index(state.configs, pairs["config_a"]), index(state.configs, pairs["config_b"])
    lost_a, lost_b = pairs["response_a"].is_in(gone).to_numpy(), pairs["response_b"].is_in(gone).to_numpy()
    old_a, old_b = pairs["response_a"].is_in(old).to_numpy(), pairs["response_b"].is_in(old).to_numpy()
    live = ~(lost_a | lost_b | old_a | old_b)
    state.met[p[live], a[live], b[live]] = state.met[p[live], b[live], a[live]] = True
    np.add.at(state.tilt, a[live], 1)
    np.add.at(state.tilt, b[live], -1)
    healed = (pairs["source"] == "healed").to_numpy().astype(np.int64)
    for end, own, partner in ((a, lost_a | old_a, lost_b), (b, lost_b | old_b, lost_a)):
        np.add.at(state.owed, (p[~own], end[~own]), (partner.astype(np.int64) - healed)[~own])
