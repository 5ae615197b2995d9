"""What a provider's complaint means: status, and whether a repetition may help.

Passing (a repetition may help): HTTP 408, 409, 425, 5xx; rate limits and concurrency limits; a connection that fails or
breaks off. Final: bad keys, spent quotas, unknown models or voices, every other 4xx, a server whose certificate is not
trusted. A content filter is a refusal.
"""

import base64
import binascii
import json
import math
import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from s2s_assets.responses.records import RATES_HZ, ExchangeError, Status

UNTRUSTED = "untrusted_certificate"
FINAL_CODES = frozenset(
    {
        *("insufficient_quota", "invalid_api_key", "model_not_found", "quota_exceeded", "session_expired"),
        *("voice_not_found", UNTRUSTED),
    }
)
"""Codes that no repetition cures."""
_PASSING_CODES = frozenset({"server_error", "internal_error", "service_unavailable", "overloaded_error", "timeout"})
_REFUSALS = frozenset({"content_filter", "content_policy_violation", "safety"})
_LIMITS = re.compile(r"rate_limit|too_many|system_busy|concurrency|resource_exhausted")
_TOO_MANY = 429
_PASSING = frozenset({408, 409, 425})
_SERVER_ERROR = 500
_TRY_AGAIN = re.compile(r"try again in (?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s))?")


def http_error(status: int, headers: Mapping[str, str], body: bytes, stage: str | None = None) -> ExchangeError:
    """The failure that an HTTP status means: 429 is a rate limit, 408, 409, 425 and 5xx pass, all else is final."""
    code, message = _detail(body)
    kind, retryable = _classify_status(status, code)
    return ExchangeError(
        kind,
        code or f"http_{status}",
        f"HTTP {status}" + (f": {message}" if message else ""),
        retryable=retryable,
        retry_after_s=retry_after_s(headers.get("retry-after"), message),
        stage=stage,
    )


def _classify_status(status: int, code: str | None) -> tuple[Status, bool]:
    kind, retryable = classify(code)
    if kind != "provider_error":
        return kind, retryable
    if status == _TOO_MANY and code not in FINAL_CODES:
        return "rate_limited", True
    return kind, status in _PASSING or status >= _SERVER_ERROR


def classify(code: str | None, kind: str | None = None) -> tuple[Status, bool]:
    """Status and whether a repetition may help, from a provider's error code and type."""
    names = {n for n in (code, kind) if n}
    if names & FINAL_CODES:
        return "provider_error", False
    if names & _REFUSALS:
        return "refused", False
    if any(_LIMITS.search(n) for n in names):
        return "rate_limited", True
    return "provider_error", bool(names & _PASSING_CODES)


def retry_after_s(header: str | None, message: str = "") -> float | None:
    """Seconds to wait, from a Retry-After header (seconds or a date), else from "try again in 1m26.4s" in a message."""
    seconds = _from_header(header) if header else _from_words(message)
    return seconds if seconds is not None and math.isfinite(seconds) else None


def _from_words(message: str) -> float | None:
    found = _TRY_AGAIN.search(message)
    if not found or not any(found.groups()):
        return None
    hours, minutes, last, unit = found.groups()
    return float(hours or 0) * 3600 + float(minutes or 0) * 60 + float(last or 0) / (1000 if unit == "ms" else 1)


def _from_header(header: str) -> float | None:
    try:
        return max(float(header), 0.0)  # in this order NaN stays NaN
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _detail(body: bytes) -> tuple[str | None, str]:
    """Code and message of an error body: `{"error": {…}}`, `{"detail": {…} | […] | "…"}`, else its text."""
    text = body[:2000].decode("utf-8", "replace").strip()
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None, text[:300]
    inner = document.get("error", document.get("detail", document)) if isinstance(document, dict) else document
    if not isinstance(inner, dict):
        return None, inner if isinstance(inner, str) else text[:300]
    code = inner.get("code") or inner.get("status") or inner.get("type")
    if isinstance(code, int) and isinstance(inner.get("status"), str):
        # Google's form: a number that repeats the HTTP status, beside a name such as RESOURCE_EXHAUSTED
        code = inner["status"].lower()
    named = str(code) if code and not isinstance(code, int) else None
    return named, str(inner.get("message") or text[:300])


def error_object(error: Any, stage: str | None = None) -> ExchangeError:
    """The failure that an `error` object of an event is."""
    error = error if isinstance(error, dict) else {"message": str(error)}
    message, code, kind = str(error.get("message") or "no message"), error.get("code"), error.get("type")
    if isinstance(code, int):
        status, retryable = _classify_status(code, kind)
        code = f"http_{code}"
    else:
        status, retryable = classify(code, kind)
    wait_s = retry_after_s(None, message)
    return ExchangeError(
        status, str(code or kind or "error"), message, retryable=retryable, retry_after_s=wait_s, stage=stage
    )


def json_object(data: bytes | str, what: str, stage: str | None = None) -> dict[str, Any]:
    """A provider's JSON object; NaN and infinities in it, numbers too large for a float too, are None.

    Raises:
        ExchangeError: it is no JSON object, or one that is nested too deep to be read.
    """
    try:
        document = json.loads(data, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ExchangeError("provider_error", "malformed_event", f"{what} is no JSON object", stage=stage)
    return document


def _finite(text: str) -> float | None:
    return number if math.isfinite(number := float(text)) else None


def decoded(text: Any) -> bytes:
    """The bytes of a provider's base64 audio.

    Raises:
        ExchangeError: it is no base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ExchangeError("invalid_audio", "not_base64", "a piece of audio is no base64") from None


def possible_rate_hz(rate_hz: int) -> int:
    """A sampling rate that a provider names.

    Raises:
        ExchangeError: no speech has it.
    """
    if rate_hz not in RATES_HZ:
        raise ExchangeError("invalid_audio", "unexpected_format", f"audio of {str(rate_hz)[:20]} Hz")
    return rate_hz


def connection_error(
    error: BaseException, address: str, stage: str | None = None, *, authorities: str = "SSL_CERT_FILE"
) -> ExchangeError:
    """The failure that an unreachable address is; `authorities`: the variable that names the certificates to trust."""
    host = urlsplit(address).netloc
    if (untrusted := _untrusted(error)) is not None:
        message = (
            f"the certificate of {host} is not trusted: {untrusted.verify_message or untrusted}. Check the address; if "
            f"it is right, {authorities} must name a file with the authority that vouches for it"
        )
        return ExchangeError("provider_error", UNTRUSTED, message, stage=stage)
    message = f"no connection to {host}: {type(error).__name__}: {error}"
    return ExchangeError("provider_error", "connection_failed", message, retryable=True, stage=stage)


def _untrusted(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The verification of a certificate that an error came of, if it did."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
