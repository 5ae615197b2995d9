"""What is said about a fit beside its ranking. Shifts are in Elo points; None is "there is none"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ScoreFit:
    """How often a |score| occurs, and how often the fit expects it."""

    score: int
    observed: int
    expected: float


@dataclass(frozen=True)
class Misfit:
    """A pair whose ratings say something else than the strengths do, a before b by name."""

    a: str
    b: str
    n: int
    mean_score: float
    expected_score: float
    shift: float
    """How much further a is ahead of b by their own ratings, one step from the fit."""
    z: float | None
    """The shift in cluster-robust standard errors."""


@dataclass(frozen=True)
class OrderEffect:
    """What an answer gains by being heard first."""

    n_ratings: int
    shift: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ThresholdTest:
    """Flexible against symmetric thresholds."""

    n_ratings: int
    left: str
    """What the left side of a pair is: `heard first` or `config_a`."""
    statistic: float
    """Twice the rise of the log-likelihood."""
    df: int
    p: float
    """From χ², taking ratings as independent."""


@dataclass(frozen=True)
class Removal:
    """What a rater or prompt weighs, and what would happen without it."""

    name: str
    n_ratings: int
    share: float
    """Of the fit's ratings."""
    entity: str | None
    """The entity that its removal would move most."""
    shift: float | None
    """By how much it would move."""
    swaps: int | None
    """Pairs of entities that would change their order."""
    leader: str | None
    """The entity that would lead."""


@dataclass(frozen=True)
class VarianceShares:
    """Where the sampling variance of the strengths comes from; the three add up to 1."""

    raters: float
    prompts: float
    noise: float


@dataclass(frozen=True)
class OrderDifference:
    """Two entities that another engine orders the other way."""

    engine: str
    ahead: str
    behind: str
    difference: float
    """Elo of `ahead` less Elo of `behind` in the ordinal fit."""


@dataclass(frozen=True)
class SliceTest:
    """Whether strengths differ between slices at all."""

    dimension: str
    values: tuple[str, ...]
    """Slices that took part."""
    entities: int
    """Entities that all of them have."""
    statistic: float
    """Mean squared difference, in units of what sampling gives: 1 is expected where the ranking is the same."""
    df: float
    df_error: float
    p: float


@dataclass(frozen=True)
class Diagnostics:
    """All of it, for one fit."""

    scores: tuple[ScoreFit, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    """The largest, by |z|."""
    misfit_share: float | None = None
    """Share of the pairs of 10 ratings or more with |z| above 1.96; 0.05 is expected of a fit that holds."""
    order_effect: OrderEffect | None = None
    flexible_thresholds: ThresholdTest | None = None
    heaviest_rater: Removal | None = None
    heaviest_prompt: Removal | None = None
    influential_raters: tuple[Removal, ...] = ()
    """Those whose removal would move an entity most."""
    influential_prompts: tuple[Removal, ...] = ()
    variance: VarianceShares | None = None
    max_t: float | None = None
    """Half-width of a simultaneous 95 % interval in standard errors."""
    order_differences: tuple[OrderDifference, ...] = ()
    slice_test: SliceTest | None = None
    """For all slices of the attribute together; the same in each."""
