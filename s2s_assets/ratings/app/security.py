"""What surrounds every response: strict headers, no foreign form, no large body.

The outermost layer, so that error pages and refusals have the headers too. A request that changes something must come
from a page of this app: `Sec-Fetch-Site` says so, which no page can set, or else `Origin` names this host. A request with
neither is no browser's.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
"""Bytes; the largest form has a comment of 500 characters and a dozen scores."""
_SAFE = {"GET", "HEAD", "OPTIONS"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "media-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}
_DEFAULTS = {"cache-control": "no-store", "referrer-policy": "same-origin"}
_HTTPS_ONLY = {"strict-transport-security": "max-age=31536000"}


class Guarded:
    """An app behind all of this."""

    def __init__(self, app: ASGIApp, secure: bool) -> None:
        self._app = RequestBodyLimitMiddleware(app, LARGEST_BODY)
        self._headers = _HEADERS | (_HTTPS_ONLY if secure else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(self._headers)
                for name, value in _DEFAULTS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] not in _SAFE and not from_here(Headers(scope=scope)):
            refusal = PlainTextResponse("This form was not sent from a page of this app.\n", 403)
            await refusal(scope, receive, guarded_send)
            return
        await self._app(scope, receive, guarded_send)


def from_here(headers: Mapping[str, str]) -> bool:
    """Whether a request that changes something was sent by a page of this app."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == headers.get("host")
