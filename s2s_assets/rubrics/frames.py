"""The table `rubric_clusters`: one row that holds a `ClusterReport`, back and forth without loss."""

from dataclasses import asdict, fields
from typing import Any

import polars as pl

from s2s_assets.ranking import (
    FITS_SCHEMA,
    INTERVALS_SCHEMA,
    fits_from_frame,
    fits_to_frame,
    intervals_from_frame,
    intervals_to_frame,
)
from s2s_assets.rubrics.boards import ClusterReport
from s2s_assets.rubrics.records import Agreement, LeftOut, Partition, RubricClusters

_NAMES = pl.List(pl.String)
_AGREEMENT = pl.Struct(
    {
        "mean": pl.Float64,
        "sd": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "splits": pl.Int64,
        "used": pl.Int64,
        "dropped": pl.Int64,
    }
)
_PARTITION = pl.Struct(
    {
        "k": pl.Int64,
        "labels": pl.List(pl.Int64),
        "clusters": pl.List(_NAMES),
        "reliability": pl.Float64,
        "chance": pl.Float64,
        "chance_high": pl.Float64,
        "moved": pl.List(pl.Float64),
        "split_half": _AGREEMENT,
    }
)
CLUSTERS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "status": pl.String,
    "reason": pl.String,
    "k": pl.Int64,
    "names": _NAMES,
    "rubrics": _NAMES,
    "left_out": pl.List(pl.Struct({"rubric": pl.String, "reason": pl.String})),
    "n_entities": pl.Int64,
    "resamples": pl.Int64,
    "resamples_used": pl.Int64,
    "pc1_share": pl.Float64,
    "gap": pl.Float64,
    "similarity": pl.List(pl.List(pl.Float64)),
    "partitions": pl.List(_PARTITION),
    "fits": pl.List(pl.Struct(FITS_SCHEMA)),
    "intervals": pl.List(pl.Struct(INTERVALS_SCHEMA)),
}
"""Columns of `rubric_clusters`; `fits` and `intervals` hold rows of `bt_fits` and `bootstrap_cis`."""


def clusters_to_frame(report: ClusterReport) -> pl.DataFrame:
    """A report as its one-row table."""
    plain = {name: value for name, value in asdict(report.clusters).items() if name in CLUSTERS_SCHEMA}
    row = pl.DataFrame([plain | {"names": report.names}], schema={n: CLUSTERS_SCHEMA[n] for n in (*plain, "names")})
    parts = {"fits": fits_to_frame(report.fits), "intervals": intervals_to_frame(report.intervals)}
    nested = [frame.to_struct(name).implode().cast(CLUSTERS_SCHEMA[name]) for name, frame in parts.items()]
    return row.with_columns(nested).select(*CLUSTERS_SCHEMA)


def clusters_from_frame(frame: pl.DataFrame) -> ClusterReport:
    """The report of a one-row table."""
    row = frame.drop("fits", "intervals").row(0, named=True)
    plain: dict[str, Any] = {f.name: _frozen(row[f.name]) for f in fields(RubricClusters)}
    plain["left_out"] = tuple(LeftOut(**out) for out in row["left_out"])
    plain["partitions"] = tuple(_partition(partition) for partition in row["partitions"])
    return ClusterReport(
        RubricClusters(**plain),
        tuple(row["names"]),
        fits_from_frame(_unnested(frame, "fits")),
        intervals_from_frame(_unnested(frame, "intervals")),
    )


def _unnested(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    rows: pl.Series = frame[name][0]
    return rows.struct.unnest()


def _partition(row: dict[str, Any]) -> Partition:
    plain = {name: _frozen(value) for name, value in row.items() if name != "split_half"}
    return Partition(**plain, split_half=Agreement(**row["split_half"]))


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
