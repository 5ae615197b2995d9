"""What a fit knows of the entities that it ranks, and what one more vote would tell it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from s2s_assets.study.arrays import Floats


@dataclass(frozen=True)
class Uncertainty:
    """The uncertainty of one stored fit, in logits."""

    fit: str
    """The fit's id."""
    entities: tuple[str, ...]
    covariance: Floats
    """(E, E) of the strengths, as the published intervals have it: symmetric, variances >= 0."""
    information: Floats
    """(E, E) symmetric, >= 0: what a vote is expected to tell about the difference of two entities."""
    entity_of: Mapping[str, str]
    """Config key → the entity that it counts as, for the configs that may be compared."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Table → the stored version that this was read from."""
