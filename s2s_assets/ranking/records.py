"""What a board consists of: the fit, the uncertainty, and both together.

Strengths are in logits, Elo and intervals in Elo points; None is "there is none", never NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from s2s_assets.ranking.diagnostic_records import Diagnostics
from s2s_assets.ranking.ordinal import Status
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import Floats


@dataclass(frozen=True)
class EntityFit:
    """One entity of a fit."""

    entity: str
    strength: float | None
    """Logits, mean 0 over the entities that have one; None where it is unbounded."""
    elo: float | None
    rank: int
    bound: str | None
    """`above` or `below`: the rest, by an unbounded amount."""
    ridge: float | None
    """The flagged fallback of separated data."""
    massey: float | None
    partial_margin_bt: float | None
    n_ratings: int
    n_raters: int
    n_prompts: int


@dataclass(frozen=True)
class BoardFit:
    """One fit; a disconnected board has one for each component."""

    spec: FitSpec
    component: int | None
    """Number of the component, None where the board is connected."""
    status: Status
    reason: str | None
    n_ratings: int
    n_raters: int
    n_prompts: int
    n_within: int
    """Ratings left out because both answers are of one entity."""
    thresholds: tuple[float | None, ...]
    """Of the |scores| in use, ascending, stratum by stratum; None where it diverges."""
    merged_scores: tuple[int, ...]
    """|scores| that no rating has."""
    log_likelihood: float | None
    components: tuple[tuple[str, ...], ...]
    ridge_lambda: float | None
    entities: tuple[EntityFit, ...]
    """By rank, then name."""
    spearman_massey: float | None
    spearman_partial_margin_bt: float | None

    @property
    def fit(self) -> str:
        """The fit's id."""
        return self.spec.fit_of(self.component)


@dataclass(frozen=True)
class Strengths:
    """The ordinal fit alone, of one component of a board."""

    status: Status
    strengths: Mapping[str, float | None]
    """By entity, in logits, mean 0 over those that have one; None where it is unbounded."""
    thresholds: tuple[float | None, ...]
    """Of the |scores| in use, ascending; None where it diverges."""


@dataclass(frozen=True)
class EntityInterval:
    """The uncertainty of one entity."""

    entity: str
    ci_low: float | None
    ci_high: float | None
    rank_low: int | None
    rank_high: int | None
    se_sandwich: float | None
    sandwich_low: float | None
    sandwich_high: float | None
    valid_resamples: int
    """Resamples in which the entity has a value; ±infinity is one."""
    bound: str | None
    """`above` or `below` where that end of the bootstrap interval is infinite; `both` where both are."""
    letters: str | None = None
    """Entities that share a letter are not told apart, for all pairs together (`simultaneous.py`)."""
    delta: float | None = None
    """In a slice: Elo less that on the board of all ratings, over the entities that both have."""
    delta_low: float | None = None
    delta_high: float | None = None


@dataclass(frozen=True)
class PairInterval:
    """Two entities compared, a before b by name."""

    a: str
    b: str
    n: int
    mean_score: float | None
    """Mean score of the pair's ratings, > 0 where a is better."""
    difference: float | None
    """Elo of a less Elo of b."""
    ci_low: float | None
    ci_high: float | None
    simultaneous_low: float | None = None
    """Interval that holds for all pairs of the fit together, from the sandwich."""
    simultaneous_high: float | None = None
    expected_score: float | None = None
    """Mean score that the fit expects of the pair's ratings."""
    misfit: float | None = None
    """How far their own difference is from the fit's, in cluster-robust standard errors."""


@dataclass(frozen=True)
class EngineAgreement:
    """How far another engine agrees with the ordinal fit over the resamples."""

    engine: str
    """`massey` or `partial_margin_bt`."""
    spearman_low: float | None
    """2.5th and 97.5th percentile of the rank correlations; None where too few resamples have one."""
    spearman_high: float | None
    valid_resamples: int


@dataclass(frozen=True)
class BoardIntervals:
    """The uncertainty of one fit, entities in the fit's order."""

    fit: str
    resamples: int
    reason: str | None
    """Why the sandwich is missing or was clipped."""
    entities: tuple[EntityInterval, ...]
    pairs: tuple[PairInterval, ...]
    draws: Floats
    """(entities, resamples) strengths; NaN where the resample has no value."""
    agreement: tuple[EngineAgreement, ...] = ()
    """Empty where the other engines were not resampled."""
    diagnostics: Diagnostics | None = None
    """None until `diagnose_boards` has looked at the fit."""
