"""The vocabulary: a study folder read into frozen records; config keys; seeds; errors."""

from s2s_assets.study.arrays import Bools, Floats, Ints
from s2s_assets.study.blas import one_blas_thread
from s2s_assets.study.canonical import canonical_json, digest, sha256_hex
from s2s_assets.study.cleaning import Cleaning
from s2s_assets.study.configs import SHARED, Config, Model, Voice
from s2s_assets.study.document import Board, Study, Variant
from s2s_assets.study.errors import (
    AudioError,
    ConfigKeyError,
    FitError,
    IdentityError,
    InputError,
    ObjectNotFoundError,
    PilotError,
    RatingsError,
    ReleaseError,
    S2SError,
    StoreError,
    StudyError,
)
from s2s_assets.study.findings import Finding
from s2s_assets.study.freeze import FreezeReader, Frozen, Take
from s2s_assets.study.groups import families_of, read_groups
from s2s_assets.study.inference import COLUMNS as INFERENCE_COLUMNS
from s2s_assets.study.inference import InferenceRow, inference_rows, instructions
from s2s_assets.study.keys import NO_THINKING, ConfigKey
from s2s_assets.study.load import StudyFolder, load_study
from s2s_assets.study.pairing import MAX_ADAPTIVE_SHARE, MIN_ADAPTIVE_RESAMPLES, Adaptive, By
from s2s_assets.study.scripts import ACOUSTICS, DIMENSIONS, LEVELS, Acoustic, AudioTarget, QaLimits, Recording, Script
from s2s_assets.study.seeds import generator, seed
from s2s_assets.study.sending import Exchange, Price, Provider
from s2s_assets.study.sessions import OVERALL, Rubric
from s2s_assets.study.settings import Settings
from s2s_assets.study.truth import Truth, load_truth
from s2s_assets.study.uncertainty import Uncertainty
from s2s_assets.study.verdicts import FAULTS, Judgement, RecordingVerdict
from s2s_assets.study.words import percent, plural

__all__ = [
    "ACOUSTICS",
    "DIMENSIONS",
    "FAULTS",
    "INFERENCE_COLUMNS",
    "LEVELS",
    "MAX_ADAPTIVE_SHARE",
    "MIN_ADAPTIVE_RESAMPLES",
    "NO_THINKING",
    "OVERALL",
    "SHARED",
    "Acoustic",
    "Adaptive",
    "AudioError",
    "AudioTarget",
    "Board",
    "Bools",
    "By",
    "Cleaning",
    "Config",
    "ConfigKey",
    "ConfigKeyError",
    "Exchange",
    "Finding",
    "FitError",
    "Floats",
    "FreezeReader",
    "Frozen",
    "IdentityError",
    "InferenceRow",
    "InputError",
    "Ints",
    "Judgement",
    "Model",
    "ObjectNotFoundError",
    "PilotError",
    "Price",
    "Provider",
    "QaLimits",
    "RatingsError",
    "Recording",
    "RecordingVerdict",
    "ReleaseError",
    "Rubric",
    "S2SError",
    "Script",
    "Settings",
    "StoreError",
    "Study",
    "StudyError",
    "StudyFolder",
    "Take",
    "Truth",
    "Uncertainty",
    "Variant",
    "Voice",
    "canonical_json",
    "digest",
    "families_of",
    "generator",
    "inference_rows",
    "instructions",
    "load_study",
    "load_truth",
    "one_blas_thread",
    "percent",
    "plural",
    "read_groups",
    "seed",
    "sha256_hex",
]
