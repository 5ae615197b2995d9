"""Every realtime adapter of OpenAI's family against every scenario of its emulator: each has its one expected end."""

import pytest

from s2s_assets_tests.emulators.voices import FINAL, HEARD, item
from s2s_assets_tests.responses.parties import COMPATIBLE, OPENAI, QWEN, XAI, Party

End = tuple[str, str | None, bool]
OK: End = ("ok", None, False)
MISMATCH: End = ("provider_error", "session_mismatch", False)

FAMILY: dict[str, End] = {
    "plain": OK,
    "transcript_late": OK,
    "transcript_failed": OK,
    "two_items": OK,
    "interleaved": OK,
    "late_audio": OK,
    "other_response": OK,
    "odd_chunks": OK,
    "big_delta": OK,
    "unknown_events": OK,
    "sparse_echo": OK,
    "error_aside": OK,
    "odd_values": OK,
    "no_audio": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "rate_limited": ("rate_limited", "rate_limit_exceeded", True),
    "server_failure": ("provider_error", "server_error", True),
    "quota_spent": ("provider_error", "insufficient_quota", False),
    "incomplete": ("truncated", "max_output_tokens", False),
    "content_filter": ("refused", "content_filter", False),
    "cancelled": ("provider_error", "turn_detected", True),
    "close_1000": ("truncated", "closed_1000", True),
    "close_1001": ("truncated", "closed_1001", True),
    "close_1011": ("truncated", "closed_1011", True),
    "close_before_audio": ("provider_error", "closed_1001", True),
    "keeps_vad": MISMATCH,
    "other_session": MISMATCH,
    "refuses_session": ("provider_error", "unknown_parameter", False),
    "never_configured": ("timeout", "configuration_timeout", True),
    "never_answers": ("timeout", "first_event_timeout", True),
    "stalls": ("timeout", "next_event_timeout", True),
    "error_first": ("provider_error", "server_error", True),
    "model_gone": ("provider_error", "model_not_found", False),
    "error_then_close": ("provider_error", "session_expired", False),
    "answers_early": ("provider_error", "invalid_value", False),
    "answers_in_a_pause": ("provider_error", "answered_early", False),
    "not_json": ("provider_error", "malformed_event", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "odd_shape": ("runner_error", "AttributeError", False),
    "echoes_key": ("provider_error", "[redacted]", False),
    "http_401": ("provider_error", "invalid_api_key", False),
    "http_403": ("provider_error", "unsupported_country_region_territory", False),
    "http_404": ("provider_error", "model_not_found", False),
    "http_429": ("rate_limited", "rate_limit_exceeded", True),
    "http_429_quota": ("provider_error", "insufficient_quota", False),
    "http_503": ("provider_error", "service_unavailable", True),
}
OF_OPENAI: dict[str, End] = {
    "commentary_and_final": OK,
    "commentary_only": ("empty_audio", "commentary_only", False),
    "commentary_and_function_call": ("empty_audio", "commentary_only", False),
    "interleaved_commentary": OK,
    "no_phase": OK,
    "limits_first": OK,
    "no_limits": OK,
    "old_names": ("empty_audio", "no_audio", False),
    "both_names": OK,
}
OF_XAI: dict[str, End] = {
    "reply_dropped": ("timeout", "next_event_timeout", True),
    "reply_replaced": ("truncated", "reply_dropped", True),
    "pings": OK,
    "old_greeting": OK,
    "no_speech": ("timeout", "no_speech_detected", False),
    "other_model": ("provider_error", "model_mismatch", False),
    "echoes_voice": OK,
}
OF_DASHSCOPE: dict[str, End] = {
    "idle_close": ("provider_error", "closed_1007", True),
    "old_formats": OK,
    "plain_error": ("provider_error", "InvalidParameter", False),
}
ENDS: dict[str, tuple[Party, dict[str, End]]] = {
    "openai": (OPENAI, FAMILY | OF_OPENAI),
    "compatible": (COMPATIBLE, FAMILY | OF_OPENAI | {"other_session": OK, "old_names": OK}),
    "xai": (XAI, {k: v for k, v in FAMILY.items() if not k.startswith("transcript_")} | OF_XAI),
    "dashscope": (QWEN, FAMILY | OF_DASHSCOPE),
}
SEVERAL = {"two_items", "interleaved"}
CASES = [(who, scenario) for who, (_, ends) in ENDS.items() for scenario in ends]


@pytest.mark.parametrize("who", ENDS)
def test_every_scenario_has_an_expectation(who: str) -> None:
    party, ends = ENDS[who]
    assert set(ends) == set(party.emulator.names())  # type: ignore[attr-defined]


@pytest.mark.parametrize(("who", "scenario"), CASES)
def test_each_scenario_ends_as_expected(who: str, scenario: str) -> None:
    party, ends = ENDS[who]
    status, code, retryable = ends[scenario]
    outcome, emulator = party.turn(scenario, terms=party.terms(code))
    assert (outcome.status, outcome.code, outcome.retryable) == (status, code, retryable), outcome.message
    origin = {"ok": None, "runner_error": "runner"}.get(status, "provider")
    assert outcome.origin == origin
    assert bool(outcome.message) == (status != "ok")
    assert outcome.stage is None
    assert emulator.connections == 1
    if status == "ok" and scenario not in SEVERAL:
        prompt = party.prompt().pcm
        assert outcome.pcm == item(None, FINAL, prompt, 30 if scenario == "big_delta" else 0.8).pcm
        assert outcome.output_transcript == FINAL
        assert outcome.input_transcript == (None if scenario == "transcript_failed" else HEARD)
        assert emulator.prompts == [prompt]


@pytest.mark.parametrize("who", ENDS)
@pytest.mark.parametrize("scenario", sorted(SEVERAL))
def test_items_are_joined_in_the_provider_s_order(who: str, scenario: str) -> None:
    party, _ = ENDS[who]
    outcome, _ = party.turn(scenario)
    prompt = party.prompt().pcm
    assert outcome.pcm == item(None, FINAL, prompt).pcm + item(None, "And some more.", prompt).pcm
    assert outcome.output_transcript == f"{FINAL} And some more."


@pytest.mark.parametrize("who", ENDS)
@pytest.mark.parametrize("scenario", ["keeps_vad", "refuses_session"])
def test_nothing_is_sent_to_a_session_that_is_not_what_was_asked_for(who: str, scenario: str) -> None:
    outcome, emulator = ENDS[who][0].turn(scenario)
    assert [e["event"]["type"] for e in outcome.events if e["dir"] == ">"] == ["session.update"]
    assert emulator.kinds == [["session.update"]]


@pytest.mark.parametrize("who", ENDS)
def test_waiting_times_that_the_provider_names(who: str) -> None:
    for scenario in ("rate_limited", "http_429"):
        assert ENDS[who][0].turn(scenario)[0].retry_after_s == 0.02
