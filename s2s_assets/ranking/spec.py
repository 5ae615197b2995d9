"""Which board a fit belongs to, and what a config counts as on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from s2s_assets.study import OVERALL, By, ConfigKey, ConfigKeyError, InputError, Study, Variant, seed

METHOD_VERSION = "ordinal-bt-1"
"""Changes whenever the same ratings would give other numbers: model, resampling, seeds, anchors or rules of validity."""
CLEANED_BY = "cleaned_by"
"""Optional column of ratings: the rule by which the cleaned variant leaves an answer out."""


@dataclass(frozen=True)
class FitSpec:
    """A board: a rubric (or several, each with thresholds of its own), the entities, a slice and a variant."""

    rubric: str = OVERALL
    """Name of the board's rubric or cluster."""
    by: By = "model"
    slice_dimension: str = "all"
    slice_value: str = "all"
    variant: Variant = "all"
    members: tuple[str, ...] = ()
    """The rubrics of a cluster; empty for the rubric itself."""
    min_ratings: int = 1
    """A board with fewer ratings is not made."""

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics whose ratings are used, one stratum each."""
        return self.members or (self.rubric,)

    @property
    def fit(self) -> str:
        """The fit's id, without the component of a disconnected board."""
        return f"{self.rubric}/{self.by}/{self.slice_dimension}/{self.slice_value}/{self.variant}"

    def fit_of(self, component: int | None) -> str:
        """The id of one component's fit; None where the board is connected."""
        return self.fit if component is None else f"{self.fit}/{component}"


def entity_of(config: str, by: By, families: Mapping[str, str]) -> str:
    """What a config counts as on a board.

    Raises:
        ConfigKeyError: the board pools configs, and this one is no config key.
        InputError: the board is by family, and the model has none.
    """
    if by == "config":
        return config
    try:
        key = ConfigKey.parse(config)
    except ConfigKeyError as error:
        raise ConfigKeyError(f"{error}; only a board by config takes other names") from error
    if by == "family":
        if key.model not in families:
            raise InputError(f"model {key.model!r} has no family: add it to the families file or to the study")
        return families[key.model]
    return {"model": key.model, "voice": f"{key.model}|{key.voice}", "thinking": f"{key.model}|{key.thinking}"}[by]


def bootstrap_seed(study: Study) -> int:
    """The seed of a study's resamples, small enough for any JSON reader."""
    return seed(study.study, "bootstrap") % 2**31
