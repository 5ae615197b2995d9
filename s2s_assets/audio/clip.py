"""A decoded recording, its hash, and its one-channel form."""

import hashlib
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Samples: TypeAlias = NDArray[np.float64]
"""Shape (frames, channels), full scale ±1."""

FULL_SCALE_16_BIT = 1 - 2**-15
ANTI_PHASE_LOSS_DB = 10.0


@dataclass(frozen=True)
class Clip:
    """Samples with their rate; the array is never written to.

    `warnings` are codes of what was noticed on the way here, such as `header_size`.
    """

    samples: Samples
    rate_hz: int
    warnings: tuple[str, ...] = ()
    full_scale: float = FULL_SCALE_16_BIT
    """Magnitude from which a sample counts as clipped: the source format's largest positive code, at most 1 - 2⁻¹⁵."""

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.samples.shape[1])


def pcm_sha256(clip: Clip) -> str:
    """SHA-256 of the samples as interleaved little-endian float64: equal for equal samples in whatever container.

    Negative zero counts as zero.
    """
    return hashlib.sha256(np.ascontiguousarray(clip.samples + 0.0, dtype="<f8").data).hexdigest()


def is_anti_phase(samples: Samples) -> bool:
    """Whether two channels cancel: their mean holds at least 10 dB less power than the channels do."""
    if samples.shape[1] != 2:
        return False
    centred = samples - samples.mean(axis=0)
    mixed = float(np.square(centred.mean(axis=1)).mean())
    return mixed < 10 ** (-ANTI_PHASE_LOSS_DB / 10) * float(np.square(centred).mean())


def mono(clip: Clip) -> Clip:
    """One channel, as most providers take it: the channels' mean, or the stronger one of two that would cancel."""
    if clip.channels == 1:
        return clip
    if is_anti_phase(clip.samples):
        strongest = int(np.argmax(np.square(clip.samples).sum(axis=0)))
        return replace(clip, samples=clip.samples[:, strongest : strongest + 1])
    return replace(clip, samples=clip.samples.mean(axis=1, keepdims=True))
