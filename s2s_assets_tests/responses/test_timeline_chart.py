"""The drawing of an exchange: well-formed, complete, and nothing of it covers anything else."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.drawing import width_of
from s2s_assets.responses import Outcome, Prompt
from s2s_assets.responses.records import Timings
from s2s_assets.responses.timeline_chart import event_name, timeline_svg
from s2s_assets.study import canonical_json
from s2s_assets_tests.emulators.openai import OpenAIEmulator
from s2s_assets_tests.emulators.voices import speech

BARE = Outcome("timeout", 24_000, datetime(2026, 1, 1, tzinfo=UTC), "a", "1", code="connection_timeout")
SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[tuple[str, float, float]]:
    return [(t.text or "", float(t.attrib["x"]), float(t.attrib["y"])) for t in ET.fromstring(svg).iter(f"{SVG}text")]


def test_an_exchange_shows_all_its_kinds_and_milestones(
    openai_turn: Callable[..., tuple[Outcome, OpenAIEmulator]], prompt: Prompt
) -> None:
    outcome, _ = openai_turn("commentary_and_final")
    svg = timeline_svg(outcome, prompt, "m|v|none")
    words = [text for text, _, _ in _texts(svg)]
    assert "m|v|none: ok" in words
    for expected in ("→ input_audio_buffer.append", "← response.done", "×13", "answer as it plays"):
        assert expected in words
    for name in ("connected", "configured", "input sent", "first event", "first audio", "last audio", "done"):
        assert any(text.startswith(f"{name} ") for text in words), name
    assert "of final audio in 4 pieces" in ET.fromstring(svg).attrib["aria-label"]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"event_id": "e", "type": "response.done"}, "response.done"),
        ({"id": "c1", "object": "chat.completion.chunk", "choices": []}, "chat.completion.chunk"),
        ({"realtimeInput": {"activityEnd": {}}}, "activityEnd"),
        ({"serverContent": {"turnComplete": True}, "usageMetadata": {}}, "turnComplete"),
        ({"serverContent": {}}, "serverContent"),
        ({"setup": {"model": "m"}}, "setup"),
        ({"event": {"audioOutput": {"content": ""}}}, "audioOutput"),
        ({"event": "text"}, "event"),
        ({}, "message"),
    ],
)
def test_a_message_of_any_protocol_says_what_it_is(message: dict[str, object], name: str) -> None:
    assert event_name(message) == name


def test_an_attempt_that_came_to_nothing_is_drawn_too(prompt: Prompt) -> None:
    svg = timeline_svg(BARE, prompt, "m|v|none")
    assert "m|v|none: timeout (connection_timeout)" in [text for text, _, _ in _texts(svg)]
    ET.fromstring(timeline_svg(BARE, Prompt(b"", 24_000), "m|v|none"))


def test_gaps_stand_where_a_player_would_have_waited(prompt: Prompt) -> None:
    pcm = speech("answer", 2.0)
    arrivals = ((1000.0, len(pcm) // 2), (3500.0, len(pcm) // 2))
    svg = timeline_svg(replace(BARE, status="ok", code=None, pcm=pcm, arrivals=arrivals), prompt, "m|v|none")
    waves = [p for p in ET.fromstring(svg).iter(f"{SVG}path") if len(re.findall("M", p.attrib["d"])) > 20]
    first, second = ([float(x) for x in re.findall(r"M([\d.]+)", wave.attrib["d"])] for wave in waves)
    second_s = (max(first) - min(first)) / 1.0
    assert (min(second) - min(first)) / second_s == pytest.approx(2.5, abs=0.05)


@pytest.mark.parametrize(("sent_ms", "lines"), [(800.0, 12), (801.0, 12), (1600.0, 142)])
def test_a_prompt_in_one_request_goes_out_once_there_is_a_connection(
    sent_ms: float, lines: int, prompt: Prompt
) -> None:
    request = canonical_json({"at_ms": 1.0, "dir": ">", "event": {"type": "stt.request"}})
    late = canonical_json({"at_ms": 2000.0, "dir": "<", "event": {"type": "stt.answer"}})
    timings = Timings(connected=800.0, input_sent=sent_ms)
    root = ET.fromstring(timeline_svg(replace(BARE, log=(request, late), timings=timings), prompt, "m|v|none"))
    (wave,) = (p.attrib["d"] for p in root.iter(f"{SVG}path") if re.match(r"M\S+ \S+V\d+\.\d(M|$)", p.attrib["d"]))
    drawn = [float(x) for x in re.findall(r"M([\d.]+)", wave)]
    (connected,) = (x for text, x, _ in _texts(ET.tostring(root, "unicode")) if text.startswith("connected "))
    assert min(drawn) > connected - 5
    assert len(drawn) == pytest.approx(lines, abs=2)


def test_names_cannot_break_out(prompt: Prompt) -> None:
    events = ({"at_ms": n, "dir": "<", "event": {"type": f'</svg><script>"&{n}\x00\u202e'}} for n in range(60))
    svg = timeline_svg(replace(BARE, log=tuple(map(canonical_json, events))), prompt, '"><b>|v|none')
    root = ET.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert sum("further kinds" in text for text, _, _ in _texts(svg)) == 1


milestones = st.lists(st.none() | st.floats(0, 30_000), min_size=7, max_size=7)


@given(times=milestones)
def test_no_milestone_covers_another_and_no_line_crosses_a_name(times: list[float | None]) -> None:
    svg = timeline_svg(replace(BARE, timings=Timings(*times)), Prompt(speech("p", 0.2), 24_000), "m|v|none")
    labels = [(x, y, width_of(text, 10)) for text, x, y in _texts(svg) if re.fullmatch(r"[a-z ]+ \d+ ms", text)]
    assert len(labels) == sum(t is not None for t in times)
    for n, (x, y, wide) in enumerate(labels):
        for other_x, other_y, other_wide in labels[n + 1 :]:
            if y == other_y:
                assert x + wide <= other_x or other_x + other_wide <= x
            elif y < other_y:  # this one stands higher: its line passes the lower one's height left of it or after it
                assert x - 3 <= other_x or x - 3 >= other_x + other_wide
            else:
                assert other_x - 3 <= x or other_x - 3 >= x + wide
