"""A stream of Amazon Bedrock that is open both ways, through Amazon's own SDK (the extra `nova`, Python 3.12).

The SDK signs the request and every message of it (Signature Version 4) and speaks HTTP/2. To its HTTP client this adds:
a connection of its own for every exchange, made before anything is signed; trust in the authorities of `AWS_CA_BUNDLE`,
where that is set, instead of the system's; a word on certificates that are not trusted; an end for a request whose
connection breaks before it is answered, for which the SDK would wait for ever.

What the service complains of has the name of an exception: `ThrottlingException` is a limit, those of the model's and the
service's own failures may pass, and so may an error without such a name; all others (a signature, a model, a value that is
not accepted) are final.
"""

import asyncio
import json
import logging
import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from aws_sdk_bedrock_runtime.client import AsyncBedrockRuntimeClient
from aws_sdk_bedrock_runtime.config import AsyncBedrockRuntimeConfig
from aws_sdk_bedrock_runtime.models import (
    BidirectionalInputPayloadPart,
    InvokeModelWithBidirectionalStreamInputChunk,
    InvokeModelWithBidirectionalStreamOperationInput,
    InvokeModelWithBidirectionalStreamOutputChunk,
)
from awscrt.aio.http import AIOHttpClientConnectionUnified
from awscrt.exceptions import AwsCrtError
from awscrt.io import ClientTlsContext, TlsContextOptions
from ijson.common import JSONError
from smithy_aws_event_stream.exceptions import EventError, UnmodeledEventError
from smithy_core import URI
from smithy_core.exceptions import CallError, ModeledError, SmithyError
from smithy_http.aio.crt import AWSCRTHTTPClient, AWSCRTHTTPClientConfig

from s2s_assets.responses.providers.conversation import Channel, ClosedError
from s2s_assets.responses.providers.failures import connection_error, http_error
from s2s_assets.responses.records import ExchangeError, Status

_PASSING: Mapping[str, Status] = {
    "throttling": "rate_limited",
    "model_timeout": "timeout",
    "internal_server": "provider_error",
    "model_error": "provider_error",
    "model_not_ready": "provider_error",
    "model_stream_error": "provider_error",
    "service_unavailable": "provider_error",
}
_UNNAMED = re.compile(r"id: \S*#(\w+)")
_GOODBYE_S = 1.0
_BUNDLE = "AWS_CA_BUNDLE"
_HTTPS_PORT = 443
# one level lower they write the signed headers and the body of every message
for _name in ("aws_sdk_bedrock_runtime", "smithy_aws_core", "smithy_aws_event_stream", "smithy_core", "smithy_http"):
    logging.getLogger(_name).setLevel(logging.INFO)


async def open_stream(
    url: str, region: str, model: str, access_key: str, secret_key: str, session_token: str | None
) -> Channel:
    """A connection to a region's endpoint and a request for a model on it, not yet answered.

    Raises:
        ExchangeError: no connection.
    """
    parts = urlsplit(url)
    address = URI(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, path=parts.path or None)
    transport = copy(_first_transport(os.environ.get(_BUNDLE)))
    transport.begin()
    try:
        await transport.connect(address)
        config = await AsyncBedrockRuntimeConfig.resolve(
            endpoint_uri=address,
            region=region,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            aws_session_token=session_token,
            transport=transport,
        )
        asked = InvokeModelWithBidirectionalStreamOperationInput(model_id=model)
        stream = await AsyncBedrockRuntimeClient(config).invoke_model_with_bidirectional_stream(asked)
    except (AwsCrtError, OSError, RuntimeError, SmithyError) as error:
        await transport.close()
        raise connection_error(error, url) from None
    except asyncio.CancelledError:
        await transport.close()
        raise
    return _Stream(stream, transport)


async def distrust(url: str, timeout_s: float) -> ExchangeError | None:
    """Why the certificate of a server that could not be connected to is not trusted; None where that was not the reason.

    The SDK keeps a failed handshake to itself for 10 to 30 s, against those who learn from delays, and never says why:
    so a handshake of Python's own, which takes at most `timeout_s`, asks once more.
    """
    parts = urlsplit(url)
    try:
        trusted = await asyncio.to_thread(ssl.create_default_context, cafile=os.environ.get(_BUNDLE))
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or _HTTPS_PORT, ssl=trusted)
        writer.transport.abort()
    except ssl.SSLCertVerificationError as error:
        return connection_error(error, url, authorities=_BUNDLE)
    except OSError:
        return None
    return None


class _Transport(AWSCRTHTTPClient):  # type: ignore[misc]  # the SDK is not there on Python 3.11
    """The SDK's HTTP client, for one connection."""

    def __init__(self, bundle: str | None) -> None:
        super().__init__(client_config=AWSCRTHTTPClientConfig(force_http_2=True))
        if bundle:
            self._tls_ctx = _trusting(bundle)

    def begin(self) -> None:
        """Be a copy that has a connection of its own."""
        self._connections: dict[Any, Any] = {}
        self._body: Any = None

    async def connect(self, address: Any) -> None:
        await self._get_connection(address)

    async def _build_new_connection(self, url: Any) -> Any:
        if url.scheme != "https":
            return await super()._build_new_connection(url)
        options = self._tls_ctx.new_connection_options()
        options.set_server_name(url.host)
        options.set_alpn_list(["h2"])
        where = (url.host, url.port or _HTTPS_PORT, self._client_bootstrap, self._socket_options, options)
        made = AIOHttpClientConnectionUnified._generic_new(*where, asyncio_connection=True)  # noqa: SLF001
        # the SDK's thread must find its future as it left it, even when nobody wants the connection any more and the loop has
        # ended: the SDK's own way leaves it called off
        arrived = asyncio.Event()
        made.add_done_callback(partial(_tell, asyncio.get_running_loop(), arrived))
        await arrived.wait()
        return made.result()

    async def send(self, request: Any, **others: Any) -> Any:
        self._body = request.body
        return await super().send(request, **others)

    async def _await_response(self, stream: Any) -> Any:
        # that sending has failed is told by what is read
        stream._writer.add_done_callback(_forgive)  # noqa: SLF001
        answered = asyncio.ensure_future(super()._await_response(stream))
        ended = asyncio.ensure_future(stream.wait_for_completion())
        await asyncio.wait({answered, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not answered.done() and ended.exception() is not None:
            answered.cancel()
            raise ConnectionError(f"the connection broke before the request was answered: {ended.exception()}")
        ended.add_done_callback(_forgive)
        return await answered

    async def close(self) -> None:
        """Drop what is not sent, and the connection."""
        if self._body is not None:
            await self._body.close(flush=False)
        await super().close()


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event, _: object) -> None:
    """Set an event from another thread; in a loop that has ended nobody waits for it."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)


def _forgive(task: asyncio.Future[Any]) -> None:
    """Take note of a failure, so that nobody calls it unnoticed."""
    if not task.cancelled():
        task.exception()


@cache
def _first_transport(bundle: str | None) -> _Transport:
    """What all others are copies of: they share its thread, and the certificates, whose reading takes a while."""
    return _Transport(bundle)


def _trusting(bundle: str) -> Any:
    options = TlsContextOptions()
    try:
        options.override_default_trust_store_from_path(None, bundle)
        return ClientTlsContext(options)
    except (OSError, RuntimeError):
        message = f"{_BUNDLE} is {bundle!r}, where no certificates can be read"
        raise ExchangeError("runner_error", "no_certificates", message, origin="runner") from None


class _Stream(Channel):
    """The SDK's stream as a channel."""

    def __init__(self, stream: Any, transport: _Transport) -> None:
        self._stream = stream
        self._transport = transport
        self._one_by_one = asyncio.Lock()
        self._sending: set[asyncio.Future[None]] = set()
        self._receiving: asyncio.Future[bytes] | None = None

    async def send(self, text: str) -> None:
        # each signature is made over the one before: a message that is begun must be finished, or none can follow it
        sending = asyncio.ensure_future(self._send(text))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
        sending.add_done_callback(_forgive)
        await asyncio.shield(sending)

    async def _send(self, text: str) -> None:
        part = BidirectionalInputPayloadPart(bytes_=text.encode())
        try:
            async with self._one_by_one:
                await self._stream.input_stream.send(InvokeModelWithBidirectionalStreamInputChunk(value=part))
        except (OSError, SmithyError) as error:
            raise ClosedError(0, _line(error)) from None

    async def recv(self) -> bytes:
        # the SDK's thread must find the one who waits for a piece, even when nobody waits for its message any more
        self._receiving = self._receiving or asyncio.ensure_future(self._recv())
        received = await asyncio.shield(self._receiving)
        self._receiving = None
        return received

    async def _recv(self) -> bytes:
        try:
            _, receiver = await self._stream.await_output()
            while (event := await receiver.receive()) is not None:
                if isinstance(event, InvokeModelWithBidirectionalStreamOutputChunk):
                    return bytes(event.value.bytes_ or b"")
        except (AwsCrtError, OSError) as error:
            raise ClosedError(0, _line(error)) from None
        except KeyError as unknown:
            # the SDK looks up the name of an exception that it does not know
            raise _failure(str(unknown.args[0]), "") from None
        except JSONError as error:
            raise _malformed(error) from None
        except SmithyError as error:
            raise _meaning(error) from None
        raise ClosedError(0, "the stream ended")

    async def close(self) -> None:
        ended = self._receiving is not None and self._receiving.done()
        if not ended:
            with suppress(TimeoutError, OSError, SmithyError):
                async with asyncio.timeout(_GOODBYE_S), self._one_by_one:
                    await self._stream.input_stream.close()
        await self._transport.close()
        left: list[asyncio.Future[Any]] = [*self._sending, *([self._receiving] if self._receiving else [])]
        await asyncio.gather(*left, return_exceptions=True)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _malformed(error: Exception) -> ExchangeError:
    return ExchangeError("provider_error", "malformed_event", f"a message is malformed: {_line(error)}")


def _meaning(error: Any) -> ExchangeError | ClosedError:
    """What an exception of the SDK's is to an exchange."""
    if isinstance(error, UnmodeledEventError):
        failure = _failure(error.code, error.message)
        failure.retryable = True
        return failure
    if isinstance(error, EventError):
        return _malformed(error)
    if isinstance(error, ModeledError):
        return _failure(type(error).__name__, error.message, error.retry_after)
    if isinstance(error, CallError) and (status := error.response_metadata.http_status_code):
        name = _UNNAMED.search(error.message)
        body = {"error": {"code": _code(name[1]) if name else None, "message": error.message}}
        return http_error(status, {}, json.dumps(body).encode())
    return ClosedError(0, _line(error))


def _failure(name: str, message: str, retry_after_s: float | None = None) -> ExchangeError:
    code = _code(name)
    return ExchangeError(
        _PASSING.get(code, "provider_error"),
        code,
        f"{name}: {message}".rstrip(": "),
        retryable=code in _PASSING,
        retry_after_s=retry_after_s,
    )


def _code(name: str) -> str:
    """`ThrottlingException` → `throttling`."""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name.removesuffix("Exception"))
    return "_".join(words).lower()
