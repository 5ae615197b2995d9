"""The Gemini Live service on loopback; an upgrade without a key is refused."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from s2s_assets_tests.emulators.gemini_conversation import key_of
from s2s_assets_tests.emulators.gemini_scenarios import SCENARIOS, Scenario
from s2s_assets_tests.emulators.realtime import RealtimeEmulator

REFUSALS: dict[str, tuple[int, str, dict[str, str]]] = {
    "http_401": (401, "UNAUTHENTICATED", {}),
    "http_403": (403, "PERMISSION_DENIED", {}),
    "http_404": (404, "NOT_FOUND", {}),
    "http_429": (429, "RESOURCE_EXHAUSTED", {"Retry-After": "0.02"}),
    "http_503": (503, "UNAVAILABLE", {}),
}


class GeminiEmulator(RealtimeEmulator):
    """What the Live service does, one scenario a connection."""

    scenarios: ClassVar[Mapping[str, Scenario]] = SCENARIOS

    @classmethod
    def names(cls) -> list[str]:
        return [*cls.scenarios, *REFUSALS]

    def model_of(self, request: Request) -> str:
        """The setup names it."""
        return ""

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        self.connections += 1
        scenario, key = next(self._plays), key_of(request)
        self._playing[connection] = scenario
        if key and scenario not in REFUSALS:
            return None
        status, name, headers = REFUSALS.get(scenario, REFUSALS["http_403"])
        error = {"code": status, "message": f"refused the key {key}", "status": name}
        response = connection.respond(HTTPStatus(status), json.dumps({"error": error}))
        response.headers.update(headers)
        return response
