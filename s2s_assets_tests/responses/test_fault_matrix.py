"""What is known to go wrong when recorded prompts are sent to speech services in bulk, and what becomes of it here.

`FAULTS` plays each fault that can occur in one of our adapters and names its end; `CHECKED` are rules of sending, looked
at in what was sent; `CANNOT` says of every other one why it does not occur. Numbers are those of a list of faults that
users and maintainers reported; nothing of the list may be missing.
"""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from s2s_assets.responses import Prompt
from s2s_assets_tests.emulators.voices import FINAL, item, speech
from s2s_assets_tests.responses.parties import CASCADE, GEMINI, NOVA, OPENAI, QWEN, VLLM_OMNI, XAI, Party, each

COMMIT, CREATE, APPEND = "input_audio_buffer.commit", "response.create", "input_audio_buffer.append"


@dataclass(frozen=True)
class Fault:
    """A fault, how an emulator plays it, and how the exchange must end."""

    number: int
    what: str
    party: Party
    scenario: str
    status: str
    code: str | None
    retryable: bool = False
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        way = "".join(f"-{name}={value}" for name, value in self.settings)
        return f"{self.number}-{self.party.adapter}-{self.scenario}{way}"


def both_ways(fault: Fault) -> tuple[Fault, Fault]:
    """A fault of a service that answers at once or in a stream, as it is asked, played both ways."""
    streamed, whole = (replace(fault, settings=(("stream", stream),)) for stream in (True, False))
    return streamed, whole


FAULTS = (
    Fault(
        2, "turn detection stays on beside manual commits", OPENAI, "keeps_vad", "provider_error", "session_mismatch"
    ),
    Fault(2, "turn detection stays on beside manual commits", XAI, "keeps_vad", "provider_error", "session_mismatch"),
    Fault(4, "the second message of an answer is dropped", OPENAI, "two_items", "ok", None),
    Fault(4, "two messages come interleaved", OPENAI, "interleaved", "ok", None),
    Fault(5, "speech is cut at the token limit", OPENAI, "incomplete", "truncated", "max_output_tokens"),
    Fault(
        6,
        "a failed response looks like an empty one",
        OPENAI,
        "rate_limited",
        "rate_limited",
        "rate_limit_exceeded",
        True,
    ),
    Fault(
        6, "a failed response looks like an empty one", OPENAI, "server_failure", "provider_error", "server_error", True
    ),
    Fault(7, "words come, audio does not: other event names", OPENAI, "old_names", "empty_audio", "no_audio"),
    Fault(8, "a silent file stands in for audio that never came", OPENAI, "no_audio", "empty_audio", "no_audio"),
    Fault(8, "a silent file stands in for audio that never came", CASCADE, "no_audio", "empty_audio", "no_audio"),
    Fault(9, "completed without audio", XAI, "no_audio", "empty_audio", "no_audio"),
    Fault(9, "…is not the same as no end at all", XAI, "never_answers", "timeout", "first_event_timeout", True),
    Fault(9, "events of an abandoned turn", OPENAI, "other_response", "ok", None),
    Fault(11, "the tail is cut by stopping at the end of audio", OPENAI, "late_audio", "ok", None),
    Fault(
        12,
        "the session's end closes the socket without an error",
        OPENAI,
        "close_1001",
        "truncated",
        "closed_1001",
        True,
    ),
    Fault(12, "…or normally", OPENAI, "close_1000", "truncated", "closed_1000", True),
    Fault(14, "a reply is dropped and nothing follows", XAI, "reply_dropped", "timeout", "next_event_timeout", True),
    Fault(14, "a reply is dropped for another one", XAI, "reply_replaced", "truncated", "reply_dropped", True),
    Fault(16, "interim transcripts say that they are completed", XAI, "plain", "ok", None),
    Fault(18, "the first event has another name", XAI, "old_greeting", "ok", None),
    Fault(23, "a very short utterance is ignored", GEMINI, "never_answers", "timeout", "first_event_timeout", True),
    Fault(24, "some audio hangs the answer for good", GEMINI, "stalls", "timeout", "next_event_timeout", True),
    Fault(26, "close 1008: not supported or not enabled", GEMINI, "close_1008", "provider_error", "closed_1008"),
    Fault(27, "close 1011 for a spent quota", GEMINI, "rate_limited", "rate_limited", "closed_1011", True),
    Fault(27, "close 1011 for an internal error", GEMINI, "close_before_audio", "provider_error", "closed_1011", True),
    Fault(28, "the end of the turn waits for assumed playback", GEMINI, "never_turn_complete", "ok", None),
    *both_ways(Fault(30, "audio hides in a second choice of the same index", VLLM_OMNI, "two_choices", "ok", None)),
    *both_ways(Fault(31, "a plain server gives text alone", VLLM_OMNI, "text_only", "empty_audio", "no_audio")),
    Fault(32, "a session ends after eight minutes", NOVA, "session_limit", "truncated", "model_timeout", True),
    Fault(32, "…or the model takes too long", NOVA, "model_timeout", "timeout", "model_timeout", True),
    Fault(34, "too many at once", CASCADE, "tts_concurrent", "rate_limited", "too_many_concurrent_requests", True),
    Fault(34, "busy", CASCADE, "tts_busy", "rate_limited", "system_busy", True),
    Fault(35, "a message above 1 MiB", OPENAI, "big_delta", "ok", None),
    Fault(35, "a message above 1 MiB", XAI, "big_delta", "ok", None),
    Fault(35, "a message above 1 MiB", QWEN, "big_delta", "ok", None),
    Fault(35, "a message above 1 MiB", GEMINI, "big_delta", "ok", None),
)
CHECKED = {
    1: "a commit on too little audio",
    3: "a prompt without trailing silence never ends where turns are detected",
    13: "the header of the beta",
    15: "on Grok voice the commit alone asks for the reply",
    17: "audio before the session is configured",
    25: "a manual turn of Gemini without its end never answers",
    29: "DashScope's manual turn needs a response.create",
    33: "Nova hangs where one speaks before it is set up",
}
CANNOT = {
    10: "an idle time-out of turn detection commits silence: turn detection is off, and a session that keeps it is refused",
    19: "response.cancel is not sent",
    20: "a pause inside the prompt ends the turn: activity is marked by hand",
    21: "silenceDurationMs is ignored: automatic activity detection is off",
    22: "the input transcript lacks the start: it is kept as the service gives it, and no status depends on it",
}


def test_no_fault_of_the_list_is_missing() -> None:
    numbers = [*{fault.number for fault in FAULTS}, *CHECKED, *CANNOT]
    assert sorted(numbers) == list(range(1, 36))


@pytest.mark.parametrize("fault", [pytest.param(f, id=str(f), marks=f.party.marks) for f in FAULTS])
def test_each_fault_has_its_end(fault: Fault) -> None:
    terms = {"terms": fault.party.terms(fault.code)}
    outcome, emulator = fault.party.turn(fault.scenario, **terms, **dict(fault.settings))
    found = (outcome.status, outcome.code, outcome.retryable)
    assert found == (fault.status, fault.code, fault.retryable), f"{fault.what}: {outcome.message}"
    if fault.status in {"empty_audio", "timeout"} and fault.scenario not in {"stalls", "reply_dropped"}:
        assert outcome.pcm == b"", fault.what
    if fault.number == 4:
        prompt = emulator.prompts[0]
        assert outcome.pcm == item(None, FINAL, prompt).pcm + item(None, "And some more.", prompt).pcm
    elif fault.number in {9, 11, 16, 30} and outcome.ok:
        assert outcome.pcm == fault.party.answer(emulator.prompts[0])


def test_too_little_audio_is_the_service_s_complaint() -> None:
    short = Prompt(speech("short", 0.05), 24_000)
    outcome, _ = OPENAI.turn(prompt=short)
    end = (outcome.status, outcome.code, outcome.retryable)
    assert end == ("provider_error", "input_audio_buffer_commit_empty", False)
    assert outcome.pcm == b""


@pytest.mark.parametrize("party", [OPENAI, XAI, QWEN], ids=lambda party: party.adapter)
def test_no_header_of_the_beta_is_sent(party: Party) -> None:
    outcome, _ = party.turn()
    assert outcome.snapshot["headers"] == ["Authorization"]


@pytest.mark.parametrize(
    ("party", "end"),
    [(OPENAI, [COMMIT, CREATE]), (XAI, [COMMIT]), (QWEN, [COMMIT, CREATE])],
    ids=["openai", "xai", "qwen"],
)
def test_a_turn_is_configured_sent_and_ended_in_this_order(party: Party, end: list[str]) -> None:
    outcome, emulator = party.turn()
    (kinds,) = emulator.kinds
    assert kinds[0] == "session.update"
    assert set(kinds[1 : -len(end)]) == {APPEND}
    assert kinds[-len(end) :] == end
    log = [(e["dir"], e["event"].get("type")) for e in outcome.events]
    assert log.index(("<", "session.updated")) < log.index((">", APPEND))


def test_a_turn_of_gemini_is_ended_by_hand() -> None:
    outcome, _ = GEMINI.turn()
    sent = [e["event"] for e in outcome.events if e["dir"] == ">"]
    assert list(sent[0]) == ["setup"]
    assert sent[1] == {"realtimeInput": {"activityStart": {}}}
    assert sent[-1] == {"realtimeInput": {"activityEnd": {}}}


@pytest.mark.parametrize("party", each([NOVA]))
def test_a_turn_of_nova_is_set_up_and_ended_by_silence(party: Party) -> None:
    outcome, emulator = party.turn()
    (kinds,) = emulator.kinds
    start = kinds.index("audioInput")
    assert kinds[:start] == [
        "sessionStart",
        "promptStart",
        "contentStart",
        "textInput",
        "contentEnd",
        "contentStart",
    ]
    end = len(kinds) - kinds[::-1].index("audioInput")
    assert kinds[end:] == ["contentEnd", "promptEnd", "sessionEnd"]
    frames = -(-len(party.prompt().pcm) // (16_000 // 10 * 2))
    assert end - start > frames, "silence follows the prompt"
    assert outcome.ok
