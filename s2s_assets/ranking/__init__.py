"""Ratings to rankings: ordinal Bradley-Terry fits, cross-checks, clustered resampling, ranks."""

from s2s_assets.ranking.boards import dropped_raters, headline_rows, slice_values, standard_boards
from s2s_assets.ranking.bootstrap import bootstrap_boards
from s2s_assets.ranking.counts import entity_of
from s2s_assets.ranking.crosschecks import EXPECTED_SPEARMAN
from s2s_assets.ranking.diagnose import DIAGNOSTICS_VERSION, diagnose_boards, within_models
from s2s_assets.ranking.diagnostic_records import Diagnostics, Removal
from s2s_assets.ranking.elo import ANCHOR_ELO, ELO_PER_STRENGTH, to_elo
from s2s_assets.ranking.fits import fit_boards
from s2s_assets.ranking.frames import (
    FITS_SCHEMA,
    INTERVALS_SCHEMA,
    diagnostics_of,
    fits_from_frame,
    fits_to_frame,
    intervals_from_frame,
    intervals_to_frame,
)
from s2s_assets.ranking.halves import split_half_strengths
from s2s_assets.ranking.rank import RankResult, rank, rank_specs
from s2s_assets.ranking.records import BoardFit, BoardIntervals, EntityFit, EntityInterval
from s2s_assets.ranking.spec import METHOD_VERSION, FitSpec, bootstrap_seed

__all__ = [
    "ANCHOR_ELO",
    "DIAGNOSTICS_VERSION",
    "ELO_PER_STRENGTH",
    "EXPECTED_SPEARMAN",
    "FITS_SCHEMA",
    "INTERVALS_SCHEMA",
    "METHOD_VERSION",
    "BoardFit",
    "BoardIntervals",
    "Diagnostics",
    "EntityFit",
    "EntityInterval",
    "FitSpec",
    "RankResult",
    "Removal",
    "bootstrap_boards",
    "bootstrap_seed",
    "diagnose_boards",
    "diagnostics_of",
    "dropped_raters",
    "entity_of",
    "fit_boards",
    "fits_from_frame",
    "fits_to_frame",
    "headline_rows",
    "intervals_from_frame",
    "intervals_to_frame",
    "rank",
    "rank_specs",
    "slice_values",
    "split_half_strengths",
    "standard_boards",
    "to_elo",
    "within_models",
]
