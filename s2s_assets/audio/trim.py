"""Trimming of silent ends: which samples stay."""

import math

from s2s_assets.audio.clip import Samples
from s2s_assets.audio.levels import silent_ends

KEPT_SILENCE_S = 0.2
MIN_DURATION_S = 0.4


def kept_part(samples: Samples, rate_hz: int) -> slice:
    """The frames that stay: all but the silence beyond 0.2 s at each end.

    At least 0.4 s stay, so that what remains can be measured. A clip that is silence throughout stays whole.
    """
    lead, trail = silent_ends(samples, rate_hz)
    if lead == len(samples):
        return slice(0, len(samples))
    kept = math.floor(KEPT_SILENCE_S * rate_hz)
    least = math.ceil(MIN_DURATION_S * rate_hz)
    start = max(0, lead - kept)
    stop = min(len(samples), max(len(samples) - max(0, trail - kept), start + least))
    return slice(max(0, min(start, stop - least)), stop)
