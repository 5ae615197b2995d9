"""The vocabulary: a study folder read into frozen records; config keys; seeds; errors."""

from s2s_assets.study.canonical import canonical_json, digest, sha256_hex
from s2s_assets.study.errors import (
    AudioError,
    ConfigKeyError,
    FitError,
    IdentityError,
    InputError,
    RatingsError,
    S2SError,
    StoreError,
    StudyError,
)
from s2s_assets.study.findings import Finding
from s2s_assets.study.keys import NO_THINKING, ConfigKey
from s2s_assets.study.load import StudyFolder, load_study
from s2s_assets.study.models import (
    OVERALL,
    Analysis,
    AudioTarget,
    Board,
    By,
    Config,
    Exchange,
    Model,
    Pairing,
    QaLimits,
    Recording,
    Refit,
    Rubric,
    Script,
    Study,
    Variant,
    Voice,
)
from s2s_assets.study.seeds import generator, seed
from s2s_assets.study.settings import Settings

__all__ = [
    "NO_THINKING",
    "OVERALL",
    "Analysis",
    "AudioError",
    "AudioTarget",
    "Board",
    "By",
    "Config",
    "ConfigKey",
    "ConfigKeyError",
    "Exchange",
    "Finding",
    "FitError",
    "IdentityError",
    "InputError",
    "Model",
    "Pairing",
    "QaLimits",
    "RatingsError",
    "Recording",
    "Refit",
    "Rubric",
    "S2SError",
    "Script",
    "Settings",
    "StoreError",
    "Study",
    "StudyError",
    "StudyFolder",
    "Variant",
    "Voice",
    "canonical_json",
    "digest",
    "generator",
    "load_study",
    "seed",
    "sha256_hex",
]
