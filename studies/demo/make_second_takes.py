"""Makes the demo's worse takes and its degraded prompt from the good recordings beside it.

Run once, `python studies/demo/make_second_takes.py`; the results are committed. They stand in for what a contributor's
bad microphone, a running fan or a late start of speech would have left, so that the choice between takes has something
to choose. Same input, same bytes.
"""

from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import butter, sosfilt

RECORDINGS = Path(__file__).parent / "recordings"
SEED = 20260701


def noise(frames: int, rate_hz: int, level_dbfs: float) -> np.ndarray:
    """Low-passed noise as of a fan, shape (frames,), RMS `level_dbfs`."""
    raw = sosfilt(butter(2, 900, fs=rate_hz, output="sos"), np.random.default_rng(SEED).standard_normal(frames))
    return raw / np.sqrt(np.mean(raw**2)) * 10 ** (level_dbfs / 20)


def main() -> None:
    """Write every derived take."""
    weasels, rate_hz = sf.read(RECORDINGS / "asterisk_en/tt-weasels.flac")
    participant, _ = sf.read(RECORDINGS / "asterisk_en/conf-onlyone.flac")
    no_service, _ = sf.read(RECORDINGS / "asterisk_en/ss-noservice.flac")
    leader, _ = sf.read(RECORDINGS / "asterisk_en/conf-waitforleader.flac")
    takes = {
        "weasels_clipped": 6 * weasels,
        "participant_fan": participant + noise(len(participant), rate_hz, -34),
        "no_service_cut": no_service[: int(2.9 * rate_hz)],
        "leader_indoor_noise": 0.7 * leader + noise(len(leader), rate_hz, -30),
    }
    for name, samples in takes.items():
        path = RECORDINGS / "second_takes" / f"{name}.flac"
        sf.write(path, np.clip(samples, -1, 1), rate_hz, subtype="PCM_16")


if __name__ == "__main__":
    main()
