"""How well a board recovers a planted truth: for studies whose ratings are simulated.

The truth's model qualities (mean over configs) are compared with the headline's strengths: Spearman's rank correlation, the
number of models at their planted rank, and the largest rank error. Fitted strengths are attenuated by rater and prompt
effects, so sizes are compared by a slope and not one by one.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import rankdata, spearmanr

from s2s_assets.study import OVERALL, Study, load_truth


@dataclass(frozen=True)
class Recovery:
    """Planted against fitted."""

    entities: tuple[str, ...]
    planted: tuple[float, ...]
    fitted: tuple[float, ...]
    spearman: float
    at_rank: int
    """Entities at their planted rank."""
    largest_rank_error: int
    slope: float
    """Least-squares slope of fitted on planted strengths, both centred; 1 is no attenuation."""

    def words(self) -> str:
        """One sentence for the page."""
        n = len(self.entities)
        order = " > ".join(self.entities[i] for i in np.argsort(self.planted)[::-1])
        return (
            f"The truth planted in the simulated raters is {order}. The board recovers it with a Spearman correlation of "
            f"{self.spearman:.2f}: {self.at_rank} of {n} at their planted rank, the largest error {self.largest_rank_error}; "
            f"fitted strengths are {self.slope:.2f} times the planted ones, as rater and prompt effects attenuate them."
        )


def recovery(planted: dict[str, float], fitted: dict[str, float]) -> Recovery | None:
    """Compare latent qualities; None with fewer than three entities in both."""
    entities = tuple(sorted(planted.keys() & fitted.keys()))
    if len(entities) < 3:
        return None
    truth, found = (np.array([values[e] for e in entities]) for values in (planted, fitted))
    ranks = [rankdata(-values, method="min") for values in (truth, found)]
    errors = np.abs(ranks[0] - ranks[1])
    centred = truth - truth.mean(), found - found.mean()
    return Recovery(
        entities=entities,
        planted=tuple(truth.tolist()),
        fitted=tuple(found.tolist()),
        spearman=float(spearmanr(truth, found).statistic),
        at_rank=int((errors == 0).sum()),
        largest_rank_error=int(errors.max()),
        slope=float(centred[0] @ centred[1] / (centred[0] @ centred[0])),
    )


def planted_models(study: Study, folder: Path) -> dict[str, float]:
    """Overall quality of each active model by the folder's truth: the mean over its configs; empty without a truth.

    Raises:
        StudyError: the truth does not know a model of the study.
    """
    truth = load_truth(folder)
    if truth is None:
        return {}
    configs = study.active_configs
    models = {c.model.id for c in configs}
    return {
        m: float(np.mean([truth.quality(c.key, OVERALL) for c in configs if c.model.id == m])) for m in sorted(models)
    }


def recovery_paragraphs(study: Study, folder: Path, fits: pl.DataFrame) -> tuple[str, ...]:
    """What the page says of a planted truth; nothing where the study has none.

    Args:
        study: the study; only a simulated one has a truth to speak of.
        folder: its folder.
        fits: `bt_fits`.
    """
    if not study.analysis.simulated:
        return ()
    headline = fits.filter(
        (pl.col("rubric") == OVERALL)
        & (pl.col("by") == "model")
        & (pl.col("slice_dimension") == "all")
        & (pl.col("variant") == study.analysis.headline_variant)
    )
    rows = headline.explode("entities").unnest("entities", separator=".").drop_nulls("entities.strength")
    fitted = dict(rows.select("entities.entity", "entities.strength").iter_rows())
    found = recovery(planted_models(study, folder), fitted)
    return () if found is None else (found.words(),)
