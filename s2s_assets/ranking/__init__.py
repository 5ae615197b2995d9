"""Ratings to rankings: ordinal Bradley-Terry fits, cross-checks, clustered resampling, ranks."""

from s2s_assets.ranking.assumed_components import assumed_components
from s2s_assets.ranking.boards import (
    MIN_SLICE_RATERS,
    adaptive_votes,
    dropped_raters,
    headline_rows,
    slice_values,
    sliceable,
    standard_boards,
    with_cleaning,
)
from s2s_assets.ranking.bootstrap import bootstrap_boards
from s2s_assets.ranking.crosschecks import ENGINES, EXPECTED_SPEARMAN
from s2s_assets.ranking.diagnose import DIAGNOSTICS_VERSION, diagnose_boards, within_models
from s2s_assets.ranking.diagnostic_records import Diagnostics, Removal
from s2s_assets.ranking.disagreement import cross_check_reason, disagreement
from s2s_assets.ranking.elo import ANCHOR_ELO, ELO_PER_STRENGTH, to_elo
from s2s_assets.ranking.fits import fit_boards, fit_strengths
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
from s2s_assets.ranking.records import BoardFit, BoardIntervals, EntityFit, EntityInterval, Strengths
from s2s_assets.ranking.sandwich import Sandwich
from s2s_assets.ranking.simultaneous import simultaneous
from s2s_assets.ranking.slicing import Slicing, preliminary
from s2s_assets.ranking.spec import METHOD_VERSION, FitSpec, bootstrap_seed, entity_of
from s2s_assets.ranking.uncertainty import stored_uncertainty
from s2s_assets.ranking.variance_components import VarianceComponents, pilot_components

__all__ = [
    "ANCHOR_ELO",
    "DIAGNOSTICS_VERSION",
    "ELO_PER_STRENGTH",
    "ENGINES",
    "EXPECTED_SPEARMAN",
    "FITS_SCHEMA",
    "INTERVALS_SCHEMA",
    "METHOD_VERSION",
    "MIN_SLICE_RATERS",
    "BoardFit",
    "BoardIntervals",
    "Diagnostics",
    "EntityFit",
    "EntityInterval",
    "FitSpec",
    "RankResult",
    "Removal",
    "Sandwich",
    "Slicing",
    "Strengths",
    "VarianceComponents",
    "adaptive_votes",
    "assumed_components",
    "bootstrap_boards",
    "bootstrap_seed",
    "cross_check_reason",
    "diagnose_boards",
    "diagnostics_of",
    "disagreement",
    "dropped_raters",
    "entity_of",
    "fit_boards",
    "fit_strengths",
    "fits_from_frame",
    "fits_to_frame",
    "headline_rows",
    "intervals_from_frame",
    "intervals_to_frame",
    "pilot_components",
    "preliminary",
    "rank",
    "rank_specs",
    "simultaneous",
    "slice_values",
    "sliceable",
    "split_half_strengths",
    "standard_boards",
    "stored_uncertainty",
    "to_elo",
    "with_cleaning",
    "within_models",
]
