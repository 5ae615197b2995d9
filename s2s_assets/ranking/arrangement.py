"""How ratings lie over raters, prompts and pairs, as far as their variance depends on it.

Of two different pairs on a prompt, E entities and K pairs, the mean number of entities in common is

    ω = Σ_e d_e (d_e - 1) / (K (K - 1)),

d_e being the pairs of entity e on the prompt, D = 2 K / E on average: 4 / (E + 1) for pairs chosen at random, and E D
(D - 1) / (K (K - 1)) where every entity has D. For another K the spread of d_e keeps its place between these two; where
some entities are paired more than others, ω is above chance and stays as it is, as it does for pairs chosen at random.
"""

from dataclasses import dataclass, replace

_NO_SPREAD = 1e-9


@dataclass(frozen=True)
class Shares:
    """ρ = Σ n_g² / N² of each kind of cluster in a study: what each part of the variance is multiplied with."""

    raters: float
    prompts: float
    items: float
    units: float
    noise: float


@dataclass(frozen=True)
class Arrangement:
    """How ratings lie over raters, prompts and pairs."""

    pairs_per_prompt: float
    """Pairs that are rated on a prompt, on average."""
    shared: float
    """ω: entities that two different pairs of a prompt have in common, on average."""
    uneven_raters: float = 1.0
    """G · Σ n_g² / N² of raters: 1 where all have equally many ratings."""
    uneven_prompts: float = 1.0
    clumping: float = 0.0
    """Other ratings of the same rater on the same prompt, beyond what handing out at random gives."""

    def shares(self, raters: int, prompts: int, ratings_per_pair: float) -> Shares:
        """ρ in a study arranged like this one.

        Args:
            raters: how many, as unevenly busy as here.
            prompts: how many, as unevenly rated.
            ratings_per_pair: of each pair on a prompt, by raters taken at random.
        """
        items = prompts * self.pairs_per_prompt
        ratings = items * ratings_per_pair
        others = self.clumping + random_clumping(ratings, raters, self.uneven_raters, prompts, self.pairs_per_prompt)
        return Shares(
            raters=min(self.uneven_raters / raters, 1.0),
            prompts=min(self.uneven_prompts / prompts, 1.0),
            items=1.0 / items,
            units=(1.0 + others) / ratings,
            noise=1.0 / ratings,
        )

    def resized(self, pairs_per_prompt: float, entities: int) -> "Arrangement":
        """The same way of choosing pairs, with another number of them on a prompt."""
        by_chance = 4.0 / (entities + 1)
        if self.shared >= by_chance:
            return replace(self, pairs_per_prompt=pairs_per_prompt)
        at_random = _spread(by_chance, self.pairs_per_prompt, entities)
        kept = (
            max(_spread(self.shared, self.pairs_per_prompt, entities) / at_random, 0.0)
            if at_random > _NO_SPREAD
            else 0.0
        )
        spread = kept * _spread(by_chance, pairs_per_prompt, entities)
        return replace(self, pairs_per_prompt=pairs_per_prompt, shared=_shared(spread, pairs_per_prompt, entities))


def regular(pairs_per_prompt: float, entities: int) -> Arrangement:
    """Every entity in equally many pairs of each prompt, raters and prompts with equally many ratings."""
    return Arrangement(pairs_per_prompt, _shared(0.0, pairs_per_prompt, entities))


def _shared(spread: float, pairs: float, entities: int) -> float:
    """ω from the variance of d_e."""
    degree = 2 * pairs / entities
    if pairs <= 1:
        return 0.0
    return max(entities * (degree**2 + spread - degree) / (pairs * (pairs - 1)), 0.0)


def _spread(shared: float, pairs: float, entities: int) -> float:
    """The variance of d_e from ω."""
    degree = 2 * pairs / entities
    return shared * pairs * (pairs - 1) / entities - degree**2 + degree


def random_clumping(ratings: float, raters: float, uneven: float, prompts: float, pairs_per_prompt: float) -> float:
    """Other ratings of the same rater on the same prompt where pairs are handed out at random, on average."""
    items = prompts * pairs_per_prompt
    return max(uneven * ratings / raters - 1.0, 0.0) * (pairs_per_prompt - 1.0) / max(items - 1.0, 1.0)
