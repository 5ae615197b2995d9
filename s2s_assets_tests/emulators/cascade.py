"""A cascade's three services on one port: both emulators' scenarios, one a prompt, from recognition on."""

from collections.abc import Sequence

from starlette.routing import Route

from s2s_assets.demo.cascade_server import CascadeServer
from s2s_assets_tests.emulators.elevenlabs import ElevenLabsEmulator, Speech
from s2s_assets_tests.emulators.openai_responses import ResponsesEmulator, Text


class Stages(Speech, Text):
    """What the three stages say."""


class CascadeEmulator(ElevenLabsEmulator, ResponsesEmulator, CascadeServer):
    """`uploads`, `questions` and `speeches` hold what each stage was sent."""

    begins = "stt"

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        CascadeServer.__init__(self, Stages(), port=port)
        self.set_scenarios(scenarios)
        self.uploads, self.questions, self.speeches = [], [], []

    @classmethod
    def names(cls) -> list[str]:
        """Every scenario of the two."""
        return list(dict.fromkeys((*ElevenLabsEmulator.names(), *ResponsesEmulator.names())))

    def routes(self) -> Sequence[Route]:
        """Both emulators' endpoints."""
        return (*ElevenLabsEmulator.routes(self), *ResponsesEmulator.routes(self))

    @property
    def prompts(self) -> list[bytes]:
        """The WAV files that came."""
        return [upload["file"] for upload in self.uploads]
