"""Which board a fit belongs to."""

from dataclasses import dataclass

from s2s_assets.study import OVERALL, By, Study, Variant, seed

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


def bootstrap_seed(study: Study) -> int:
    """The seed of a study's resamples, small enough for any JSON reader."""
    return seed(study.study, "bootstrap") % 2**31
