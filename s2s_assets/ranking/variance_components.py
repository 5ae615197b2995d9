"""What the variance of the strengths is made of, per rating, so that it can be foretold for a study of another size.

**Model.** To first order the strengths are a mean over N ratings, ŝ - s = (1/N) Σ_n φ_n, where φ_n = N · rows · u_n is
the influence of rating n (u_n its score vector, `rows` the centred H⁻¹ of `strength_rows`). So

    Var ŝ = (1/N²) Σ_n Σ_m E[φ_n φ_m'],

and what two ratings have in common decides what their product is on average. Two ratings may share

    a rater      (other prompts)                C_R = A_R
    a prompt     (other pairs and raters)       C_P = A_P
    an item      (a pair on a prompt)           C_I = A_P + A_I
    a unit       (a rater on a prompt)          C_U = A_R + A_P + A_U
    everything   (one rating with itself)       C_1 = A_R + A_P + A_I + A_U + A_0

and products of ratings that share nothing average to 0. This is the two-facet G study of generalizability theory
(Cronbach et al. 1972; Brennan 2001) with influences in the place of scores. With n_g the ratings of each rater, prompt,
item, unit,

    Var ŝ = Σ_k ρ_k A_k,    ρ_k = Σ_g n_g² / N²,    ρ_0 = 1/N,

so a part shrinks with its own effective number of clusters 1/ρ_k = N² / Σ n_g², which is below their number where loads
are unequal, and with nothing else. A_R is what raters' tastes add: entity by entity (then it is their covariance,
since a rater with many ratings averages over pairs) or pair by pair (then only as often as a rater meets the pair
again). A_I is what a prompt does to the *same* pair beyond what it does to others: much, since two ratings of one pair
share both responses and two ratings of other pairs share one response at most.

**Estimate.** Method of moments: the mean product of fitted influences over all pairs of ratings of each kind, the kinds
disjoint, from the sums within clusters. A rater's second rating of one pair on one prompt is in no kind. Fitted scores
add up to zero, which takes V, the whole variance, from every mean product: V = V₀ / (1 - s) is added to each, where V₀
is the sandwich without its factors and s the share of pairs of ratings that are in a cluster together. (With one way of
clustering that is the factor G / (G - 1).) Each part is then made positive: negative eigenvalues are set to 0 and the
others scaled so that the trace, which is estimated best, stays; a part with a negative trace is 0, which is said (but
for A_U: the pairs of one rater on one prompt overlap less than those on many, so that without any effect of its own it
comes out just below zero).

**What a pilot cannot tell.** Where hardly any pair on a prompt has a second rater, C_I is taken from C_P, or the other
way round where prompts have one pair only: for a prompt's effects on entities that are independent of one another C_P =
C_I · ω / 4, ω being the mean number of entities that two different pairs of a prompt have in common (their incidence
vectors have x'y = ±1 where they share one, and x'x = 2). Where hardly any rater has two pairs on a prompt, A_U is part
of the noise.

Assumed: pairs are given to raters without regard to who they are; the mix of pairs stays as it is; ratings are many
enough for H to be near its mean. Other raters and prompts come from the same populations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from s2s_assets.ranking.arrangement import Arrangement
from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.fits import Prepared, prepare
from s2s_assets.ranking.overlaps import Overlaps, Pilot, kinds
from s2s_assets.ranking.sandwich import sandwich, strength_rows
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import OVERALL, By, Floats, PilotError, one_blas_thread

ENOUGH = 60
"""Ordered pairs of ratings of a kind from which its mean product says something."""
_NAMES = {
    "raters": "a rater",
    "prompts": "a prompt",
    "items": "a pair on a prompt",
}
"""Parts whose absence is said."""


@dataclass(frozen=True)
class VarianceComponents:
    """The parts of the variance, (E, E) each, in squared logits per rating."""

    entities: tuple[str, ...]
    strengths: Floats
    """(E,) centred."""
    raters: Floats
    """A_R."""
    prompts: Floats
    """A_P."""
    items: Floats
    """A_I."""
    units: Floats
    """A_U."""
    noise: Floats
    """A_0."""
    arrangement: Arrangement
    pilot: Pilot | None = None
    """None where the parts are assumed."""
    notes: tuple[str, ...] = ()

    def even(self) -> "VarianceComponents":
        """The same parts for studies in which all raters are equally busy, and all prompts."""
        return replace(self, arrangement=replace(self.arrangement, uneven_raters=1.0, uneven_prompts=1.0))

    def resized(self, pairs_per_prompt: float) -> "VarianceComponents":
        """The parts with another number of pairs on a prompt: C_I stays, C_P goes with ω (`arrangement.py`)."""
        own = self.arrangement
        if pairs_per_prompt == own.pairs_per_prompt:
            return self
        arrangement = own.resized(pairs_per_prompt, len(self.entities))
        prompts = self.prompts * (arrangement.shared / own.shared if own.shared > 0 else 1.0)
        items = positive(self.items + self.prompts - prompts)
        return replace(self, prompts=prompts, items=items, arrangement=arrangement)


@one_blas_thread
def pilot_components(
    ratings: pl.DataFrame, *, rubric: str = OVERALL, by: By = "config", families: Mapping[str, str] | None = None
) -> VarianceComponents:
    """The parts of the variance of one board of a pilot.

    Args:
        ratings: a `ratings` table, as `fit_boards` takes it.
        rubric: the board's.
        by: what is ranked.
        families: model → family, for boards by family.

    Raises:
        PilotError: the parts cannot be told: one rater or prompt, separated or disconnected entities, ties only, raters
            or prompts with one rating each.
        InputError: what `fit_boards` refuses.
        FitError: a fit that did not converge.
    """
    coded = code_ratings(ratings)
    spec = FitSpec(rubric=rubric, by=by)
    boards = prepare(spec, select(coded, spec), coded, families or {})
    if not boards:
        raise PilotError(f"every rating of {rubric} compares one {by} with itself")
    board = boards[0]
    if len(boards) > 1:
        groups = "; ".join(", ".join(group) for group in board.components)
        raise PilotError(f"no ratings of {rubric} connect these groups: {groups}; add ratings between them")
    if board.ordinal.status == "undefined":
        raise PilotError(f"all ratings of {rubric} are ties, which say nothing about variance")
    if board.ordinal.status == "separated":
        apart = " above ".join("{" + ", ".join(group) + "}" for group in board.ordinal.groups)
        raise PilotError(f"the ratings of {rubric} are separated ({apart}): add ratings in which the lower side wins")
    return _components(board)


def positive(part: Floats) -> Floats:
    """The nearest matrix without negative eigenvalues, scaled to keep the trace; 0 where that is negative."""
    trace = float(np.trace(part))
    values, vectors = np.linalg.eigh((part + part.T) / 2)
    kept = np.maximum(values, 0.0)
    if trace <= 0 or kept.sum() <= 0:
        return np.zeros_like(part)
    return np.asarray((vectors * (kept * trace / kept.sum())) @ vectors.T, np.float64)


def _components(board: Prepared) -> VarianceComponents:
    problem, ordinal = board.problem, board.ordinal
    assert ordinal.maximum is not None
    counts = Overlaps.of(problem)
    counts.check()
    scores = ClusteredScores.of(problem, ordinal.maximum)
    rows = strength_rows(ordinal)
    sums = {name: rows @ total @ rows.T for name, total in counts.products(scores.by_cell).items()}
    whole = (sums["rater"] + sums["prompt"] - sums["unit"]) / counts.free
    pairs, products = kinds(counts.squares), kinds(sums)
    means = {kind: whole + counts.ratings**2 / max(n, 1.0) * products[kind] for kind, n in pairs.items()}
    shared = counts.shared(problem)
    notes = _fill(means, pairs, shared)
    parts = {
        "raters": means["rater"],
        "prompts": means["prompt"],
        "items": means["item"] - means["prompt"],
        "units": means["unit"] - means["rater"] - means["prompt"],
        "noise": means["self"] - means["item"] - means["unit"] + means["prompt"],
    }
    notes += [
        f"what {_NAMES[name]} adds came out below zero and is taken as nothing"
        for name, part in parts.items()
        if np.trace(part) < 0 and name in _NAMES
    ]
    return VarianceComponents(
        entities=problem.entities,
        strengths=ordinal.strengths,
        **{name: positive(part) for name, part in parts.items()},
        arrangement=counts.arrangement(shared),
        pilot=counts.pilot(sandwich(problem, ordinal, scores)),
        notes=(*notes, *counts.roughness()),
    )


def _fill(means: dict[str, Floats], pairs: Mapping[str, float], shared: float) -> list[str]:
    """Put in place what the pilot cannot tell; says what that was.

    Raises:
        PilotError: neither raters' nor prompts' part can be told.
    """
    notes = []
    if pairs["rater"] < ENOUGH:
        raise PilotError("hardly any rater rated on two prompts: what raters add cannot be told from noise")
    by_item, by_prompt = pairs["item"] >= ENOUGH, pairs["prompt"] >= ENOUGH
    if not by_prompt and not by_item:
        raise PilotError("hardly any prompt was rated by two raters: what prompts add cannot be told from noise")
    if not by_prompt:
        means["prompt"] = means["item"] * shared / 4.0
    elif not by_item:
        means["item"] = means["prompt"] * (4.0 / shared if shared > 0 else 1.0)
        notes.append(
            "hardly any pair on a prompt has a second rater: what two ratings of one pair have in common is inferred from "
            "what the ratings of a prompt have in common"
        )
    if pairs["unit"] < ENOUGH:
        means["unit"] = means["rater"] + means["prompt"]
    return notes
