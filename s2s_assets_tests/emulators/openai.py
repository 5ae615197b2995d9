"""The OpenAI Realtime service on loopback, with a scenario for each way in which it is known to behave.

Extends the demo's server: what is not a scenario's own is the server's. An emulator plays one scenario a connection;
after the last of its list, that one over and over. `seen` holds what each connection sent.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from s2s_assets.demo.answers import Answer, Session
from s2s_assets.demo.realtime_server import RealtimeServer, model_of, refusal
from s2s_assets_tests.emulators.openai_scenarios import SCENARIOS

REFUSALS: dict[str, tuple[int, str, dict[str, str]]] = {
    "http_401": (401, "invalid_api_key", {}),
    "http_403": (403, "unsupported_country_region_territory", {}),
    "http_404": (404, "model_not_found", {}),
    "http_429": (429, "rate_limit_exceeded", {"Retry-After": "0.02"}),
    "http_429_quota": (429, "insufficient_quota", {}),
    "http_503": (503, "service_unavailable", {}),
}


@dataclass(frozen=True)
class Seen:
    """One turn that a client asked an answer for."""

    prompt: bytes
    session: Session


class OpenAIEmulator(RealtimeServer):
    """Plays scenarios; `seen` has the turns, of which `on_turn` is told; `connections` counts upgrades, refused ones too."""

    def __init__(
        self,
        scenarios: str | Sequence[str] = "plain",
        *,
        port: int = 0,
        on_turn: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(self._answer_as, port=port)
        self._on_turn = on_turn
        names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
        self._plays = itertools.chain(names, itertools.repeat(names[-1]))
        self._playing: dict[ServerConnection, str] = {}
        self.seen: list[Seen] = []
        self.connections = 0

    async def _answer_as(self, pcm: bytes, session: Session) -> Answer:
        raise AssertionError("each connection has its own answerer")

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        self.connections += 1
        scenario = next(self._plays)
        self._playing[connection] = scenario
        if scenario not in REFUSALS:
            return super().refuse(connection, request)
        status, code, headers = REFUSALS[scenario]
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        response = refusal(connection, status, code, f"refused the key {key}")
        response.headers.update(headers)
        return response

    async def _serve(self, socket: ServerConnection) -> None:
        conversation, answer = SCENARIOS[self._playing.pop(socket)]

        async def remembered(pcm: bytes, session: Session) -> Answer:
            self.seen.append(Seen(pcm, session))
            if self._on_turn is not None:
                self._on_turn(len(self.seen))
            return await answer(pcm, session)

        assert socket.request is not None
        await conversation(remembered, socket, model_of(socket.request)).run()
