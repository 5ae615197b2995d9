"""The tables `bt_fits` and `bootstrap_cis`, and the records they hold, back and forth without loss."""

from collections.abc import Sequence

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
from s2s_assets.ranking.structs import plain, record_of, struct_of
from s2s_assets.study import Floats

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
    "entities": pl.List(struct_of(EntityFit)),
    "spearman_massey": pl.Float64,
    "spearman_partial_margin_bt": pl.Float64,
}
"""Columns of `bt_fits`, one row a fit: its id, then the fields of its `FitSpec` and of `BoardFit`."""

INTERVALS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "fit": pl.String,
    "resamples": pl.Int64,
    "reason": pl.String,
    "entities": pl.List(struct_of(EntityInterval)),
    "pairs": pl.List(struct_of(PairInterval)),
    "draws": pl.List(_FLOATS),
    "agreement": pl.List(struct_of(EngineAgreement)),
    "diagnostics": struct_of(Diagnostics),
}
"""Columns of `bootstrap_cis`, one row a fit: the fields of `BoardIntervals`. A draw is null without a value, and may be
±infinite."""


def fits_to_frame(fits: Sequence[BoardFit]) -> pl.DataFrame:
    """Fits as a `bt_fits` table, in their order."""
    rows = [{"fit": fit.fit, **plain(fit.spec), **plain(fit)} for fit in fits]
    return pl.DataFrame(rows, schema=FITS_SCHEMA, orient="row")


def fits_from_frame(frame: pl.DataFrame) -> tuple[BoardFit, ...]:
    """The fits of a `bt_fits` table."""
    return tuple(record_of(BoardFit, {**row, "spec": row}) for row in frame.iter_rows(named=True))


def intervals_to_frame(intervals: Sequence[BoardIntervals]) -> pl.DataFrame:
    """Intervals and draws as a `bootstrap_cis` table, in their order."""
    without_draws = {name: kind for name, kind in INTERVALS_SCHEMA.items() if name != "draws"}
    rows = [{name: plain(getattr(i, name)) for name in without_draws} for i in intervals]
    frame = pl.DataFrame(rows, schema=without_draws, orient="row")
    draws = [[pl.Series(row, dtype=pl.Float64).fill_nan(None) for row in i.draws] for i in intervals]
    return frame.with_columns(pl.Series("draws", draws, dtype=INTERVALS_SCHEMA["draws"])).select(*INTERVALS_SCHEMA)


def intervals_from_frame(frame: pl.DataFrame) -> tuple[BoardIntervals, ...]:
    """The intervals and draws of a `bootstrap_cis` table; one from before engines were resampled has no agreement."""
    rows = frame.drop("draws").iter_rows(named=True)
    return tuple(
        record_of(
            BoardIntervals,
            {**row, "draws": _draws(draws, row["resamples"]), "agreement": row.get("agreement") or ()},
        )
        for row, draws in zip(rows, frame["draws"], strict=True)
    )


def diagnostics_of(frame: pl.DataFrame, fit: str) -> Diagnostics | None:
    """What a `bootstrap_cis` table says about one fit; None where it says nothing."""
    row = frame.filter(pl.col("fit") == fit).select("diagnostics").to_dicts() if "diagnostics" in frame.columns else []
    return record_of(Diagnostics, row[0]["diagnostics"]) if row and row[0]["diagnostics"] is not None else None


def _draws(draws: pl.Series, resamples: int) -> Floats:
    """(entities, resamples) with NaN for null."""
    values = [entity.cast(pl.Float64).fill_null(np.nan).to_numpy() for entity in draws]
    return np.array(values, np.float64).reshape(len(values), resamples)
