"""Adaptive top-up: pairs beyond the plan, where the last stored fit is least sure.

The plan stays as it is. A *round* adds pairs of two configs on one prompt that are not a pair there yet, both responses
having a place in the plan and neither withdrawn. How many: with B votes of the plan given, A adaptive ones asked for and
k votes a pair, votes stay within a share q of all while A <= q / (1 - q) · B; a round is what is left of that in whole
pairs, and no more than an even part of the whole (`round_pairs`).

Which *entities* are compared follows from the fit's covariance alone (`narrowing`). An entity may be several configs:
where a model is ranked, any config of one may meet any config of the other. Among all that would be a pair of the two
entities, the prompt with the fewest adaptive pairs so far is taken, then the two configs that have met least, then by a
generator seeded with study and round. So adaptive votes are spread evenly over the prompts as far as the entities allow.

`config_a` is the config that was `config_a` less often so far; slots alternate the order as in the plan. All rows have
`source` = `adaptive`. The same fit, plan and cells give the same round, whatever the order of their rows.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from s2s_assets.pairing.narrowing import narrow
from s2s_assets.pairing.rows import new_pairs, slot_rows
from s2s_assets.pairing.schema import check_cells
from s2s_assets.pairing.state import PlanState, build_state
from s2s_assets.study import Floats, InputError, Ints, Uncertainty, generator

ADAPTIVE = "adaptive"
"""The `source` of these pairs' slots and votes."""
ADAPTIVE_VERSION = "adaptive-2"
"""Changes whenever the same fit and plan would give other pairs."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TopUp:
    """The pairs of a round, and what they are expected to do."""

    rows: pl.DataFrame
    """`PLAN_SCHEMA`, one row a slot; `epoch` is the last one of the plan."""
    se: Floats
    """(E,) standard errors of the strengths before, in logits, in the fit's order of entities."""
    se_after: Floats
    """(E,) as expected once the pairs have their votes."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return self.rows["pair"].n_unique()

    @property
    def widest(self) -> tuple[float, float]:
        """The largest standard error, in logits, before and after."""
        return float(self.se.max(initial=0.0)), float(self.se_after.max(initial=0.0))


def round_pairs(baseline: int, adaptive: int, *, slots: int, share: float, rounds: int) -> int:
    """How many pairs a round may have.

    Args:
        baseline: votes of the plan that were given.
        adaptive: adaptive votes that were asked for so far.
        slots: votes that a pair is asked for, at least 1.
        share: of all votes that may be adaptive, 0 to below 1.
        rounds: even parts in which they are asked for, at least 1.
    """
    allowed = math.floor(share / (1 - share) * baseline + _ROUNDING)
    return max(0, min((allowed - adaptive) // slots, math.ceil(allowed // slots / rounds)))


def top_up(
    plan: pl.DataFrame,
    earlier: pl.DataFrame,
    cells: pl.DataFrame,
    withdrawn: Collection[str],
    uncertainty: Uncertainty,
    *,
    study: str,
    number: int,
    slots: int,
    pairs: int,
) -> TopUp:
    """A round of adaptive pairs.

    Args:
        plan: all epochs, `PLAN_SCHEMA`.
        earlier: the rows of the rounds before, `PLAN_SCHEMA`.
        cells: responses that can be played, with `CELL_COLUMNS`.
        withdrawn: ids of withdrawn responses.
        uncertainty: of the fit whose intervals are to shrink.
        study: the study's id, part of seeds and pair ids.
        number: of the round, from 1.
        slots: ratings asked of each pair, at least 1.
        pairs: how many at most; fewer where no more are allowed.

    Raises:
        InputError: a number or matrix that cannot be, or cells that are not a table of cells.
    """
    if number < 1:
        raise InputError(f"adaptive round {number}; expected 1 or a later one")
    state = build_state(pl.concat([plan, earlier]), check_cells(cells), withdrawn)
    rng = generator(study, "pairing", f"top-up {number}")
    shelf = _Shelf(state, _entities(state, uncertainty), _loads(state, earlier), rng)
    found = narrow(
        uncertainty.covariance,
        uncertainty.information,
        shelf.capacity(len(uncertainty.entities)),
        votes=slots,
        pairs=pairs,
        rng=rng,
    )
    for low, high in found.ends.tolist():
        prompt, a, b = shelf.take(low, high)
        state.add(prompt, a, b, ADAPTIVE) if state.tilt[a] <= state.tilt[b] else state.add(prompt, b, a, ADAPTIVE)
    epoch = max(plan["epoch"], default=0)
    rows = slot_rows(new_pairs(state), study, f"adaptive {number}", epoch, slots)
    variances = [np.maximum(np.diag(v), 0.0) for v in (uncertainty.covariance, found.covariance)]
    return TopUp(rows, *(np.sqrt(v) for v in variances))


def _entities(state: PlanState, uncertainty: Uncertainty) -> Ints:
    """(n,) number of each config's entity, -1 where the fit does not have it."""
    number = {entity: k for k, entity in enumerate(uncertainty.entities)}
    return np.array([number.get(uncertainty.entity_of.get(c, ""), -1) for c in state.configs], np.int64)


def _loads(state: PlanState, earlier: pl.DataFrame) -> Ints:
    """(P,) adaptive pairs on each prompt so far."""
    counts = dict(earlier.group_by("prompt").agg(pl.col("pair").n_unique()).iter_rows())
    return np.array([counts.get(prompt, 0) for prompt in state.prompts], np.int64)


class _Shelf:
    """The pairs that are allowed, by the two entities they compare."""

    def __init__(self, state: PlanState, entity: Ints, load: Ints, rng: np.random.Generator) -> None:
        there = state.playable & state.planned & (entity >= 0)
        apart = np.triu(entity[:, None] != entity, 1)
        free = there[:, :, None] & there[:, None, :] & ~state.met & apart
        self._prompt, self._a, self._b = np.nonzero(free)
        self._load, self._met, self._luck = load, state.met_counts(), rng.permutation(len(self._prompt))
        ends = np.sort(np.column_stack([entity[self._a], entity[self._b]]), axis=1)
        kinds, kind = np.unique(ends, axis=0, return_inverse=True)
        order = np.argsort(kind, kind="stable")
        *groups, _ = np.split(order, np.cumsum(np.bincount(kind, minlength=len(kinds))))
        self._of = {(low, high): group for (low, high), group in zip(kinds.tolist(), groups, strict=True)}

    def capacity(self, n: int) -> Ints:
        """(n, n) how many pairs of two entities are allowed."""
        counts = np.zeros((n, n), np.int64)
        for (low, high), group in self._of.items():
            counts[low, high] = counts[high, low] = len(group)
        return counts

    def take(self, low: int, high: int) -> tuple[int, int, int]:
        """Prompt and configs of the best pair of two entities, which is then no longer there."""
        group = self._of[low, high]
        best = group[self._load[self._prompt[group]] == self._load[self._prompt[group]].min()]
        met = self._met[self._a[best], self._b[best]]
        best = best[met == met.min()]
        one = best[np.argmin(self._luck[best])]
        self._of[low, high] = group[group != one]
        prompt, a, b = int(self._prompt[one]), int(self._a[one]), int(self._b[one])
        self._load[prompt] += 1
        self._met[[a, b], [b, a]] += 1
        return prompt, a, b
