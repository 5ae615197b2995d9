"""Growing a plan on prompts that have pairs: healing holes, and giving newcomers their opponents.

**Holes.** A withdrawn response voids its pairs. Each partner that it leaves is owed one pair; two that are owed one are
paired (in a cycle these are the hole's two neighbours), and where the hole has split the prompt's graph, pairs between
its parts come first.

**Newcomers.** A newcomer is a playable response without a pair, on a prompt that has pairs: of a new config, or one
that came late. With r the share of shared prompts on which two configs are a pair, it is owed r pairs for each other
config on its prompt; fractions are carried from prompt to prompt, and it gets at least one. Opponents are those that
fall furthest short of r times the prompts shared with it, then those met least in this stratum, then at random. Where
all configs are on all prompts this keeps a new config's meetings within one of each other, at the rate of old pairs.
A newcomer that takes the place of a response collected anew need not meet the same opponents, and the old pairs may have
been all that held the prompt's graph together: where it is then in parts, pairs between them follow.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from s2s_assets.pairing.design import prompt_order
from s2s_assets.pairing.state import PlanState
from s2s_assets.study import Floats, Ints


def heal_holes(state: PlanState, rng: np.random.Generator) -> None:
    """Pair the cells that withdrawals have left owing, in place."""
    holed = np.flatnonzero((state.owed > 0).any(axis=1))
    surplus = state.met_counts() - state.rate() * state.shared_counts()
    for prompt in holed.tolist():
        while (pair := _healing_pair(state, prompt, surplus, rng)) is not None:
            a, b = pair if state.tilt[pair[0]] <= state.tilt[pair[1]] else pair[::-1]
            state.add(prompt, a, b, "healed")


def _healing_pair(state: PlanState, prompt: int, surplus: Floats, rng: np.random.Generator) -> tuple[int, int] | None:
    """The pair that the prompt needs most: between parts first, then between two that are owed one; None at the end."""
    cells = np.flatnonzero(state.planned[prompt])
    i, j = (cells[k] for k in np.triu_indices(len(cells), 1))
    parts = _parts(state, prompt)
    owed = (state.owed[prompt] > 0).astype(np.int64)
    apart = np.not_equal(parts[i], parts[j])
    both = owed[i] + owed[j]
    wanted = np.logical_or(apart, (both == 2) & ~state.met[prompt, i, j])
    if not wanted.any():
        return None
    keys = (rng.random(len(i)), np.round(surplus[i, j], 9), -both, ~apart, ~wanted)
    best = np.lexsort(keys)[0]
    return int(i[best]), int(j[best])


def attach_newcomers(state: PlanState, units: int, rng: np.random.Generator) -> None:
    """Pair every playable response without a place with configs that have one on its prompt, in place."""
    fresh = state.playable & ~state.planned & state.planned.any(axis=1, keepdims=True)
    rate = state.rate()
    for config in rng.permutation(np.flatnonzero(fresh.any(axis=0))).tolist():
        prompts = prompt_order(state, np.flatnonzero(fresh[:, config]), rng)
        _attach_config(state, config, prompts, rate, units, rng)
    for prompt in np.flatnonzero(fresh.any(axis=1)).tolist():
        _join_parts(state, prompt, rng)


def _attach_config(
    state: PlanState, config: int, prompts: Ints, rate: float, units: int, rng: np.random.Generator
) -> None:
    met = state.met_counts()[config]
    shared = state.shared_counts()[config]
    by_stratum = np.zeros((state.stratum.max() + 1, len(state.configs)), np.int64)
    owed = 0.0
    for prompt in prompts.tolist():
        others = np.flatnonzero(state.planned[prompt])
        others = others[others != config]
        shared[others] += 1
        owed += rate * len(others) if rate else 2 * units
        free = others[~state.met[prompt, config, others]]
        want = max(1, round(owed))
        local = by_stratum[state.stratum[prompt]]
        short = np.round(met[free] - rate * shared[free], 9)
        picked = free[np.lexsort((rng.random(len(free)), local[free], short))[:want]]
        met[picked] += 1
        local[picked] += 1
        owed -= len(picked) if rate else 2 * units
        _seat(state, prompt, config, picked.tolist(), rng)


def _join_parts(state: PlanState, prompt: int, rng: np.random.Generator) -> None:
    while (pair := _pair_between_parts(state, prompt, rng)) is not None:
        _seat(state, prompt, pair[0], [pair[1]], rng)


def _pair_between_parts(state: PlanState, prompt: int, rng: np.random.Generator) -> tuple[int, int] | None:
    """Of the configs in different parts of the prompt's graph the two that have met least; None where it is one."""
    cells = np.flatnonzero(state.planned[prompt])
    i, j = (cells[k] for k in np.triu_indices(len(cells), 1))
    parts = _parts(state, prompt)
    apart = np.flatnonzero(parts[i] != parts[j])
    if not len(apart):
        return None
    i, j = i[apart], j[apart]
    surplus = state.met_counts() - state.rate() * state.shared_counts()
    best = np.lexsort((rng.random(len(apart)), np.round(surplus[i, j], 9)))[0]
    return int(i[best]), int(j[best])


def _parts(state: PlanState, prompt: int) -> Ints:
    """(n,) number of the connected part of the prompt's graph that each config is in."""
    return np.asarray(connected_components(coo_array(state.met[prompt]), directed=False)[1], np.int64)


def _seat(state: PlanState, prompt: int, config: int, opponents: list[int], rng: np.random.Generator) -> None:
    """Pair a newcomer with its opponents; whoever was `config_a` less often is, the newcomer's own balance first."""
    for other in opponents:
        lean = state.tilt[config] or -state.tilt[other] or rng.choice((-1, 1))
        a, b = (other, config) if lean > 0 else (config, other)
        state.add(prompt, a, b, "baseline")
