"""Scripts and takes whose quality is known, and blobs in memory."""

import hashlib
import io
from collections.abc import Callable

import numpy as np
import pytest
import soundfile as sf

from s2s_assets.study import Recording, Script

RATE_HZ = 16000


class Blobs(dict[str, bytes]):
    """Content-addressed bytes; counts what is put."""

    puts = 0

    def put(self, data: bytes, suffix: str) -> str:
        self.puts += 1
        reference = f"{hashlib.sha256(data).hexdigest()}.{suffix}"
        self[reference] = data
        return reference


def _take(
    level_dbfs: float = -20.0, noise_dbfs: float = -70.0, seconds: float = 1.5, lead_s: float = 0.1, drive: float = 1.0
) -> bytes:
    """A WAV file of a tone in noise with a pause at the start; `drive` above 1 clips it."""
    lead = round(lead_s * RATE_HZ)
    at = np.arange(round(seconds * RATE_HZ))
    samples = np.random.default_rng(0).normal(0, 10 ** (noise_dbfs / 20), lead + len(at))
    samples[lead:] += 10 ** (level_dbfs / 20) * np.sqrt(2) * np.sin(2 * np.pi * 440 * at / RATE_HZ) * drive
    file = io.BytesIO()
    sf.write(file, np.clip(samples, -1, 1), RATE_HZ, format="WAV", subtype="PCM_16")
    return file.getvalue()


@pytest.fixture(scope="session")
def take() -> Callable[..., bytes]:
    """Makes the audio of a recording."""
    return _take


@pytest.fixture
def blobs() -> Blobs:
    """An empty store of blobs."""
    return Blobs()


@pytest.fixture(scope="session")
def script() -> Callable[..., Script]:
    """Makes a script of a name."""
    return lambda prompt, **more: Script(
        **{"prompt": prompt, "text": f"Say {prompt}.", "category": "facts", "level": "L1", "line": 2} | more
    )


@pytest.fixture(scope="session")
def recording() -> Callable[..., Recording]:
    """Makes a recording `PROMPT-LETTER` of its prompt."""
    return lambda name, **more: Recording(
        **{"recording": name, "prompt": name.rpartition("-")[0], "file": f"{name}.wav", "line": 2} | more
    )
