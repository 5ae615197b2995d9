"""What is to be said and how it was recorded: scripts, takes, and what is asked of their sound. Nothing here reads a file."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from s2s_assets.study.record import KeyPart, Record

Acoustic = Literal["clean", "indoor_noise", "outdoor_noise", "far_field"]
ACOUSTICS: tuple[str, ...] = get_args(Acoustic)
Level = Literal["L1", "L2", "L3", "L4", "L5"]
LEVELS: tuple[str, ...] = get_args(Level)
Dimension = Literal["category", "level", "acoustic"]
DIMENSIONS: tuple[str, ...] = get_args(Dimension)
"""Attributes of a prompt by which plans are balanced and boards are sliced."""


class Category(Record):
    """An objective category of prompts; its `meaning` is for readers of the study."""

    id: KeyPart
    meaning: str = ""


class Script(Record):
    """One row of prompts.csv: what is to be said."""

    prompt: KeyPart
    text: str = ""
    category: str
    level: Level
    acoustic: Acoustic = "clean"
    tags: frozenset[str] = frozenset()
    split: Literal["private", "public"] = "private"
    line: int
    """Line in prompts.csv, header = 1."""


class Recording(Record):
    """One row of recordings.csv: a take of a script."""

    recording: KeyPart
    prompt: str
    file: str
    """Path below the study's recordings folder."""
    speaker: str = ""
    verdict: Literal["accept", "reject"] | None = None
    verdict_reason: str = ""
    verdict_by: str = ""
    line: int


class QaLimits(Record):
    """Limits of the automated check of a recording."""

    min_duration_s: float = 0.4
    max_duration_s: float = 120.0
    max_clipped_share: float = 0.001
    max_noise_floor_dbfs: float = -45.0
    max_noise_floor_degraded_dbfs: float = -20.0
    min_speech_level_dbfs: float = -45.0
    max_silence_s: float = 5.0
    """At either end; more hints at a recording that went wrong, though it would be trimmed."""


class AudioTarget(Record):
    """What normalization aims at."""

    target_lufs: Annotated[float, Field(ge=-60, le=-5)] = -23.0
    ceiling_dbtp: Annotated[float, Field(ge=-20, le=0)] = -1.0
    trim: bool = True
