"""How often two ratings of a fit have a rater, a prompt, a pair, or several of these in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse import coo_array, csr_array

from s2s_assets.ranking.arrangement import Arrangement, random_clumping
from s2s_assets.ranking.problems import Problem
from s2s_assets.ranking.sandwich import Sandwich
from s2s_assets.study import Floats, Ints, PilotError

T = TypeVar("T", float, Floats)
_FEW = 10
"""Clusters below which what they add is known roughly."""
_LEAST_FREE = 0.2
"""Share of ordered pairs of ratings that must have neither rater nor prompt in common."""


@dataclass(frozen=True)
class Pilot:
    """What a pilot has, by the sandwich of its own fit."""

    raters: int
    effective_raters: float
    """N² / Σ n²: as many equally busy ones would be worth as much."""
    prompts: int
    effective_prompts: float
    ratings: int
    pairs_per_prompt: float
    ratings_per_pair: float
    """Ratings of a pair on a prompt, on average."""
    robust: Sandwich


@dataclass(frozen=True)
class Overlaps:
    """The clusters of a fit's ratings."""

    cell: Ints
    clusters: Mapping[str, Ints]
    """Number of the cluster of each rating, by kind of cluster, consecutive."""
    squares: Mapping[str, float]
    """Σ n_g²."""

    @classmethod
    def of(cls, problem: Problem) -> "Overlaps":
        """Of a problem's ratings."""
        n_pairs, n_prompts = len(problem.pairs), int(problem.prompt.max()) + 1
        item = problem.prompt * n_pairs + problem.cell % n_pairs
        keys = {
            "rater": problem.rater,
            "prompt": problem.prompt,
            "item": item,
            "unit": problem.rater * n_prompts + problem.prompt,
            "repeat": problem.rater * (n_prompts * n_pairs) + item,
            "self": np.arange(len(problem.cell)),
        }
        numbered = {name: np.unique(key, return_inverse=True)[1] for name, key in keys.items()}
        squares = {name: float((np.bincount(key).astype(float) ** 2).sum()) for name, key in numbered.items()}
        return cls(problem.cell, numbered, squares)

    @property
    def ratings(self) -> int:
        """N."""
        return len(self.cell)

    @property
    def free(self) -> float:
        """Share of the ordered pairs of ratings that have neither rater nor prompt in common."""
        squares = self.squares
        return 1.0 - (squares["rater"] + squares["prompt"] - squares["unit"]) / self.ratings**2

    def number(self, kind: str) -> int:
        """G."""
        return int(self.clusters[kind].max()) + 1

    def effective(self, kind: str) -> float:
        """N² / Σ n_g²."""
        return self.ratings**2 / self.squares[kind]

    def check(self) -> None:
        """Refuse ratings that nearly all have a rater or prompt in common.

        Raises:
            PilotError: as said.
        """
        for kind in ("rater", "prompt"):
            if self.number(kind) < 2:
                raise PilotError(f"all ratings are of one {kind}: what other {kind}s would add cannot be told")
        if self.free < _LEAST_FREE:
            raise PilotError("one rater or prompt has nearly all ratings: what others would add cannot be told")

    def products(self, by_cell: csr_array) -> dict[str, Floats]:
        """Σ_g v_g v_g', v_g being the sum over a cluster's ratings of the rows of their cells, by kind of cluster."""
        one = np.ones(self.ratings)
        found = {}
        for kind, number in self.clusters.items():
            counts = csr_array(coo_array((one, (number, self.cell)), shape=(self.number(kind), by_cell.shape[0])))
            sums = counts @ by_cell
            found[kind] = np.asarray((sums.T @ sums).toarray(), np.float64)
        return found

    def shared(self, problem: Problem) -> float:
        """ω: entities that the pairs of two ratings of a prompt have in common, on average."""
        pair = np.arange(problem.counts.size) % len(problem.pairs)
        ends = csr_array(abs(problem.incidence).T)[pair]
        common = kinds({kind: float(np.trace(total)) for kind, total in self.products(ends).items()})
        pairs = kinds(self.squares)["prompt"]
        return common["prompt"] / pairs if pairs else 0.0

    def arrangement(self, shared: float) -> Arrangement:
        """As measured."""
        n_raters, n_prompts, n_items = (self.number(kind) for kind in ("rater", "prompt", "item"))
        per_prompt, uneven = n_items / n_prompts, n_raters / self.effective("rater")
        at_random = random_clumping(self.ratings, n_raters, uneven, n_prompts, per_prompt)
        return Arrangement(
            pairs_per_prompt=per_prompt,
            shared=shared,
            uneven_raters=uneven,
            uneven_prompts=n_prompts / self.effective("prompt"),
            clumping=max(kinds(self.squares)["unit"] / self.ratings - at_random, 0.0),
        )

    def pilot(self, robust: Sandwich) -> Pilot:
        """As measured."""
        n_items, n_prompts = self.number("item"), self.number("prompt")
        return Pilot(
            raters=self.number("rater"),
            effective_raters=self.effective("rater"),
            prompts=n_prompts,
            effective_prompts=self.effective("prompt"),
            ratings=self.ratings,
            pairs_per_prompt=n_items / n_prompts,
            ratings_per_pair=self.ratings / n_items,
            robust=robust,
        )

    def roughness(self) -> list[str]:
        """How well the parts of raters and prompts can be known from so few of them."""
        return [
            f"what {kind}s add is known from {effective:.0f} effective {kind}s only: its standard error is about "
            f"{100 * np.sqrt(2 / max(effective - 1, 1)):.0f} % of it"
            for kind in ("rater", "prompt")
            if (effective := self.effective(kind)) < _FEW
        ]


def kinds(sums: Mapping[str, T]) -> dict[str, T]:
    """Sums within clusters as sums over the disjoint kinds of ordered pairs of ratings.

    Args:
        sums: numbers or arrays by `rater`, `prompt`, `item`, `unit`, `repeat` (a rater on an item) and `self`.
    """
    return {
        "rater": sums["rater"] - sums["unit"],
        "prompt": sums["prompt"] - sums["item"] - sums["unit"] + sums["repeat"],
        "item": sums["item"] - sums["repeat"],
        "unit": sums["unit"] - sums["repeat"],
        "self": sums["self"],
    }
