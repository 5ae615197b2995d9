"""A recording as a reviewer looks at it: its wave with what trimming would leave out and what is clipped, its spectrogram below.

The spectrogram is a picture of its own, at an address that the drawing names; axes, wave and marks are vectors and follow
the page's colours.
"""

from collections.abc import Callable

import numpy as np

from s2s_assets.audio import Clip, Measures, envelope, spectrogram_dbfs
from s2s_assets.drawing import BELOW, INK, MARK, MUTED, RULE, drawing, heat_png, picture, round_axis, text, wave

WIDTH = 720
_LEFT, _RIGHT, _TOP = 58.0, 12.0, 12.0
_WAVE, _GAP, _HEAT = 96.0, 14.0, 150.0
_BAR = 1.5
"""Width of a bar of the wave, in the drawing's units."""
_LOW_DBFS, _HIGH_DBFS = -100.0, -15.0
COLUMNS, ROWS = 640, 150


def spectrogram_png(clip: Clip) -> bytes:
    """Level over time (left to right) and frequency (bottom to top), from -100 dBFS (dark) to -15 dBFS (light)."""
    return heat_png(spectrogram_dbfs(clip.samples, clip.rate_hz, COLUMNS, ROWS)[::-1], _LOW_DBFS, _HIGH_DBFS)


def recording_chart(clip: Clip, measures: Measures | None, name: str, spectrogram: str) -> str:
    """Wave and spectrogram over one axis of time.

    Args:
        clip: The recording.
        measures: Its measures; None where it has none.
        name: What it is called, for who cannot see it.
        spectrogram: Address of its picture.
    """
    _, high_s, step_s = round_axis(0.0, clip.duration_s, ticks=8)
    ticks = [n * step_s for n in range(round(high_s / step_s) + 1) if n * step_s <= clip.duration_s]
    end, top = WIDTH - _RIGHT, _TOP + _WAVE + _GAP

    def x(seconds: float) -> float:
        return _LEFT + (end - _LEFT) * seconds / clip.duration_s

    parts = [
        *_wave(clip, end),
        *([] if measures is None else _marks(measures, x)),
        picture(_LEFT, top, end - _LEFT, _HEAT, spectrogram),
        *_frequencies(clip.rate_hz, top),
        *_times(ticks, x, top + _HEAT),
    ]
    return drawing(WIDTH, round(top + _HEAT + 40), _said(clip, measures, name), parts)


def _wave(clip: Clip, end: float) -> list[str]:
    """Bars of the loudest magnitudes in any channel; those with a sample at full scale are marked above."""
    loudest = np.abs(clip.samples).max(axis=1)
    middle, heights = _TOP + _WAVE / 2, envelope(loudest, int((end - _LEFT) / _BAR))
    drawn, full = np.minimum(heights, 1.0) * _WAVE / 2, heights >= clip.full_scale
    parts = [f'<path class="rule" stroke="{RULE}" d="M{_LEFT} {y}H{end}"/>' for y in (_TOP, middle, _TOP + _WAVE)]
    parts += [text(_LEFT - 8, y + 4, words, "end", "muted", MUTED, 11) for y, words in ((_TOP, "1"), (middle, "0"))]
    parts.append(wave(drawn, _LEFT, end, middle, MARK, "mark-line"))
    if full.any():
        at = _LEFT + (np.flatnonzero(full) + 0.5) * (end - _LEFT) / len(heights)
        clipped = "".join(f"M{a:.1f} {_TOP - 8}l3 6h-6z" for a in at)
        parts.append(f'<path class="below" fill="{BELOW}" d="{clipped}"/>')
    return parts


def _marks(measures: Measures, x: Callable[[float], float]) -> list[str]:
    """Where silence ends and begins."""
    ends = (measures.leading_silence_s, measures.duration_s - measures.trailing_silence_s)
    lines = "".join(f"M{x(at):.1f} {_TOP}v{_WAVE}" for at in ends)
    return [f'<path class="axis" stroke="{INK}" stroke-dasharray="3 3" d="{lines}"/>']


def _frequencies(rate_hz: int, top: float) -> list[str]:
    high_khz = rate_hz / 2000
    _, last, step = round_axis(0.0, high_khz, ticks=4)
    parts = []
    for n in range(round(last / step) + 1):
        if n * step <= high_khz:
            y = top + _HEAT * (1 - n * step / high_khz)
            parts.append(f'<path class="axis" stroke="{INK}" d="M{_LEFT - 4} {y:.1f}h4"/>')
            parts.append(text(_LEFT - 8, y + 4, f"{n * step:g}{' kHz' if n else ''}", "end", "muted", MUTED, 11))
    return parts


def _times(ticks: list[float], x: Callable[[float], float], bottom: float) -> list[str]:
    parts = []
    for at in ticks:
        parts.append(f'<path class="axis" stroke="{INK}" d="M{x(at):.1f} {bottom}v4"/>')
        parts.append(text(x(at), bottom + 17, f"{at:g}", "middle", "muted", MUTED, 11))
    return [*parts, text((_LEFT + WIDTH - _RIGHT) / 2, bottom + 34, "seconds", "middle", "muted", MUTED, 11)]


def _said(clip: Clip, measures: Measures | None, name: str) -> str:
    what = f"Waveform and spectrogram of {name}: {clip.duration_s:.2f} s, {clip.rate_hz:,} Hz"
    if measures is None:
        return what
    speech_s = (measures.leading_silence_s, measures.duration_s - measures.trailing_silence_s)
    peak = f"sample peak {measures.sample_peak_dbfs:.1f} dBFS"
    return f"{what}, {peak}; sound from {speech_s[0]:.2f} s to {speech_s[1]:.2f} s"
