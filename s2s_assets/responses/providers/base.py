"""The contract of an adapter: one protocol, one file, one class that puts one prompt on the wire.

An adapter is made for one exchange and thrown away. It writes what happens into the `Recorder` and ends in one of two
ways: `run` returns when the provider has said that the answer is over, or it raises `ExchangeError`. It never decides
what an answer without audio means, never retries, and never logs: `exchange` does. Websocket protocols start from
`providers.websocket.WebsocketAdapter`, which leaves an adapter the messages alone; what else carries messages both ways, from
`providers.conversation.ConversationAdapter`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import Prompt, Request
from s2s_assets.study import StudyError

_LAID_OVER = frozenset({"body", "session", "setup"})
"""Settings that are laid over a message as it would be sent without them."""
ODD_EVENT = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)
"""What `run` and `probe` may raise beside `ExchangeError`: an event had a shape that the adapter did not expect."""


@dataclass(frozen=True)
class StageSpec:
    """A stage of an exchange: where it is by default, whose limits it counts against (None: the model's provider)."""

    url: str
    provider: str | None = None
    model: str | None = None
    """Whose price it has where the settings name no model."""
    key_env: str | None = None
    """Variable of the key where the model names none."""
    secrets: Mapping[str, bool] = field(default_factory=dict)
    """Variables of more secrets that its requests are signed with, and whether each is needed; what a model's `key_env`
    has before `key_env` stands before them too."""


class Adapter(ABC):
    """One protocol's client side, for one exchange."""

    name: ClassVar[str]
    """The `adapter` of study.yaml."""
    version: ClassVar[str]
    """Raised whenever what is sent or how it is read changes; provenance, not identity."""
    input_rate_hz: ClassVar[int]
    stages: ClassVar[Mapping[str, StageSpec]]
    setting_names: ClassVar[frozenset[str]]
    """Keys allowed in a model's `settings`."""

    def __init__(self, request: Request, recorder: Recorder) -> None:
        self.request = request
        self.recorder = recorder

    @classmethod
    def check(cls, model: str, settings: Mapping[str, Any]) -> None:
        """Refuse settings that this protocol would ignore or could not lay over what it sends.

        Raises:
            StudyError: an unknown key, named with those that are known, or a value where a mapping belongs.
        """
        unknown = sorted(set(settings) - cls.setting_names)
        if unknown:
            raise StudyError(
                f"model {model!r}: settings has {', '.join(unknown)}, which the adapter {cls.name!r} does not know; "
                f"expected any of {', '.join(sorted(cls.setting_names))}"
            )
        for name in sorted(_LAID_OVER & settings.keys()):
            if not isinstance(settings[name], Mapping):
                raise StudyError(f"model {model!r}: settings.{name} is {settings[name]!r}, expected a mapping")

    @classmethod
    def missing(cls) -> str | None:
        """What this installation lacks to speak the protocol, and how to get it; None where it lacks nothing."""
        return None

    @property
    def output_rate_hz(self) -> int:
        """Sampling rate of the answer."""
        return 24_000

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """What is sent, as JSON, without secrets and without the prompt's audio."""

    @abstractmethod
    async def run(self, prompt: Prompt) -> None:
        """Send the prompt (at `input_rate_hz`) and record the answer until its end.

        Raises:
            ExchangeError: the exchange ended without a whole answer.
        """

    async def probe(self) -> None:
        """Find out, without a prompt and as good as without cost, whether exchanges can succeed at all.

        A protocol that has no such way says nothing.

        Raises:
            ExchangeError: what an exchange would have met.
        """
        return
