"""Nova Sonic's emulator and Amazon's own client, and what the emulator refuses."""

import asyncio
import base64
import gc
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from s2s_assets_tests.emulators.event_stream import SignatureError, Signatures, SignedMessages, message
from s2s_assets_tests.emulators.nova import NovaEmulator
from s2s_assets_tests.emulators.sdk import needs_sdk
from s2s_assets_tests.emulators.tls import authority
from s2s_assets_tests.emulators.voices import FINAL, HEARD, item, speech

SPOKEN = speech("spoken", 0.4)
PROMPT, SYSTEM, VOICE = {"promptName": "p"}, {"contentName": "s"}, {"contentName": "v"}
PCM = {"mediaType": "audio/lpcm", "sampleSizeBits": 16, "channelCount": 1, "encoding": "base64"}
START = [
    {"sessionStart": {"inferenceConfiguration": {"maxTokens": 1024, "topP": 0.9, "temperature": 0.7}}},
    {"promptStart": {**PROMPT, "audioOutputConfiguration": {**PCM, "sampleRateHertz": 24_000, "voiceId": "amy"}}},
]
SYSTEM_TEXT = [
    {"contentStart": {**PROMPT, **SYSTEM, "type": "TEXT", "role": "SYSTEM"}},
    {"textInput": {**PROMPT, **SYSTEM, "content": "Be brief."}},
    {"contentEnd": {**PROMPT, **SYSTEM}},
]
AUDIO = {**PROMPT, **VOICE, "type": "AUDIO", "audioInputConfiguration": {**PCM, "sampleRateHertz": 16_000}}
SPEECH_START = [{"contentStart": {**AUDIO, "role": "USER", "interactive": True}}]
END = [{"contentEnd": {**PROMPT, **VOICE}}, {"promptEnd": PROMPT}, {"sessionEnd": {}}]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The SDK leaves behind, unnoticed, that the rest of a request's body could not be sent."""
    logger = logging.getLogger("asyncio")
    logger.disabled = True
    yield
    gc.collect()
    logger.disabled = False


def spoken(pcm: bytes) -> dict[str, Any]:
    return {"audioInput": {**PROMPT, **VOICE, "content": base64.b64encode(pcm).decode()}}


TURN = [*SPEECH_START, spoken(SPOKEN), *[spoken(bytes(6400))] * 4]


async def talk(server: NovaEmulator, events: list[dict[str, Any]], until: str | None) -> list[dict[str, Any]]:
    """What Amazon's client hears after some events, up to one of a kind, and then up to the stream's end."""
    from aws_sdk_bedrock_runtime import models
    from aws_sdk_bedrock_runtime.client import AsyncBedrockRuntimeClient
    from aws_sdk_bedrock_runtime.config import AsyncBedrockRuntimeConfig
    from awscrt.io import ClientTlsContext, TlsContextOptions
    from smithy_http.aio.crt import AWSCRTHTTPClient

    trust = TlsContextOptions()
    trust.override_default_trust_store_from_path(None, str(authority()))
    transport = AWSCRTHTTPClient()
    transport._tls_ctx = ClientTlsContext(trust)
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}
    where = {"endpoint_uri": server.url, "region": "us-west-2"}
    config = await AsyncBedrockRuntimeConfig.resolve(**where, **keys, transport=transport)
    asked = models.InvokeModelWithBidirectionalStreamOperationInput(model_id="amazon.nova-2-sonic-v1:0")
    stream = await AsyncBedrockRuntimeClient(config).invoke_model_with_bidirectional_stream(asked)
    heard: list[dict[str, Any]] = []

    async def send(*messages: dict[str, Any]) -> None:
        for event in messages:
            part = models.BidirectionalInputPayloadPart(bytes_=json.dumps({"event": event}).encode())
            await stream.input_stream.send(models.InvokeModelWithBidirectionalStreamInputChunk(value=part))

    try:
        await send(*events)
        _, receiver = await stream.await_output()
        async for event in receiver:
            heard.append(json.loads(event.value.bytes_)["event"])
            if until in heard[-1]:
                until = None
                await send(*END)
    finally:
        await stream.input_stream.close()
        await transport.close()
    return heard


def played(events: list[dict[str, Any]], until: str | None, scenario: str = "plain") -> tuple[list[Any], NovaEmulator]:
    async def run() -> tuple[list[Any], NovaEmulator]:
        async with NovaEmulator(scenario) as server:
            return await talk(server, events, until), server

    return asyncio.run(asyncio.wait_for(run(), 30))


@needs_sdk
def test_amazon_s_own_client() -> None:
    heard, server = played([*START, *SYSTEM_TEXT, *TURN], until="audioOutput")
    audio = b"".join(base64.b64decode(e["audioOutput"]["content"]) for e in heard if "audioOutput" in e)
    assert audio == item(None, FINAL, SPOKEN).pcm
    assert [e["textOutput"]["content"] for e in heard if "textOutput" in e] == [HEARD, FINAL, FINAL]
    assert list(heard[-1]) == ["completionEnd"]
    assert server.prompts == [SPOKEN]
    assert "/us-west-2/bedrock/" in server.requests[0]["authorization"]


@needs_sdk
def test_speech_before_its_content_is_never_heard() -> None:
    heard, server = played([*START, spoken(SPOKEN), *SYSTEM_TEXT, *TURN, *END], until=None)
    assert [next(iter(event)) for event in heard] == ["usageEvent", "completionEnd"]
    assert server.prompts == []


@needs_sdk
@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([START[1], START[0]], "Unexpected event promptStart"),
        ([START[0], SYSTEM_TEXT[0]], "Unexpected event contentStart"),
        ([START[0], START[0]], "Unexpected event sessionStart"),
        ([*START, *SPEECH_START], "A SYSTEM content is required"),
        ([*START, {"contentStart": {**SYSTEM, "promptName": "other", "type": "TEXT"}}], "Unknown promptName"),
        ([{"sessionStart": {}}], "inferenceConfiguration is required"),
    ],
)
def test_what_is_out_of_order_ends_the_stream(events: list[dict[str, Any]], words: str) -> None:
    from aws_sdk_bedrock_runtime.models import ValidationException

    with pytest.raises(ValidationException, match=words):
        played(events, until=None)


URL = "https://127.0.0.1:1/model/amazon.nova-2-sonic-v1%3A0/invoke-with-bidirectional-stream"


def signed(secret: str = "any") -> dict[str, str]:
    """Headers that botocore signs."""
    request = AWSRequest("POST", URL, headers={"X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-EVENTS"})
    auth: Any = SigV4Auth(Credentials("any", secret), "bedrock", "us-east-1")
    auth.add_auth(request)
    return {**{k.lower(): v for k, v in request.headers.items()}, ":authority": "127.0.0.1:1"}


def test_a_request_is_refused_unless_it_is_signed_by_the_one_who_is_named() -> None:
    assert Signatures(URL, signed()).region == "us-east-1"
    with pytest.raises(SignatureError, match="Missing"):
        Signatures(URL, {":authority": "127.0.0.1:1"})
    with pytest.raises(SignatureError, match="does not match"):
        Signatures(URL, signed(secret="another"))
    with pytest.raises(SignatureError, match="does not match"):
        Signatures(URL.replace("nova-2", "nova"), signed())


def test_a_message_is_refused_unless_it_is_signed() -> None:
    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    with pytest.raises(SignatureError, match="chunk"):
        Signatures(URL, signed()).check({":date": now_ms, ":chunk-signature": bytes(32)}, b"payload")
    with pytest.raises(KeyError):
        list(SignedMessages(Signatures(URL, signed())).feed(message({":event-type": "chunk"}, b"{}")))
