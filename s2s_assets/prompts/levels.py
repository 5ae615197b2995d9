"""What the tables of this room are made from, as names of versions for the sensor that keeps them up to date."""

from collections.abc import Iterable

from s2s_assets.study import RecordingVerdict, digest


def verdicts_level(verdicts: Iterable[RecordingVerdict]) -> str:
    """The level of `recorded_prompts` that has taken these verdicts in."""
    return digest([verdict.model_dump(mode="json") for verdict in verdicts])


def recorded_level(version: str) -> str:
    """The level of `normalized_audio` that is made from a version of `recorded_prompts`."""
    return f"recorded {version}"
