"""The truth that simulated raters answer from, and how well a board recovers it.

Strengths are in logits, as a fit's are: raters whose noise has the variance of a logistic variable, π²/3, make the fit
estimate them. For a comparison both sides are centred over the board's entities; a model's planted strength is the mean
over its configs. Elo = 1000 + (400 / ln 10) · strength.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select

from s2s_assets.ratings.schema import planted
from s2s_assets.ratings.store import RatingsStore, insert_new
from s2s_assets.study import OVERALL

ELO_PER_LOGIT = 400.0 / math.log(10.0)


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


def plant(store: RatingsStore, truth: Mapping[str, Mapping[str, float]]) -> None:
    """Record the strengths, config → rubric → logits, that simulated raters answer from; known ones stay."""
    rows = [
        {"config": config, "rubric": rubric, "strength": strength}
        for config, strengths in truth.items()
        for rubric, strength in strengths.items()
    ]
    with store.writing() as connection:
        insert_new(connection, planted, rows)


def planted_strengths(store: RatingsStore, rubric: str = OVERALL) -> dict[str, float]:
    """Config → planted strength on a rubric, in logits; empty where nobody simulated raters."""
    query = select(planted.c.config, planted.c.strength).where(planted.c.rubric == rubric)
    with store.reading() as connection:
        return dict(connection.execute(query).tuples().all())


def recovered(planted: Mapping[str, float], board: Iterable[Mapping[str, Any]]) -> Recovery:
    """Compare a board by config or by model with what was planted.

    Args:
        planted: Config key → strength in logits.
        board: Rows with `entity`, `elo`, `ci_low` and `ci_high`; rows without an Elo, and entities that nothing was
            planted for, are left out.
    """
    from scipy.stats import kendalltau, spearmanr  # 0.3 s to import, and every command loads this room

    truths = dict(planted) | _by_model(planted)
    rows = [row for row in board if row["elo"] is not None and row["entity"] in truths]
    if not rows:
        return Recovery(0, None, None, 0, 0, 0, 0.0)
    true = np.array([truths[row["entity"]] for row in rows])
    true_elo = 1000.0 + ELO_PER_LOGIT * (true - true.mean())
    fitted_elo = np.array([float(row["elo"]) for row in rows])
    fitted_elo += 1000.0 - fitted_elo.mean()
    shift = float(fitted_elo[0]) - float(rows[0]["elo"])
    bounded = [
        (float(row["ci_low"]) + shift <= elo <= float(row["ci_high"]) + shift)
        for row, elo in zip(rows, true_elo, strict=True)
        if row["ci_low"] is not None and row["ci_high"] is not None
    ]
    return Recovery(
        entities=len(rows),
        spearman=_statistic(spearmanr, true_elo, fitted_elo),
        kendall=_statistic(kendalltau, true_elo, fitted_elo),
        max_rank_difference=int(np.abs(_ranks(true_elo) - _ranks(fitted_elo)).max()),
        covered=sum(bounded),
        intervals=len(bounded),
        rms_elo=float(np.sqrt(np.mean((fitted_elo - true_elo) ** 2))),
    )


def _by_model(planted: Mapping[str, float]) -> dict[str, float]:
    of_model: defaultdict[str, list[float]] = defaultdict(list)
    for config, strength in planted.items():
        of_model[config.partition("|")[0]].append(strength)
    return {model: float(np.mean(strengths)) for model, strengths in of_model.items()}


def _ranks(values: "np.ndarray[Any, np.dtype[np.float64]]") -> "np.ndarray[Any, np.dtype[np.int64]]":
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(values.size)
    return ranks


def _statistic(correlation: Any, x: Any, y: Any) -> float | None:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(correlation(x, y).statistic)
