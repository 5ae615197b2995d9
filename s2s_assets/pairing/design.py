"""The balanced design for prompts that have no pair yet.

The members of Walecki's decomposition of K_n are dealt to the prompts. Prompts are ordered by stratum (category, level,
acoustic environment), at random within one, and cut into blocks of as many prompts as there are members. A block draws
a fresh random relabelling of the configs and a random order of the members; prompt k of a block takes `units` members,
the k·units-th and following, cyclically. So

* every prompt shows every config, in one connected graph of degree 2·units (ends of paths less);
* within a block each pair of configs occurs on exactly `units` prompts, and the members of a prompt share no pair;
* a last, incomplete block uses each member equally often up to one, so over all prompts rates differ by one at most.

A member is walked in one direction, the config ahead being `config_a`: on a cycle each config is once `config_a` and
once `config_b`; a path's direction is the one that reduces its ends' imbalance so far. Configs without a playable
response on a prompt are left out of the walk, which joins their neighbours: the graph stays connected.
"""

from collections.abc import Iterator

import numpy as np

from s2s_assets.pairing.arrays import Ints
from s2s_assets.pairing.hamiltonian import decompose, walk
from s2s_assets.pairing.state import PlanState

RELABELLINGS = 64
"""Relabellings tried for a block that cannot hold every pair equally often."""


def prompt_order(state: PlanState, chosen: Ints, rng: np.random.Generator) -> Ints:
    """The chosen prompts by stratum, at random within one."""
    return chosen[np.lexsort((rng.random(len(chosen)), state.stratum[chosen]))]


def design_prompts(state: PlanState, chosen: Ints, units: int, rng: np.random.Generator) -> None:
    """Pair all playable configs on each chosen prompt, in place; prompts with fewer than two are passed over."""
    playable = state.playable
    chosen = chosen[playable[chosen].sum(axis=1) >= 2]
    configs = np.flatnonzero(playable[chosen].any(axis=0))
    if len(chosen) == 0:
        return
    closed = len(configs) % 2 == 1
    for prompt, orders in _deal(state, prompt_order(state, chosen, rng), configs, units, rng):
        for order in orders:
            _walk_member(state, prompt, order[playable[prompt, order]], closed)


def _deal(
    state: PlanState, prompts: Ints, configs: Ints, units: int, rng: np.random.Generator
) -> Iterator[tuple[int, Ints]]:
    """Each prompt with its members as visiting orders of configs, shape (units, n)."""
    members = decompose(len(configs))
    units = min(units, len(members))
    for start in range(0, len(prompts), len(members)):
        block = prompts[start : start + len(members)]
        deal = rng.permutation(len(members))[np.arange(len(block) * units) % len(members)]
        whole = len(block) == len(members)
        labels = rng.permutation(configs) if whole else _relabel(state, configs, members[deal], rng)
        yield from zip(block.tolist(), labels[members[deal.reshape(len(block), units)]], strict=True)


def _relabel(state: PlanState, configs: Ints, orders: Ints, rng: np.random.Generator) -> Ints:
    """Of some random relabellings the one whose pairs have met least, given the prompts they share."""
    surplus = state.met_counts() - state.rate() * state.shared_counts()
    edges = np.concatenate([walk(order, closed=len(configs) % 2 == 1) for order in orders])
    tried = np.stack([rng.permutation(configs) for _ in range(RELABELLINGS)])
    cost = surplus[tried[:, edges[:, 0]], tried[:, edges[:, 1]]].sum(axis=1)
    best: Ints = tried[np.argmin(np.round(cost, 9))]
    return best


def _walk_member(state: PlanState, prompt: int, order: Ints, closed: bool) -> None:
    ring = closed and len(order) > 2
    if not ring and len(order) and state.tilt[order[0]] > state.tilt[order[-1]]:
        order = order[::-1]
    for a, b in walk(order, closed=ring).tolist():
        if not state.met[prompt, a, b]:
            state.add(prompt, a, b, "baseline")
