"""Automated check of a recording: its measures against the study's limits.

Duration, share of clipped samples, noise floor (a laxer limit where the acoustic is meant to be degraded), level of the
speech, silence at either end. A measure that a recording does not have fails nothing.
"""

from collections.abc import Iterator

from s2s_assets.audio import Measures
from s2s_assets.study import Acoustic, QaLimits, percent


def qa_reasons(measures: Measures, acoustic: Acoustic, limits: QaLimits) -> tuple[str, ...]:
    """Why a recording fails, each reason with the figure and the limit; empty where it passes."""
    return tuple(_failures(measures, acoustic, limits))


def _failures(measures: Measures, acoustic: Acoustic, limits: QaLimits) -> Iterator[str]:
    duration_s, silence_s = measures.duration_s, max(measures.leading_silence_s, measures.trailing_silence_s)
    floor, speech = measures.noise_floor_dbfs, measures.speech_level_dbfs
    floor_limit = limits.max_noise_floor_dbfs if acoustic == "clean" else limits.max_noise_floor_degraded_dbfs
    if duration_s < limits.min_duration_s:
        yield f"duration {duration_s:.2f} s, at least {limits.min_duration_s:g} s expected"
    if duration_s > limits.max_duration_s:
        yield f"duration {duration_s:.2f} s, at most {limits.max_duration_s:g} s expected"
    if measures.clipped_share > limits.max_clipped_share:
        yield f"clipped: {percent(measures.clipped_share, 2)} of the samples, at most {percent(limits.max_clipped_share, 2)} expected"
    if floor is not None and floor > floor_limit:
        yield f"noise floor {floor:.1f} dBFS, at most {floor_limit:g} dBFS expected for {acoustic}"
    if speech is not None and speech < limits.min_speech_level_dbfs:
        yield f"speech level {speech:.1f} dBFS, at least {limits.min_speech_level_dbfs:g} dBFS expected"
    if silence_s > limits.max_silence_s:
        yield f"silence of {silence_s:.2f} s at one end, at most {limits.max_silence_s:g} s expected"
