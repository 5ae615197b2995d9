"""Ratings of a study that never was: a known truth, and raters and prompts that go together as real ones do.

Rater r compares entities a and b on prompt p by rubric q from the latent gap

    z = s[q, a] - s[q, b] + u[q, r, a] - u[q, r, b] + v[q, p, a] - v[q, p, b] + e,

with effects u and v, normal with the design's `rater_sd` and `prompt_sd`, of each rater and prompt on each entity, and e
standard logistic; the score is sign(z) times the number of thresholds below |z|. Without effects this is the model that
is fitted. With them answers go together by rater and by prompt, and the fitted scale is a little narrower than s: what
an estimate can be held against is the fit to a very large study of the design (`population`), not s.

**Truth.** s[q, a] = loading of q · strength of a + `profile_sd` · profile of q's group, the profiles standard normal.
Strengths are the design's, entities in ascending order; profiles are drawn anew in each study.

**Noise shared by rubrics.** u, v and e of a rubric are made of three parts: one that all rubrics share (`halo` of the
variance), one that the rubrics of its group share (`block`), the rest its own. e is made normal so, then taken through
normal to logistic quantiles: its margin is exactly logistic.

**Shape.** A unit is a rater on a prompt and rates `pairs_per_unit` pairs by all rubrics. Raters have equally many units, or
log-normally uneven ones (`load_sd`); prompts have equally many, and all pairs are compared equally often, up to one. Who
meets what is random, and so is which of a pair is a.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.special import log_ndtr, ndtri

from s2s_assets.study import OVERALL, Floats, InputError, Ints, generator


@dataclass(frozen=True)
class Design:
    """A study's size and the population that its raters, prompts and answers come from; effects in logits."""

    name: str
    """Part of every seed."""
    entities: int
    raters: int
    prompts: int
    ratings: int
    """Of each rubric."""
    rater_sd: float = 0.35
    """Of a rater's effect on each entity."""
    prompt_sd: float = 0.5
    strengths_sd: float = 0.7
    """Strengths are normal quantiles of this spread, unless given."""
    strengths: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = (0.45, 1.6, 3.0)
    pairs_per_unit: int = 1
    load_sd: float = 0.0
    """Spread of the logarithm of the raters' loads; 0: equal loads."""
    rubrics: tuple[str, ...] = (OVERALL,)
    groups: tuple[int, ...] = ()
    """Group of each rubric, from 0; empty: all are of one."""
    loadings: tuple[float, ...] = ()
    """Of each rubric on the strengths; empty: 1."""
    profile_sd: float = 0.0
    """Of what a group's rubrics say about each entity beyond its strength."""
    halo: float = 0.0
    """Share of the variance of effects and noise that is common to all rubrics."""
    block: float = 0.0
    """Share that is common to the rubrics of a group."""

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            InputError: sizes that are too small or do not agree, shares outside 0 to 1.
        """
        if self.entities < 2 or min(self.raters, self.prompts, self.ratings, self.pairs_per_unit) < 1:
            raise InputError(f"design {self.name}: at least two entities and one of everything else are needed")
        for given, n, what in (
            (self.strengths, self.entities, "strengths of the entities"),
            (self.groups, len(self.rubrics), "groups of the rubrics"),
            (self.loadings, len(self.rubrics), "loadings of the rubrics"),
        ):
            if len(given) not in (0, n):
                raise InputError(f"design {self.name}: expected {n} {what}, found {len(given)}")
        if min(self.halo, self.block) < 0 or self.halo + self.block > 1:
            raise InputError(f"design {self.name}: halo and block are shares, together at most 1")

    @property
    def planted(self) -> Floats:
        """(entities,) the planted strengths, mean 0, in the order of `entity_names`."""
        given = np.array(self.strengths or self.strengths_sd * ndtri((np.arange(self.entities) + 0.5) / self.entities))
        return np.asarray(given - given.mean(), np.float64)

    @property
    def entity_names(self) -> tuple[str, ...]:
        """Names of the entities, sorted."""
        return tuple(_names("m", self.entities).to_list())


def population(design: Design, times: int = 100) -> Design:
    """The same design with so many times its raters, prompts and ratings."""
    return replace(design, raters=times * design.raters, prompts=times * design.prompts, ratings=times * design.ratings)


def simulate(design: Design, *names: str | int) -> pl.DataFrame:
    """A study of the design, as `ranking.rank` takes it.

    Args:
        design: what to simulate.
        names: of this study; the same design and names give the same ratings.

    Returns:
        One answer a row, rubric after rubric: prompt, rater, rubric, config_a, config_b, score.
    """
    rng = generator("calibration", design.name, *names)
    rater, prompt, a, b = _plan(design, rng)
    strengths = _strengths(design, rng)
    by_rater = design.rater_sd * _noise(design, rng, (design.raters, design.entities))
    by_prompt = design.prompt_sd * _noise(design, rng, (design.prompts, design.entities))
    answers = _logistic(_noise(design, rng, (design.ratings,)))
    units = pl.DataFrame(
        {
            "prompt": _names("p", design.prompts).gather(prompt),
            "rater": _names("r", design.raters).gather(rater),
            "config_a": _names("m", design.entities).gather(a),
            "config_b": _names("m", design.entities).gather(b),
        }
    )
    parts = []
    for q, rubric in enumerate(design.rubrics):
        of_a, of_b = (strengths[q, at] + by_rater[q, rater, at] + by_prompt[q, prompt, at] for at in (a, b))
        scores = _scores(of_a - of_b + answers[q], design.thresholds)
        parts.append(units.with_columns(rubric=pl.lit(rubric), score=pl.Series(scores)))
    return pl.concat(parts).select("prompt", "rater", "rubric", "config_a", "config_b", "score")


def _plan(design: Design, rng: np.random.Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """Rater, prompt, first and second entity of each rating, balanced."""
    n, each = design.ratings, design.pairs_per_unit
    n_units = -(-n // each)
    rater = _raters(design, n_units, rng)
    prompt = rng.permutation(np.arange(n_units) % design.prompts)
    first, second = np.triu_indices(design.entities, 1)
    rounds = np.tile(np.arange(len(first)), (-(-n // len(first)), 1))
    pair = rng.permuted(rounds, axis=1).ravel()[:n]
    swapped = rng.integers(2, size=n, dtype=np.int8) == 1
    a, b = np.where(swapped, second[pair], first[pair]), np.where(swapped, first[pair], second[pair])
    return np.repeat(rater, each)[:n], np.repeat(prompt, each)[:n], a, b


def _raters(design: Design, n_units: int, rng: np.random.Generator) -> Ints:
    """(units,) the rater of each."""
    if design.load_sd == 0:
        return rng.permutation(np.arange(n_units) % design.raters)
    load = np.exp(design.load_sd * rng.standard_normal(design.raters))
    return rng.choice(design.raters, n_units, p=load / load.sum())


def _strengths(design: Design, rng: np.random.Generator) -> Floats:
    """(rubrics, entities) the truth of one study."""
    loadings = np.array(design.loadings or (1.0,) * len(design.rubrics))
    planted = loadings[:, None] * design.planted
    groups = _groups(design)
    if design.profile_sd == 0:
        return np.asarray(planted, np.float64)
    profiles = rng.standard_normal((int(groups.max()) + 1, design.entities))
    return np.asarray(planted + design.profile_sd * profiles[groups], np.float64)


def _noise(design: Design, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """(rubrics, *shape) standard normal, correlated between rubrics as the design says."""
    groups = _groups(design)
    own = rng.standard_normal((len(groups), *shape)) * np.sqrt(1.0 - design.halo - design.block)
    if design.halo > 0:
        own += np.sqrt(design.halo) * rng.standard_normal(shape)
    if design.block > 0:
        own += np.sqrt(design.block) * rng.standard_normal((int(groups.max()) + 1, *shape))[groups]
    return np.asarray(own, np.float64)


def _groups(design: Design) -> Ints:
    return np.array(design.groups or (0,) * len(design.rubrics), np.int64)


def _logistic(normal: Floats) -> Floats:
    """Standard normal values as standard logistic ones of the same probability."""
    return np.asarray(log_ndtr(normal) - log_ndtr(-normal), np.float64)


def _scores(latent: Floats, thresholds: tuple[float, ...]) -> Ints:
    steps = np.searchsorted(np.asarray(thresholds), np.abs(latent), side="left")
    return np.asarray(np.sign(latent) * steps, np.int64)


def _names(prefix: str, n: int) -> pl.Series:
    """Names that sort as their numbers do."""
    width = len(str(n))
    return pl.Series([f"{prefix}{k:0{width}d}" for k in range(1, n + 1)])
