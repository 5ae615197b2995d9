"""A service with OpenAI's realtime vocabulary on loopback; what one service does is its table of scenarios.

Extends the demo's server: what is not a scenario's own is the server's. An emulator plays one scenario a connection;
after the last of its list, that one over and over.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from s2s_assets.demo.answers import Answer, Session
from s2s_assets.demo.realtime_server import RealtimeServer, refusal
from s2s_assets_tests.emulators.realtime_scenarios import Scenario

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


class RealtimeEmulator(RealtimeServer):
    """Plays scenarios.

    `seen` has the turns, of which `on_turn` is told; `kinds` the types of each connection's messages; `connections`
    counts upgrades, refused ones too.
    """

    scenarios: ClassVar[Mapping[str, Scenario]]

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
        self.kinds: list[list[str]] = []
        self.connections = 0

    @classmethod
    def names(cls) -> list[str]:
        """Every scenario."""
        return [*cls.scenarios, *REFUSALS]

    @property
    def prompts(self) -> list[bytes]:
        """The audio of each turn."""
        return [turn.prompt for turn in self.seen]

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
        kind, answer = self.scenarios[self._playing.pop(socket)]

        async def remembered(pcm: bytes, session: Session) -> Answer:
            self.seen.append(Seen(pcm, session))
            if self._on_turn is not None:
                self._on_turn(len(self.seen))
            return await answer(pcm, session)

        assert socket.request is not None
        conversation = kind(remembered, socket, self.model_of(socket.request))
        self.kinds.append(conversation.kinds)
        await conversation.run()
