"""Amazon's event streams (`application/vnd.amazon.eventstream`) as a server reads and writes them, signatures included.

A message: length of all, length of the headers, CRC-32 of these; headers; payload; CRC-32 of all. A client signs its
request (Signature Version 4), and then every message: the message proper is the payload of an envelope whose headers
are `:date` and `:chunk-signature`. Each signature is made over the one before, so that nothing can be lost, moved or
changed. Decoding and the request's signature are botocore's, which the adapter has no part of.
"""

import hashlib
import hmac
import re
from binascii import crc32
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from struct import pack
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<headers>[^,]+), Signature=(?P<signature>[0-9a-f]{64})"
)
_STRING, _TIMESTAMP = 7, 8


class SignatureError(Exception):
    """A request or a message is not signed, or not by the one who is named."""


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """A message whose headers are texts."""
    encoded = b"".join(_header(name, _STRING, pack("!H", len(v.encode())) + v.encode()) for name, v in headers.items())
    prelude = pack("!II", 16 + len(encoded) + len(payload), len(encoded))
    body = prelude + pack("!I", crc32(prelude)) + encoded + payload
    return body + pack("!I", crc32(body))


def _header(name: str, kind: int, value: bytes) -> bytes:
    return pack("!B", len(name)) + name.encode() + pack("!B", kind) + value


class Signatures:
    """The chain of signatures of one request.

    The secret of an access key is, on loopback, the access key itself.

    Raises:
        SignatureError: the request is not signed as its headers say.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        found = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
        if found is None:
            raise SignatureError("Missing Authentication Token")
        self.access_key, self.region, self._service = found["key"], found["region"], found["service"]
        self._prior = found["signature"]
        if self._prior != self._of_request(url, headers, found["headers"].split(";")):
            raise SignatureError("The request signature we calculated does not match the signature you provided.")

    def _of_request(self, url: str, headers: Mapping[str, str], names: list[str]) -> str:
        signed = {name: headers[":authority" if name == "host" else name] for name in names}
        request = AWSRequest("POST", url, headers=signed)
        request.context["timestamp"] = headers["x-amz-date"]
        auth: Any = SigV4Auth(Credentials(self.access_key, self.access_key), self._service, self.region)
        return str(auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request))

    def check(self, headers: Mapping[str, Any], payload: bytes) -> None:
        """Hold the next envelope against its signature."""
        at_ms = int(headers[":date"])
        stamp = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{stamp[:8]}/{self.region}/{self._service}/aws4_request"
        dated = _header(":date", _TIMESTAMP, pack("!q", at_ms))
        hashes = (hashlib.sha256(part).hexdigest() for part in (dated, payload))
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, scope, self._prior, *hashes])
        key = f"AWS4{self.access_key}".encode()
        for part in (*scope.split("/"), text):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        if key != headers[":chunk-signature"]:
            raise SignatureError("The chunk signature does not match.")
        self._prior = key.hex()


class SignedMessages:
    """The messages proper of a client's stream, out of their envelopes."""

    def __init__(self, signatures: Signatures) -> None:
        self._signatures = signatures
        self._outer: Any = EventStreamBuffer()

    def feed(self, data: bytes) -> Iterator[tuple[Mapping[str, Any], bytes]]:
        """Headers and payload of each message that is complete; the empty envelope at the end holds none."""
        self._outer.add_data(data)
        for envelope in self._outer:
            self._signatures.check(envelope.headers, envelope.payload)
            inner: Any = EventStreamBuffer()
            inner.add_data(envelope.payload)
            yield from ((found.headers, found.payload) for found in inner)
