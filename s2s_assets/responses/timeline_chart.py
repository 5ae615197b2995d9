"""An exchange drawn against time: what was sent, every kind of event, what came, and how it would have been heard.

Time runs from the attempt's start. The prompt's wave spans the messages that carried it, over HTTP from the connection on,
and is wide enough to be seen where it went out in no time; below it stands a row for each kind of message in order of first
mention, a tick a message; then the pieces of final audio as they came, and the answer's wave as a player would have it that
starts with the first piece, gaps where it would have waited. Lines mark the milestones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from s2s_assets.audio import envelope, from_pcm16
from s2s_assets.drawing import BELOW, INK, MARK, MUTED, RULE, clip, drawing, round_axis, text, wave, width_of
from s2s_assets.responses.records import Outcome, Prompt

WIDTH = 960
_TOP, _PITCH, _WAVE = 44, 20, 46
_RIGHT = 56
_MOST_KINDS = 24
_BIN = 2.0
"""Width of a line of a wave."""
_LEAST_WAVE = 24.0
"""Width of the wave of a prompt that went out in no time."""
_LONGEST = 42
_SENT, _NOTED = ">", "-"
_ENVELOPES = frozenset({"event", "realtimeInput", "serverContent"})
"""Keys, of Nova Sonic and Gemini Live, whose messages say one level further down what they are."""


@dataclass(frozen=True)
class _Kind:
    """Messages of one kind in one direction."""

    direction: str
    name: str
    at_s: tuple[float, ...]


def event_name(event: Mapping[str, Any]) -> str:
    """What a message calls itself: its `type` or `object`, else its first key, of an envelope the first key within."""
    if name := event.get("type") or event.get("object"):
        return str(name)
    outer, inner = next(iter(event.items()), ("message", None))
    return next(iter(inner), outer) if outer in _ENVELOPES and isinstance(inner, Mapping) else outer


def timeline_svg(outcome: Outcome, prompt: Prompt, config: str) -> str:
    """The drawing of one attempt.

    Args:
        outcome: what came of it.
        prompt: what was sent.
        config: its key, for the title.
    """
    kinds = _kinds(outcome)
    playback = list(_playback(outcome))
    ends = [0.1, *(at for kind in kinds for at in kind.at_s), *(stop for _, stop, _ in playback)]
    _, high, step = round_axis(0.0, max(ends), ticks=10)
    left = 24 + max(width_of(f"→ {_short(k.name)}", 11) for k in [*kinds, _Kind("", "final audio as it came", ())])

    def x(seconds: float) -> float:
        return round(left + (WIDTH - left - _RIGHT) * seconds / high, 1)

    marks = _marks(outcome, x)
    top = _TOP + 14 * (1 + max((level for _, _, level in marks), default=0))
    lanes, bottom = _lanes(outcome, prompt, kinds, playback, x, top + 8)
    title = f"{config}: {outcome.status}{f' ({outcome.code})' if outcome.code else ''}"
    parts = [
        text(12, 22, clip(title, 90), size=14, weight=600),
        *_axis(high, step, x, top, bottom),
        *lanes,
        *(part for mark in marks for part in _mark(*mark, top, bottom)),
        text((left + WIDTH - _RIGHT) / 2, bottom + 34, "seconds since the attempt began", "middle", "muted", MUTED, 11),
    ]
    return drawing(WIDTH, round(bottom + 46), _said(outcome, config), parts)


def _lanes(
    outcome: Outcome,
    prompt: Prompt,
    kinds: Sequence[_Kind],
    playback: Sequence[tuple[float, float, float]],
    x: Callable[[float], float],
    y: float,
) -> tuple[list[str], float]:
    """Everything that is drawn against time, from `y` on, and where it ends."""
    sent = [at for kind in kinds if kind.direction == _SENT for at in kind.at_s]
    begun = max(_first_frame(kinds, sent), (outcome.timings.connected or 0.0) / 1000)
    gone = (outcome.timings.input_sent or max(sent, default=0.0) * 1000) / 1000
    span = (begun, max(gone, begun + _LEAST_WAVE / (x(1.0) - x(0.0))))
    lanes = _wave("prompt as sent", prompt.pcm, prompt.rate_hz, x, [(*span, 0.0)], y, MUTED)
    y += _WAVE + 8
    for kind in kinds:
        lanes += _row(kind, x, y)
        y += _PITCH
    lanes += _pieces(outcome, x, y + 4)
    y += _PITCH + 10
    lanes += _wave("answer as it plays", outcome.pcm, outcome.rate_hz, x, playback, y, MARK)
    return lanes, y + _WAVE + 6


def _kinds(outcome: Outcome) -> list[_Kind]:
    """Kinds of messages in order of first mention; what exceeds the page's length is one row."""
    found: dict[tuple[str, str], list[float]] = {}
    for event in outcome.events:
        name = event_name(event["event"])
        found.setdefault((event["dir"], name), []).append(event["at_ms"] / 1000)
    rows = [_Kind(direction, name, tuple(at)) for (direction, name), at in found.items()]
    if len(rows) <= _MOST_KINDS:
        return rows
    rest = sorted(at for kind in rows[_MOST_KINDS - 1 :] for at in kind.at_s)
    return [*rows[: _MOST_KINDS - 1], _Kind("<", f"{len(rows) - _MOST_KINDS + 1} further kinds", tuple(rest))]


def _first_frame(kinds: Sequence[_Kind], sent: Sequence[float]) -> float:
    """When the prompt's first piece went out: the first of the message that was sent most often."""
    busiest = max((k for k in kinds if k.direction == _SENT), key=lambda k: len(k.at_s), default=None)
    return busiest.at_s[0] if busiest is not None else min(sent, default=0.0)


def _playback(outcome: Outcome) -> Iterator[tuple[float, float, float]]:
    """Begin and end in time, and begin within the audio, of each stretch that plays without a break; seconds."""
    clock = begin = played = heard = 0.0
    for n, (at_ms, size) in enumerate(outcome.arrivals):
        length = size / 2 / outcome.rate_hz
        if n == 0 or at_ms / 1000 > clock:
            if n:
                yield begin, clock, heard
            begin, clock, heard = at_ms / 1000, at_ms / 1000, played
        clock += length
        played += length
    if outcome.arrivals:
        yield begin, clock, heard


def _wave(
    label: str,
    pcm: bytes,
    rate_hz: int,
    x: Callable[[float], float],
    stretches: Sequence[tuple[float, float, float]],
    y: float,
    colour: str,
) -> list[str]:
    """A lane with the envelope of some audio, each stretch (begin, end, begin within the audio) where it belongs."""
    samples, middle = from_pcm16(pcm, rate_hz).samples[:, 0], y + _WAVE / 2
    loudest = float(np.abs(samples).max()) if len(samples) else 0.0
    parts = [text(x(0) - 12, middle + 4, label, "end", size=11)]
    for n, (begin, end, offset) in enumerate(stretches):
        stop = stretches[n + 1][2] if n + 1 < len(stretches) else len(samples) / rate_hz
        part = samples[round(offset * rate_hz) : round(stop * rate_hz)]
        if len(part) and loudest and end > begin:
            heights = envelope(part, int((x(end) - x(begin)) / _BIN)) / loudest * (_WAVE / 2 - 2)
            parts.append(wave(heights, x(begin), x(end), middle, colour))
    return parts


def _row(kind: _Kind, x: Callable[[float], float], y: float) -> list[str]:
    """A row of ticks with the kind's name, and how many there are."""
    colour = BELOW if kind.direction == _SENT else MUTED if kind.direction == _NOTED else MARK
    middle = y + _PITCH / 2
    arrow = {_SENT: "→ ", _NOTED: ""}.get(kind.direction, "← ")
    ticks = "".join(f"M{x(at)} {middle - 5}v10" for at in kind.at_s)
    return [
        f'<path class="rule" stroke="{RULE}" d="M{x(0)} {middle}H{WIDTH - _RIGHT}"/>',
        text(x(0) - 12, middle + 4, arrow + _short(kind.name), "end", size=11),
        f'<path stroke="{colour}" stroke-width="1.4" d="{ticks}"/>',
        text(WIDTH - _RIGHT + 8, middle + 4, f"×{len(kind.at_s)}", css="muted", fill=MUTED, size=11),
    ]


def _short(name: str) -> str:
    """A kind's name; of a long one its end, which tells it from its kin."""
    if len(name) <= _LONGEST:
        return clip(name, _LONGEST)
    return "…" + clip(name[1 - _LONGEST :].lstrip("."), _LONGEST)


def _pieces(outcome: Outcome, x: Callable[[float], float], y: float) -> list[str]:
    """The pieces of final audio as they came, as high as they are long."""
    largest = max((size for _, size in outcome.arrivals), default=1)
    bars = "".join(f"M{x(ms / 1000)} {y + 16}v{-max(2.0, 14 * size / largest):.1f}" for ms, size in outcome.arrivals)
    drawn = [f'<path stroke="{MARK}" stroke-width="1.6" d="{bars}"/>'] if bars else []
    return [text(x(0) - 12, y + 14, "final audio as it came", "end", size=11), *drawn]


def _marks(outcome: Outcome, x: Callable[[float], float]) -> list[tuple[str, float, int]]:
    """Name, place and level of each milestone's label: none covers another, and no line crosses one.

    A label stands right of its line and above every later one that it would reach.
    """
    reached = [(at, name) for name, at in asdict(outcome.timings).items() if at is not None]
    begins: list[float] = []
    placed = []
    for at, name in sorted(reached, key=lambda mark: mark[0], reverse=True):
        words = f"{name.replace('_', ' ')} {at:.0f} ms"
        where = x(at / 1000)
        end = where + width_of(words, 10) + 10
        level = next((n for n in range(len(begins)) if all(end < b for b in begins[n:])), len(begins))
        begins[level:] = [where]
        placed.append((words, where, level))
    return placed


def _mark(words: str, where: float, level: int, top: float, bottom: float) -> list[str]:
    y = top - 4 - 14 * level
    line = f'<path class="rule" stroke="{MUTED}" stroke-dasharray="2 3" d="M{where} {y - 8}V{bottom}"/>'
    return [line, text(where + 3, y, words, size=10, fill=INK)]


def _axis(high: float, step: float, x: Callable[[float], float], top: float, bottom: float) -> list[str]:
    parts = []
    for n in range(round(high / step) + 1):
        parts.append(f'<path class="rule" stroke="{RULE}" d="M{x(n * step)} {top}V{bottom}"/>')
        parts.append(text(x(n * step), bottom + 16, f"{n * step:g}", "middle", "muted", MUTED, 11))
    return parts


def _said(outcome: Outcome, config: str) -> str:
    times = [f"{name.replace('_', ' ')} {at:.0f} ms" for name, at in asdict(outcome.timings).items() if at is not None]
    seconds = len(outcome.pcm) / 2 / outcome.rate_hz
    what = f"{len(outcome.log)} messages, {seconds:.1f} s of final audio in {len(outcome.arrivals)} pieces"
    return f"{config}: {outcome.status}. {what}. {'; '.join(times)}"
