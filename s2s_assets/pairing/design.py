"""The balanced design for prompts that have no pair yet.

**Whole prompts**, those on which every config has a playable response, get the members of Walecki's decomposition of
K_n. They are ordered by stratum (category, level, acoustic environment), at random within one, and cut into blocks of
as many prompts as there are members. A block draws a fresh random relabelling of the configs and a random order of the
members; prompt k of a block takes `units` members, the k·units-th and following, cyclically. So

* every prompt shows every config, in one connected graph of degree 2·units (ends of paths less);
* within a block each pair of configs occurs on exactly `units` prompts, and the members of a prompt share no pair;
* a last, incomplete block uses each member equally often up to one, so over all prompts rates differ by one at most.

**Single prompts**, those with a response missing and one left alone at the end of the blocks, follow: each gets one
cycle (n odd) or path (n even) over what it has, through the pairs that have met least for the prompts they share; where
`units` is above 1, as many members of its own decomposition, under the best of some random relabellings.

A member is walked in one direction, the config ahead being `config_a`: on a cycle each config is once `config_a` and
once `config_b`; a path's direction is the one that reduces its ends' imbalance so far.
"""

from collections.abc import Iterator

import numpy as np

from s2s_assets.pairing.hamiltonian import decompose, walk
from s2s_assets.pairing.state import PlanState
from s2s_assets.pairing.tours import least_met_tour
from s2s_assets.study import Ints

RELABELLINGS = 64
"""Relabellings tried for a block that cannot hold every pair equally often."""
_NEVER_TWICE = 1e6
"""Weight of a pair that the prompt has already."""


def prompt_order(state: PlanState, chosen: Ints, rng: np.random.Generator) -> Ints:
    """The chosen prompts by stratum, at random within one."""
    return chosen[np.lexsort((rng.random(len(chosen)), state.stratum[chosen]))]


def design_prompts(state: PlanState, chosen: Ints, units: int, rng: np.random.Generator) -> None:
    """Pair all playable configs on each chosen prompt, in place; prompts with fewer than two are passed over."""
    chosen = chosen[state.playable[chosen].sum(axis=1) >= 2]
    if len(chosen) == 0:
        return
    configs = np.flatnonzero(state.playable[chosen].any(axis=0))
    closed = len(configs) % 2 == 1
    ordered = prompt_order(state, chosen, rng)
    full = state.playable[ordered].sum(axis=1) == len(configs)
    blocks = ordered[full][: full.sum() - (full.sum() % (len(configs) // 2) == 1)]
    for prompt, orders in _deal(state, blocks, configs, units, rng):
        for order in orders:
            _walk_member(state, prompt, order, closed)
    _design_singly(state, ordered[~np.isin(ordered, blocks)], len(configs), units, rng)


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


def _design_singly(state: PlanState, prompts: Ints, n: int, units: int, rng: np.random.Generator) -> None:
    rate = state.rate() or min(1.0, 2 * units / max(n - 1, 1))
    surplus = state.met_counts() - rate * state.shared_counts()
    for prompt in prompts.tolist():
        configs = np.flatnonzero(state.playable[prompt])
        here = np.ix_(configs, configs)
        surplus[here] -= rate
        before = state.met[prompt].copy()
        if units == 1:
            weight = np.round(surplus[here], 9) + _NEVER_TWICE * before[here]
            tour = least_met_tour(weight, closed=n % 2 == 1, rng=rng)
            _walk_member(state, prompt, configs[tour], closed=n % 2 == 1)
        else:
            _walk_several(state, prompt, configs, units, rng)
        surplus += state.met[prompt] & ~before


def _walk_several(state: PlanState, prompt: int, configs: Ints, units: int, rng: np.random.Generator) -> None:
    members = decompose(len(configs))
    taken = members[rng.permutation(len(members))[:units]]
    for order in _relabel(state, configs, taken, rng)[taken]:
        _walk_member(state, prompt, order, closed=len(configs) % 2 == 1)


def _walk_member(state: PlanState, prompt: int, order: Ints, closed: bool) -> None:
    ring = closed and len(order) > 2
    if not ring and state.tilt[order[0]] > state.tilt[order[-1]]:
        order = order[::-1]
    for a, b in walk(order, closed=ring).tolist():
        if not state.met[prompt, a, b]:
            state.add(prompt, a, b, "baseline")
