"""vLLM-Omni: every scenario of its emulator, streamed and not."""

import asyncio

import pytest

from s2s_assets.responses import exchange
from s2s_assets_tests.emulators.vllm_omni import SCENARIOS, VllmOmniEmulator
from s2s_assets_tests.emulators.voices import FINAL, speech
from s2s_assets_tests.responses.parties import VLLM_OMNI, samples

End = tuple[str, str | None, bool]
OK: End = ("ok", None, False)
EITHER: dict[str, End] = {
    "plain": OK,
    "long": OK,
    "other_rate": OK,
    "text_only": ("empty_audio", "no_audio", False),
    "silence": ("silent_audio", "silent", False),
    "length": ("truncated", "length", False),
    "words_cut": ("truncated", "length", False),
    "content_filter": ("refused", "content_filter", False),
    "two_choices": OK,
    "not_audio": ("invalid_audio", "undecodable", False),
    "error_in_body": ("provider_error", "http_400", False),
    "no_end": ("provider_error", "no_end", True),
    "not_json": ("provider_error", "malformed_event", False),
    "http_400": ("provider_error", "http_400", False),
    "http_429": ("rate_limited", "rate_limit_exceeded", True),
    "http_503": ("provider_error", "service_unavailable", True),
    "needs_key": ("provider_error", "invalid_api_key", False),
    "echoes_key": ("provider_error", "invalid_api_key", False),
    "never_answers": ("timeout", "first_event_timeout", True),
}
STREAMED: dict[str, End] = EITHER | {
    "wav_chunks": OK,
    "odd_chunks": OK,
    "audio_object": OK,
    "unknown_fields": OK,
    "half_a_sample": ("invalid_audio", "odd_bytes", False),
    "not_base64": ("invalid_audio", "not_base64", False),
    "no_audio_error": ("empty_audio", "no_audio", False),
    "error_in_stream": ("provider_error", "http_500", True),
    "no_stream": OK,
    "error_no_stream": ("provider_error", "http_400", False),
    "page_no_stream": ("provider_error", "malformed_event", False),
    "stalls": ("timeout", "next_event_timeout", True),
    "stalls_with_pings": ("timeout", "next_event_timeout", True),
    "cut": ("truncated", "broken_off", True),
    "cut_at_once": ("provider_error", "broken_off", True),
}
WHOLE: dict[str, End] = EITHER | {"one_choice": OK}
CASES = [(True, s) for s in STREAMED] + [(False, s) for s in WHOLE]


def test_every_scenario_has_an_expectation() -> None:
    assert {*STREAMED, *WHOLE} == set(SCENARIOS)


@pytest.mark.parametrize(("stream", "scenario"), CASES)
def test_each_scenario_ends_as_expected(stream: bool, scenario: str) -> None:
    status, code, retryable = (STREAMED if stream else WHOLE)[scenario]
    outcome, emulator = VLLM_OMNI.turn(scenario, stream=stream, terms=VLLM_OMNI.terms(code))
    assert (outcome.status, outcome.code, outcome.retryable) == (status, code, retryable), outcome.message
    assert (outcome.stage, outcome.origin) == (None, None if status == "ok" else "provider")
    if status == "ok":
        assert outcome.pcm == (speech("long", 30) if scenario == "long" else speech(emulator.prompts[0]))
        assert outcome.rate_hz == (16_000 if scenario == "other_rate" else 24_000)
        assert outcome.output_transcript == FINAL
        assert outcome.model_reported == "Qwen/Qwen3-Omni-30B-A3B-Instruct"
        assert outcome.usage
        assert outcome.usage["total_tokens"] > 0


@pytest.mark.parametrize("form", ["mp3", "aac", "opus"])
def test_bytes_that_are_not_of_the_format_asked_for_are_never_heard_as_samples(form: str) -> None:
    outcome, _ = VLLM_OMNI.turn(stream=True, body={"audio": {"format": form}})
    assert (outcome.status, outcome.code) == ("invalid_audio", "undecodable")
    outcome, _ = VLLM_OMNI.turn(stream=False, body={"audio": {"format": form}})
    assert outcome.status == "ok", "a file says itself what it is"


def test_what_the_server_is_asked_for() -> None:
    outcome, emulator = VLLM_OMNI.turn(body={"temperature": 0.2, "audio": {"format": "wav"}})
    (body,) = emulator.bodies
    assert samples(emulator.prompts[0]) == VLLM_OMNI.prompt().pcm
    assert {k: v for k, v in body.items() if k != "messages"} == {
        "model": "Qwen/Qwen3-Omni-30B-A3B-Instruct",
        "modalities": ["text", "audio"],
        "audio": {"format": "wav"},
        "speaker": "ethan",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
    }
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == "You are a helpful voice assistant"
    assert outcome.ok
    assert outcome.snapshot["body"]["messages"][1]["content"][0]["input_audio"]["data"] == "[the prompt]"


def test_an_unknown_speaker_is_the_server_s_to_refuse() -> None:
    async def turn() -> None:
        async with VllmOmniEmulator() as emulator:
            request = VLLM_OMNI.request(emulator.url)
            request = type(request)(**{**vars(request), "voice": "Nobody"})
            outcome = await exchange(request, VLLM_OMNI.prompt())
            assert (outcome.status, outcome.retryable) == ("provider_error", False)
            assert "ethan" in (outcome.message or "")

    asyncio.run(turn())


def test_no_key_is_needed() -> None:
    assert VLLM_OMNI.turn(key="")[0].ok
