"""What complaints mean, how long providers ask to wait, and how long a retry waits."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses import Backoff
from s2s_assets.responses.providers.addresses import join
from s2s_assets.responses.providers.failures import classify, error_object, http_error, retry_after_s


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("rate_limit_exceeded", "tokens", ("rate_limited", True)),
        ("inference_rate_limit_exceeded", None, ("rate_limited", True)),
        ("too_many_concurrent_requests", None, ("rate_limited", True)),
        ("system_busy", None, ("rate_limited", True)),
        (None, "server_error", ("provider_error", True)),
        ("insufficient_quota", "insufficient_quota", ("provider_error", False)),
        ("content_filter", None, ("refused", False)),
        ("invalid_value", "invalid_request_error", ("provider_error", False)),
        (None, None, ("provider_error", False)),
    ],
)
def test_codes(code: str | None, kind: str | None, expected: tuple[str, bool]) -> None:
    assert classify(code, kind) == expected


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, b"", ("provider_error", "http_400", False)),
        (408, b"not json", ("provider_error", "http_408", True)),
        (429, b"", ("rate_limited", "http_429", True)),
        (429, b'{"error": {"code": "insufficient_quota"}}', ("provider_error", "insufficient_quota", False)),
        (
            429,
            b'{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}',
            ("rate_limited", "resource_exhausted", True),
        ),
        (
            403,
            b'{"error": {"code": 403, "status": "PERMISSION_DENIED"}}',
            ("provider_error", "permission_denied", False),
        ),
        (422, b'{"detail": [{"msg": "field required"}]}', ("provider_error", "http_422", False)),
        (404, b'{"detail": "Not Found"}', ("provider_error", "http_404", False)),
        (500, b"[1, 2]", ("provider_error", "http_500", True)),
        (503, b'{"error": "down"}', ("provider_error", "http_503", True)),
    ],
)
def test_http(status: int, body: bytes, expected: tuple[str, str, bool]) -> None:
    error = http_error(status, {}, body)
    assert (error.status, error.code, error.retryable) == expected
    assert str(status) in error.message


def test_waits_that_providers_ask_for() -> None:
    assert retry_after_s("7") == 7
    assert retry_after_s("-1") == 0
    assert retry_after_s("soon") is None
    assert retry_after_s(None, "Please try again in 1m26.4s.") == pytest.approx(86.4)
    assert retry_after_s(None, "Please try again in 350ms.") == pytest.approx(0.35)
    assert retry_after_s(None, "Please try again in 2h3m0s") == 7380
    assert retry_after_s(None, "Please try again later") is None
    for endless in ("inf", "nan", "1e999"):
        assert retry_after_s(endless) is None, "no number that a record could hold"
    assert retry_after_s(None, f"Please try again in {'9' * 400}s") is None
    assert retry_after_s(None, f"Please try again in {'9' * 400}h1s") is None
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100))
    assert 90 < (retry_after_s(date) or 0) <= 100


@given(attempt=st.integers(1, 10), name=st.text(), asked=st.one_of(st.none(), st.floats(0, 1000)))
def test_waits_between_attempts(attempt: int, name: str, asked: float | None) -> None:
    backoff = Backoff(base_s=1, cap_s=30, max_wait_s=120)
    wait_s = backoff.wait_s(name, attempt, asked)
    assert wait_s == backoff.wait_s(name, attempt, asked)
    own = min(30, 2 ** (attempt - 1))
    assert max(own * 0.5, min(asked or 0, 120)) <= wait_s <= max(own * 1.5, min(asked or 0, 120))


def test_addresses() -> None:
    for base in ("https://api.x.com", "https://api.x.com/", "https://api.x.com/v1", "https://api.x.com/v1/"):
        assert join(base, "/v1/responses") == "https://api.x.com/v1/responses"
    assert join("http://host:1/own", "/v1/responses") == "http://host:1/own/v1/responses"
    for base in ("wss://x.com", "wss://x.com/api-ws", "wss://x.com/api-ws/v1/", "wss://x.com/api-ws/v1/realtime"):
        assert join(base, "/api-ws/v1/realtime") == "wss://x.com/api-ws/v1/realtime"


def test_an_error_object_s_number_is_an_http_status() -> None:
    for code, expected in (
        (429, ("rate_limited", True)),
        (503, ("provider_error", True)),
        (400, ("provider_error", False)),
    ):
        error = error_object({"message": "no", "type": "BadRequestError", "code": code})
        assert (error.status, error.retryable, error.code) == (*expected, f"http_{code}")
