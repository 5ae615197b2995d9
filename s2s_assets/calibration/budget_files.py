"""A budget as a document, as tables, and as charts of the trade-off."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from s2s_assets.calibration.budget import BUDGET_VERSION, Choice, Point
from s2s_assets.calibration.foretell import PARTS, Plan, foretell
from s2s_assets.calibration.goals import Decided, Within
from s2s_assets.leaderboard import Line, line_chart, png_width, svg_to_png, table_files
from s2s_assets.ranking import ELO_PER_STRENGTH, VarianceComponents


@dataclass(frozen=True)
class Budget:
    """What was asked and what it comes to."""

    components: VarianceComponents
    choices: tuple[Choice, ...]
    within: Within | None = None
    decided: Decided | None = None
    observed: bool = False
    """Whether the difference to be decided is the one that the pilot observed."""
    most_per_rater: float | None = None
    foretold: float | None = None
    """Half-width in Elo of the widest interval, foretold for the pilot's own size."""
    source: dict[str, Any] = field(default_factory=dict)
    """Of the parts: `file`, `assumed`, `input`, `rubric` and `by`, as in the document."""

    def document(self) -> dict[str, Any]:
        """What `s2s budget --json` prints: plain values, None for what there is not."""
        return {
            "method_version": BUDGET_VERSION,
            **self.source,
            "pilot": self._pilot(),
            "pairs_per_prompt": self.components.arrangement.pairs_per_prompt,
            "effective_share_of_raters": 1.0 / self.components.arrangement.uneven_raters,
            "effects": effects(self.components),
            "goals": self._goals(),
            "designs": [self._design(choice) for choice in self.choices],
            "notes": list(self.components.notes),
        }

    def rows(self) -> pl.DataFrame:
        """A row for each design and number of ratings of a pair; one without these where a design misses its goals."""
        made = []
        for choice in self.choices:
            needed = None if choice.needed is None else choice.needed.plan.ratings_per_pair
            points = {p.plan.ratings_per_pair: p for p in (*choice.points, choice.needed) if p is not None}
            made += [self._row(choice, points[m], m == needed) for m in sorted(points)]
            if choice.reason is not None:
                made.append(self._row(choice, None, False))
        return pl.DataFrame(made, schema=_ROW)

    def _row(self, choice: Choice, point: Point | None, needed: bool) -> dict[str, Any]:
        return {
            "raters": choice.raters,
            "prompts": choice.prompts,
            "pairs_per_prompt": self.components.arrangement.pairs_per_prompt,
            **_point(point, choice),
            "needed": needed,
            "efficient": needed and choice.efficient,
            "fewest": needed and choice.fewest,
            "reason": choice.reason if point is None else None,
        }

    def _design(self, choice: Choice) -> dict[str, Any]:
        return {
            "raters": choice.raters,
            "prompts": choice.prompts,
            "reached": choice.needed is not None,
            "reason": choice.reason,
            **_point(choice.needed, choice),
            "efficient": choice.efficient,
            "fewest": choice.fewest,
            "at": [None if point is None else _point(point, choice) for point in choice.points],
        }

    def _pilot(self) -> dict[str, Any] | None:
        pilot = self.components.pilot
        if pilot is None:
            return None
        half = widest(self.components)
        return {
            "raters": pilot.raters,
            "prompts": pilot.prompts,
            "ratings": pilot.ratings,
            "effective_raters": pilot.effective_raters,
            "effective_prompts": pilot.effective_prompts,
            "pairs_per_prompt": pilot.pairs_per_prompt,
            "ratings_per_pair": pilot.ratings_per_pair,
            "half_width": None if half is None else half[0],
            "entity": None if half is None else half[1],
            "half_width_foretold": self.foretold,
        }

    def _goals(self) -> dict[str, Any]:
        decided = self.decided
        names = self.components.entities
        pair = None if decided is None or decided.pair is None else [names[e] for e in decided.pair]
        return {
            "within": None if self.within is None else self.within.elo,
            "pair": pair,
            "difference": None if decided is None else decided.difference,
            "observed": self.observed,
            "power": None if decided is None else decided.power,
            "simultaneous": decided is not None and decided.simultaneous,
            "ratings_per_rater": self.most_per_rater,
        }


_ROW = {
    "raters": pl.Int64,
    "prompts": pl.Int64,
    "pairs_per_prompt": pl.Float64,
    "ratings_per_pair": pl.Int64,
    "ratings": pl.Int64,
    "ratings_per_rater": pl.Float64,
    "half_width": pl.Float64,
    "entity": pl.String,
    "half_width_bootstrap": pl.Float64,
    "power": pl.Float64,
    "needed": pl.Boolean,
    "efficient": pl.Boolean,
    "fewest": pl.Boolean,
    "reason": pl.String,
}


def effects(components: VarianceComponents) -> dict[str, float]:
    """What one rater, prompt, pair on a prompt, rater on a prompt or rating adds to an entity, as a spread in Elo."""
    n = len(components.entities)
    return {
        part: float(ELO_PER_STRENGTH * np.sqrt(max(np.trace(getattr(components, part)) / n, 0.0))) for part in PARTS
    }


def widest(components: VarianceComponents) -> tuple[float, str] | None:
    """Half-width in Elo and entity of the pilot's widest sandwich interval."""
    pilot = components.pilot
    if pilot is None or not np.isfinite(pilot.robust.se).any():
        return None
    at = int(np.nanargmax(pilot.robust.se))
    return float(ELO_PER_STRENGTH * pilot.robust.quantile * pilot.robust.se[at]), components.entities[at]


def foretold_of_pilot(components: VarianceComponents) -> float | None:
    """What is foretold for a study of the pilot's own size, to hold against what it has: the widest half-width."""
    pilot = components.pilot
    if pilot is None:
        return None
    return float(foretell(components, Plan(pilot.raters, pilot.prompts, pilot.ratings_per_pair)).half_widths.max())


def write_budget(found: Budget, out: Path) -> None:
    """Write `budget.{csv,json,parquet}`, `half-width.{svg,png}` and, where one is asked for, `power.{svg,png}`.

    Raises:
        OSError: the folder cannot be written.
    """
    files = table_files("budget", found.rows())
    for name, drawn in charts(found).items():
        files |= {f"{name}.svg": drawn.encode(), f"{name}.png": svg_to_png(drawn, png_width(drawn))}
    for name, data in files.items():
        (out / name).write_bytes(data)


def charts(found: Budget) -> dict[str, str]:
    """The trade-off as SVG, by file name without ending: a curve for each number of raters and prompts."""
    x_unit = "ratings in all (logarithmic)"
    level = None if found.within is None else found.within.elo
    goal = "" if level is None else f"; dashed: ±{level:g}, dots: where all goals are reached"
    unit = f"half-width of the widest 95 % interval, Elo{goal}"
    drawn = {
        "half-width": line_chart(
            _lines(found.choices, "half_width"), "What more ratings give", x_unit=x_unit, y_unit=unit, level=level
        )
    }
    if found.decided is not None:
        unit = f"power for {found.decided.difference:.3g} Elo; dashed: {found.decided.power:g}, dots: where all goals are reached"
        drawn["power"] = line_chart(
            _lines(found.choices, "power"),
            "What more ratings decide",
            x_unit=x_unit,
            y_unit=unit,
            level=found.decided.power,
            decimals=2,
        )
    return drawn


def _lines(choices: Sequence[Choice], what: str) -> list[Line]:
    raters, prompts = (sorted({getattr(c, of) for c in choices}) for of in ("raters", "prompts"))
    return [
        Line(
            label=f"{c.raters:,} raters × {c.prompts:,} prompts",
            points=tuple((float(p.ratings), getattr(p, what)) for p in c.curve),
            colour=raters.index(c.raters),
            dash=prompts.index(c.prompts),
            dot=None if c.needed is None else (float(c.needed.ratings), getattr(c.needed, what)),
        )
        for c in choices
    ]


def _point(point: Point | None, choice: Choice) -> dict[str, Any]:
    return {
        "ratings_per_pair": None if point is None else int(point.plan.ratings_per_pair),
        "ratings": None if point is None else point.ratings,
        "ratings_per_rater": None if point is None else point.ratings / choice.raters,
        "half_width": None if point is None else point.half_width,
        "entity": None if point is None else point.entity,
        "half_width_bootstrap": None if point is None else point.half_width_bootstrap,
        "power": None if point is None else point.power,
    }
