"""How well a board recovers the truth that simulated raters answered from.

Strengths are in logits, as a fit's are: raters whose noise has the variance of a logistic variable, π²/3, make the fit
estimate them. Both sides are centred over the board's entities; a model's planted strength is the mean over its configs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2s_assets.ranking import ANCHOR_ELO, to_elo
from s2s_assets.study import Floats, Ints


@dataclass(frozen=True)
class Recovery:
    """How a board compares with what was planted."""

    entities: int
    spearman: float | None
    """Rank correlation of planted and fitted strength; None below two entities."""
    kendall: float | None
    max_rank_difference: int
    covered: int
    """Entities whose interval holds the planted Elo."""
    intervals: int
    """Entities that have a bounded interval."""
    rms_elo: float
    """Root mean square of fitted less planted Elo."""

    @property
    def sentence(self) -> str:
        """What a page says about it."""
        if self.spearman is None or self.kendall is None:
            return "Simulated ratings: too few entities to compare the board with the planted ranking."
        if self.max_rank_difference == 0:
            order = "in exactly their planted order"
        else:
            places = "place" if self.max_rank_difference == 1 else "places"
            order = f"at most {self.max_rank_difference} {places} from their planted rank"
        return (
            f"Simulated ratings: the raters answered from a planted truth. The board puts the {self.entities} entities "
            f"{order} (Spearman {self.spearman:.3f}, Kendall {self.kendall:.3f}); {self.covered} of {self.intervals} "
            f"intervals cover the planted Elo; the typical error is {self.rms_elo:.0f} Elo."
        )


def recovered(planted: Mapping[str, float], board: Iterable[Mapping[str, Any]]) -> Recovery:
    """Compare a board by config or by model with what was planted.

    Args:
        planted: Config key → strength in logits.
        board: Rows with `entity`, `elo`, `ci_low` and `ci_high`; rows without an Elo, and entities that nothing was
            planted for, are left out.
    """
    from scipy.stats import kendalltau, spearmanr  # 0.3 s to import, and `s2s rank` needs none of it

    truths = dict(planted) | _by_model(planted)
    rows = [row for row in board if row["elo"] is not None and row["entity"] in truths]
    if not rows:
        return Recovery(0, None, None, 0, 0, 0, 0.0)
    true = np.array([truths[row["entity"]] for row in rows])
    true_elo = to_elo(true - true.mean())
    published_elo = np.array([float(row["elo"]) for row in rows])
    shift = ANCHOR_ELO - float(published_elo.mean())
    fitted_elo = published_elo + shift
    covers = [
        float(row["ci_low"]) + shift <= elo <= float(row["ci_high"]) + shift
        for row, elo in zip(rows, true_elo, strict=True)
        if row["ci_low"] is not None and row["ci_high"] is not None
    ]
    return Recovery(
        entities=len(rows),
        spearman=_statistic(spearmanr, true_elo, fitted_elo),
        kendall=_statistic(kendalltau, true_elo, fitted_elo),
        max_rank_difference=int(np.abs(_ranks(true_elo) - _ranks(fitted_elo)).max()),
        covered=sum(covers),
        intervals=len(covers),
        rms_elo=float(np.sqrt(np.mean((fitted_elo - true_elo) ** 2))),
    )


def _by_model(planted: Mapping[str, float]) -> dict[str, float]:
    of_model: defaultdict[str, list[float]] = defaultdict(list)
    for config, strength in planted.items():
        of_model[config.partition("|")[0]].append(strength)
    return {model: float(np.mean(strengths)) for model, strengths in of_model.items()}


def _ranks(values: Floats) -> Ints:
    """0 for the largest; equal values in their order."""
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(values.size)
    return ranks


def _statistic(correlation: Any, x: Any, y: Any) -> float | None:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(correlation(x, y).statistic)
