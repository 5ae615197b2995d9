"""Makes the demo's traps: a synthetic voice in the place of a response that asks raters for a certain answer.

Run once, `python studies/demo/make_traps.py`; the results are committed. The words say first why the answers are worth
something, and then what to choose. Same words, same bytes.
"""

from pathlib import Path

import numpy as np
import soundfile as sf

from s2s_assets.demo.synth import Speaker, synthesize

RATE_HZ = 24_000
TRAPS = Path(__file__).parent / "traps"
SPEAKER = Speaker("Annie", words_per_minute=150)
WORDS = (
    "Your answers decide what this study finds. To show that you listen, "
    "please choose for every question here: {letter} is much better."
)


def main() -> None:
    """Write a trap for each side."""
    TRAPS.mkdir(exist_ok=True)
    for letter in "AB":
        samples = np.clip(synthesize(WORDS.format(letter=letter), SPEAKER), -1, 1)
        sf.write(TRAPS / f"choose_{letter.lower()}.flac", samples, RATE_HZ, subtype="PCM_16")


if __name__ == "__main__":
    main()
