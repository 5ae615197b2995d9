"""The tables `bt_fits` and `bootstrap_cis`, and the records they hold, back and forth without loss."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from s2s_assets.ranking.diagnostic_records import Diagnostics
from s2s_assets.ranking.records import (
    BoardFit,
    BoardIntervals,
    EngineAgreement,
    EntityFit,
    EntityInterval,
    PairInterval,
)
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.ranking.structs import record_of, struct_of

_FLOATS = pl.List(pl.Float64)
_NAMES = pl.List(pl.String)

FITS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "fit": pl.String,
    "rubric": pl.String,
    "members": _NAMES,
    "by": pl.String,
    "slice_dimension": pl.String,
    "slice_value": pl.String,
    "variant": pl.String,
    "min_ratings": pl.Int64,
    "component": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
    "n_ratings": pl.Int64,
    "n_raters": pl.Int64,
    "n_prompts": pl.Int64,
    "n_within": pl.Int64,
    "thresholds": _FLOATS,
    "merged_scores": pl.List(pl.Int64),
    "log_likelihood": pl.Float64,
    "components": pl.List(_NAMES),
    "ridge_lambda": pl.Float64,
    "entities": pl.List(
        pl.Struct(
            {
                "entity": pl.String,
                "strength": pl.Float64,
                "elo": pl.Float64,
                "rank": pl.Int64,
                "bound": pl.String,
                "ridge": pl.Float64,
                "massey": pl.Float64,
                "partial_margin_bt": pl.Float64,
                "n_ratings": pl.Int64,
                "n_raters": pl.Int64,
                "n_prompts": pl.Int64,
            }
        )
    ),
    "spearman_massey": pl.Float64,
    "spearman_partial_margin_bt": pl.Float64,
}
"""Columns of `bt_fits`, one row a fit."""

INTERVALS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "fit": pl.String,
    "resamples": pl.Int64,
    "reason": pl.String,
    "entities": pl.List(
        pl.Struct(
            {
                "entity": pl.String,
                "ci_low": pl.Float64,
                "ci_high": pl.Float64,
                "rank_low": pl.Int64,
                "rank_high": pl.Int64,
                "se_sandwich": pl.Float64,
                "sandwich_low": pl.Float64,
                "sandwich_high": pl.Float64,
                "valid_resamples": pl.Int64,
                "bound": pl.String,
                "letters": pl.String,
                "delta": pl.Float64,
                "delta_low": pl.Float64,
                "delta_high": pl.Float64,
            }
        )
    ),
    "pairs": pl.List(
        pl.Struct(
            {
                "a": pl.String,
                "b": pl.String,
                "n": pl.Int64,
                "mean_score": pl.Float64,
                "difference": pl.Float64,
                "ci_low": pl.Float64,
                "ci_high": pl.Float64,
                "simultaneous_low": pl.Float64,
                "simultaneous_high": pl.Float64,
                "expected_score": pl.Float64,
                "misfit": pl.Float64,
            }
        )
    ),
    "draws": pl.List(_FLOATS),
    "agreement": pl.List(struct_of(EngineAgreement)),
    "diagnostics": struct_of(Diagnostics),
}
"""Columns of `bootstrap_cis`, one row a fit; a draw is null without a value, and may be ±infinite."""

_SPEC = ("rubric", "by", "slice_dimension", "slice_value", "variant", "min_ratings")


def fits_to_frame(fits: Sequence[BoardFit]) -> pl.DataFrame:
    """Fits as a `bt_fits` table, in their order."""
    return pl.DataFrame([_fit_row(fit) for fit in fits], schema=FITS_SCHEMA, orient="row")


def fits_from_frame(frame: pl.DataFrame) -> tuple[BoardFit, ...]:
    """The fits of a `bt_fits` table."""
    return tuple(_fit(row) for row in frame.iter_rows(named=True))


def intervals_to_frame(intervals: Sequence[BoardIntervals]) -> pl.DataFrame:
    """Intervals and draws as a `bootstrap_cis` table, in their order."""
    plain = [
        {
            "fit": i.fit,
            "resamples": i.resamples,
            "reason": i.reason,
            "entities": [asdict(e) for e in i.entities],
            "pairs": [asdict(p) for p in i.pairs],
            "agreement": [asdict(a) for a in i.agreement],
            "diagnostics": None if i.diagnostics is None else asdict(i.diagnostics),
        }
        for i in intervals
    ]
    without_draws = {name: kind for name, kind in INTERVALS_SCHEMA.items() if name != "draws"}
    frame = pl.DataFrame(plain, schema=without_draws, orient="row")
    draws = [[pl.Series(row, dtype=pl.Float64).fill_nan(None) for row in i.draws] for i in intervals]
    return frame.with_columns(pl.Series("draws", draws, dtype=INTERVALS_SCHEMA["draws"])).select(*INTERVALS_SCHEMA)


def intervals_from_frame(frame: pl.DataFrame) -> tuple[BoardIntervals, ...]:
    """The intervals and draws of a `bootstrap_cis` table."""
    return tuple(_intervals(row, draws) for row, draws in zip(_rows(frame.drop("draws")), frame["draws"], strict=True))


def diagnostics_of(frame: pl.DataFrame, fit: str) -> Diagnostics | None:
    """What a `bootstrap_cis` table says about one fit; None where it says nothing."""
    row = frame.filter(pl.col("fit") == fit).select("diagnostics").to_dicts() if "diagnostics" in frame.columns else []
    return record_of(Diagnostics, row[0]["diagnostics"]) if row and row[0]["diagnostics"] is not None else None


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dicts()


def _fit_row(fit: BoardFit) -> dict[str, Any]:
    row = {"fit": fit.fit, "members": list(fit.spec.members)}
    row |= {name: getattr(fit.spec, name) for name in _SPEC}
    row |= {name: getattr(fit, name) for name in FITS_SCHEMA if name not in row and name != "entities"}
    row |= {name: list(row[name]) for name in ("thresholds", "merged_scores")}
    return row | {
        "components": [list(c) for c in fit.components],
        "entities": [asdict(e) for e in fit.entities],
    }


def _fit(row: dict[str, Any]) -> BoardFit:
    spec = FitSpec(members=tuple(row["members"]), **{name: row[name] for name in _SPEC})
    taken = {"fit", "members", "entities", "components", "thresholds", "merged_scores", *_SPEC}
    return BoardFit(
        spec=spec,
        thresholds=tuple(row["thresholds"]),
        merged_scores=tuple(row["merged_scores"]),
        components=tuple(tuple(c) for c in row["components"]),
        entities=tuple(EntityFit(**e) for e in row["entities"]),
        **{name: value for name, value in row.items() if name not in taken},
    )


def _intervals(row: dict[str, Any], draws: pl.Series) -> BoardIntervals:
    values = [entity.cast(pl.Float64).fill_null(np.nan).to_numpy() for entity in draws]
    return BoardIntervals(
        fit=row["fit"],
        resamples=row["resamples"],
        reason=row["reason"],
        entities=tuple(EntityInterval(**e) for e in row["entities"]),
        pairs=tuple(PairInterval(**p) for p in row["pairs"]),
        draws=np.array(values, np.float64).reshape(len(row["entities"]), row["resamples"]),
        agreement=tuple(EngineAgreement(**a) for a in row.get("agreement") or ()),
        diagnostics=None if row["diagnostics"] is None else record_of(Diagnostics, row["diagnostics"]),
    )
