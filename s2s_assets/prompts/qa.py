"""Automated check of a recording: its measures against the study's limits.

Duration, share of clipped samples, noise floor (a laxer limit where the acoustic is meant to be degraded), level of the
speech, silence at either end. A measure that a recording does not have fails nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from s2s_assets.audio import Measures
from s2s_assets.study import Acoustic, QaLimits, percent


@dataclass(frozen=True)
class QaCheck:
    """A measure against its limits, in words."""

    name: str
    value: str | None
    """The figure with its unit; None where the recording has none."""
    limit: str
    fault: str | None
    """Why it fails; None where it does not."""


def qa_reasons(measures: Measures, acoustic: Acoustic, limits: QaLimits) -> tuple[str, ...]:
    """Why a recording fails, each reason with the figure and the limit; empty where it passes."""
    return tuple(check.fault for check in qa_checks(measures, acoustic, limits) if check.fault is not None)


def qa_checks(measures: Measures, acoustic: Acoustic, limits: QaLimits) -> tuple[QaCheck, ...]:
    """Every measure that has a limit, passed or not."""
    return tuple(_checks(measures, acoustic, limits))


def _checks(measures: Measures, acoustic: Acoustic, limits: QaLimits) -> Iterator[QaCheck]:
    silence_s = max(measures.leading_silence_s, measures.trailing_silence_s)
    floor_limit = limits.max_noise_floor_dbfs if acoustic == "clean" else limits.max_noise_floor_degraded_dbfs
    least_s, most_s = limits.min_duration_s, limits.max_duration_s
    broken = f"at least {least_s:g} s" if measures.duration_s < least_s else f"at most {most_s:g} s"
    yield _check(
        "duration",
        measures.duration_s,
        _seconds,
        f"{least_s:g} s to {most_s:g} s",
        least_s,
        most_s,
        says=f"{{name}} {{value}}, {broken} expected",
    )
    yield _check(
        "clipped samples",
        measures.clipped_share,
        lambda share: percent(share, 2),
        f"at most {percent(limits.max_clipped_share, 2)}",
        high=limits.max_clipped_share,
        says="clipped: {value} of the samples, {limit} expected",
    )
    yield _check(
        "noise floor",
        measures.noise_floor_dbfs,
        _level,
        f"at most {floor_limit:g} dBFS",
        high=floor_limit,
        says=f"{{name}} {{value}}, {{limit}} expected for {acoustic}",
    )
    speech_limit = limits.min_speech_level_dbfs
    yield _check("speech level", measures.speech_level_dbfs, _level, f"at least {speech_limit:g} dBFS", speech_limit)
    yield _check(
        "silence at one end",
        silence_s,
        _seconds,
        f"at most {limits.max_silence_s:g} s",
        high=limits.max_silence_s,
        says="silence of {value} at one end, {limit} expected",
    )


def _seconds(value: float) -> str:
    return f"{value:.2f} s"


def _level(value: float) -> str:
    return f"{value:.1f} dBFS"


def _check(
    name: str,
    value: float | None,
    shown: Callable[[float], str],
    limit: str,
    low: float = float("-inf"),
    high: float = float("inf"),
    says: str = "{name} {value}, {limit} expected",
) -> QaCheck:
    if value is None:
        return QaCheck(name, None, limit, None)
    figure = shown(value)
    fails = value < low or value > high
    return QaCheck(name, figure, limit, says.format(name=name, value=figure, limit=limit) if fails else None)
