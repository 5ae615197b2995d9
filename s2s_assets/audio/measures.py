"""Everything that is measured of a clip, in one record."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from s2s_assets.audio.clip import Clip, is_anti_phase, pcm_sha256
from s2s_assets.audio.levels import decibels, frame_powers, noise_floor_dbfs, silent_ends, speech_level_dbfs
from s2s_assets.audio.loudness import ABSOLUTE_GATE_LUFS, MAX_CHANNELS, MIN_RATE_HZ, loudness_lufs
from s2s_assets.audio.trim import MIN_DURATION_S, kept_part
from s2s_assets.audio.true_peak import true_peak
from s2s_assets.study import AudioError

CLIPPED = "clipped"
ANTI_PHASE = "anti_phase"


@dataclass(frozen=True)
class Measures:
    """Measures of one clip; a null is something that the clip does not have, never a zero."""

    duration_s: float
    sample_rate_hz: int
    channels: int
    loudness_lufs: float
    """Integrated, ITU-R BS.1770."""
    true_peak_dbtp: float
    sample_peak_dbfs: float
    leading_silence_s: float
    trailing_silence_s: float
    clipped_share: float
    """Samples at full scale over those of the part that trimming keeps."""
    noise_floor_dbfs: float | None
    speech_level_dbfs: float | None
    pcm_sha256: str
    warnings: tuple[str, ...]

    def as_row(self) -> dict[str, Any]:
        """The measures as a row of a table or a JSON object."""
        return asdict(self) | {"warnings": list(self.warnings)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Measures":
        """The measures of such a row, which may have other columns too."""
        values = {one.name: row[one.name] for one in fields(cls)}
        return cls(**values | {"warnings": tuple(row["warnings"])})


def require_measurable(clip: Clip) -> None:
    """Refuse what has no loudness for a reason that can be told in advance.

    Raises:
        AudioError: more than 5 channels, a rate below 4 kHz, less than 0.4 s, or silent.
    """
    if clip.channels > MAX_CHANNELS:
        raise AudioError(f"{clip.channels} channels; loudness is defined here for up to {MAX_CHANNELS}")
    if clip.rate_hz < MIN_RATE_HZ:
        raise AudioError(f"a rate of {clip.rate_hz} Hz; at least {MIN_RATE_HZ} Hz are needed")
    if clip.duration_s < MIN_DURATION_S:
        raise AudioError(f"too short: {clip.duration_s:.3f} s, at least {MIN_DURATION_S} s are needed")
    if not np.ptp(clip.samples, axis=0).any():
        raise AudioError("silent: every sample has the same value")


def measure(clip: Clip) -> Measures:
    """Measure a clip.

    Warnings: those of the clip, then `clipped` and `anti_phase` (two channels that cancel when mixed).

    Raises:
        AudioError: more than 5 channels, a rate below 4 kHz, less than 0.4 s, silent, or no block above -70 LUFS.
    """
    require_measurable(clip)
    loudness = loudness_lufs(clip.samples, clip.rate_hz)
    if loudness is None:
        raise AudioError(f"too quiet: nothing in it is above {ABSOLUTE_GATE_LUFS:.0f} LUFS")
    magnitude = np.abs(clip.samples)
    lead, trail = silent_ends(clip.samples, clip.rate_hz)
    powers = frame_powers(clip.samples, clip.rate_hz)
    kept = magnitude[kept_part(clip.samples, clip.rate_hz)]
    clipped_share = float((kept >= clip.full_scale).mean())
    return Measures(
        duration_s=clip.duration_s,
        sample_rate_hz=clip.rate_hz,
        channels=clip.channels,
        loudness_lufs=loudness,
        true_peak_dbtp=decibels(true_peak(clip.samples) ** 2),
        sample_peak_dbfs=decibels(float(magnitude.max()) ** 2),
        leading_silence_s=lead / clip.rate_hz,
        trailing_silence_s=trail / clip.rate_hz,
        clipped_share=clipped_share,
        noise_floor_dbfs=noise_floor_dbfs(powers),
        speech_level_dbfs=speech_level_dbfs(powers),
        pcm_sha256=pcm_sha256(clip),
        warnings=clip.warnings + _noticed(clip, clipped_share),
    )


def _noticed(clip: Clip, clipped_share: float) -> tuple[str, ...]:
    found = {CLIPPED: clipped_share > 0, ANTI_PHASE: is_anti_phase(clip.samples)}
    return tuple(code for code, there in found.items() if there and code not in clip.warnings)
