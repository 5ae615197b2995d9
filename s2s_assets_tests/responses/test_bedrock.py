"""What carries Nova Sonic's messages: Amazon's SDK, its connections, and the certificates that they trust."""

import asyncio
import dataclasses
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from s2s_assets.responses import exchange
from s2s_assets_tests.emulators.sdk import needs_sdk
from s2s_assets_tests.responses.parties import NOVA, PATIENT

PROMPT = NOVA.prompt()


@needs_sdk
def test_a_message_that_is_begun_is_finished_before_the_next() -> None:
    """Signatures build on one another: one that is left out would make all that follow worthless."""
    from s2s_assets.responses.providers.bedrock import _Stream

    async def run() -> list[bytes]:
        sent: list[bytes] = []
        gate = asyncio.Event()

        async def slowly(event: Any) -> None:
            await gate.wait()
            sent.append(event.value.bytes_)

        stream = _Stream(SimpleNamespace(input_stream=SimpleNamespace(send=slowly)), None)  # type: ignore[arg-type]
        first = asyncio.create_task(stream.send("first"))
        await asyncio.sleep(0)
        first.cancel()
        second = asyncio.create_task(stream.send("second"))
        await asyncio.sleep(0)
        gate.set()
        await second
        return sent

    assert asyncio.run(run()) == [b"first", b"second"]


@needs_sdk
def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/authorities.pem")
    outcome, _ = NOVA.turn(terms=PATIENT)
    assert (outcome.status, outcome.code, outcome.origin) == ("runner_error", "no_certificates", "runner")
    assert "/nowhere/authorities.pem" in str(outcome.message)


@needs_sdk
def test_a_server_that_is_not_trusted_gets_nothing_and_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE")
    outcome, emulator = NOVA.turn(terms=dataclasses.replace(PATIENT, connect_timeout_s=0.5))
    assert (outcome.status, outcome.code, outcome.retryable) == ("provider_error", "untrusted_certificate", False)
    assert "self-signed certificate" in str(outcome.message)
    assert "AWS_CA_BUNDLE must name" in str(outcome.message)
    assert emulator.connections == 0


@needs_sdk
def test_a_connection_that_fails_when_nobody_waits_for_it_finds_its_future(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the SDK's thread cannot say to a future that was called off it prints, as an exception that nobody caught."""
    from awscrt.aio.http import AIOHttpClientConnectionUnified as Connection
    from awscrt.exceptions import AwsCrtError

    new, made = Connection._generic_new, []

    def remembered(*given: Any, **named: Any) -> Any:
        made.append(new(*given, **named))
        return made[-1]

    monkeypatch.setattr(Connection, "_generic_new", staticmethod(remembered))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        outcome = asyncio.run(exchange(NOVA.request(url, dataclasses.replace(PATIENT, connect_timeout_s=0.2)), PROMPT))
    assert (outcome.status, outcome.code) == ("timeout", "connection_timeout")
    (late,) = made
    assert isinstance(late.exception(timeout=20), AwsCrtError)
