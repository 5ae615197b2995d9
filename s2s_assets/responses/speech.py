"""How an answer was spoken: delays, stalls, speaking rate, and whether its words and its sound belong together.

- *Delay*: from the end of the prompt to the first audio; *perceived* delay adds the silence that the answer begins with.
  Negative where an answer begins before the prompt has ended.
- *Stalls*: a player that starts with the first piece of final audio and plays without a break runs dry where a piece
  comes later than what it has; each time it waits longer than 50 ms is a stall.
- *Speaking rate*: words of the transcript a second, between the silent ends. A word is what stands between spaces and has a
  letter or a digit in it; in scripts without spaces, two characters of Chinese or Japanese count as one, and four of Thai,
  Lao, Khmer or Burmese, which is about what their words have.
- *Outliers*: a rate outside 0.5 to 7 words a second, or one that differs from the config's median by more than a factor
  of 1.5 and more than 3.5 robust standard deviations (1.4826 · median absolute deviation of the logarithms), with at least
  20 answers to tell by. More words than the sound has time for hint at lost audio, fewer at a wrong transcript.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2s_assets.study import Floats

STALL_S = 0.05
MANY_WORDS, FEW_WORDS = "many_words", "few_words"
_UNSPACED = (
    (re.compile(r"[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 2),
    (re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 4),
)
"""Characters of scripts without spaces, and how many of them are about a word."""
_PLAUSIBLE = (0.5, 7.0)
_FACTOR, _DEVIATIONS, _MAD_TO_SD, _ENOUGH = 1.5, 3.5, 1.4826, 20

Arrivals = Sequence[tuple[float, int]]
"""Pieces of final audio in the order in which they came: milliseconds, bytes."""


@dataclass(frozen=True)
class Stalls:
    """Where playing along would have run dry."""

    count: int
    seconds: float


def stalls(arrivals: Arrivals, rate_hz: int) -> Stalls | None:
    """The stalls of a player that starts with the first piece; None without pieces."""
    if not arrivals:
        return None
    at = np.array([ms for ms, _ in arrivals]) / 1000
    held = np.cumsum([size for _, size in arrivals])[:-1] / 2 / rate_hz
    runs_dry = at[0] + held
    # a stall puts off all that is played after it
    late = np.maximum.accumulate(np.concatenate([[0.0], at[1:] - runs_dry]))
    waits = np.diff(late)
    counted = waits[waits > STALL_S]
    return Stalls(len(counted), float(counted.sum()))


def words_of(transcript: str | None) -> int | None:
    """Words of a transcript, about as many in a script without spaces; None where there is none."""
    if transcript is None:
        return None
    words = 0
    for characters, a_word in _UNSPACED:
        transcript, found = characters.subn(" ", transcript)
        words += math.ceil(found / a_word)
    return words + sum(any(c.isalnum() for c in word) for word in transcript.split())


def speaking_rate(words: int | None, duration_s: float, silent_ends_s: float) -> float | None:
    """Words a second between the silent ends; None without words or without sound."""
    spoken_s = duration_s - silent_ends_s
    return words / spoken_s if words and spoken_s > 0 else None


def rate_outliers(rates: Sequence[float | None]) -> list[str | None]:
    """For each of a config's answers, `many_words` or `few_words` where its rate is an outlier."""
    known = np.array([rate for rate in rates if rate is not None])
    low, high = _bounds(known)
    return [None if r is None else MANY_WORDS if r > high else FEW_WORDS if r < low else None for r in rates]


def _bounds(rates: Floats) -> tuple[float, float]:
    low, high = _PLAUSIBLE
    if len(rates) < _ENOUGH:
        return low, high
    logs = np.log(rates)
    centre = float(np.median(logs))
    spread = _DEVIATIONS * _MAD_TO_SD * float(np.median(np.abs(logs - centre)))
    margin = max(spread, float(np.log(_FACTOR)))
    return max(low, float(np.exp(centre - margin))), min(high, float(np.exp(centre + margin)))
