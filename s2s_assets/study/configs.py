"""What is tested: models with their voices and thinking levels. A *config* is model × voice × thinking level."""

from datetime import date
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from s2s_assets.study.canonical import digest
from s2s_assets.study.keys import NO_THINKING, ConfigKey
from s2s_assets.study.record import KeyPart, Name, Record

Shared = Literal["voice", "thinking", "family"]
SHARED: tuple[str, ...] = get_args(Shared)
"""What two configs may have in common, by which boards can be sliced: both answers of a rating have it."""


class Voice(Record):
    """A voice of a model; `accent` and `why` it was chosen are for readers of the study."""

    id: KeyPart
    provider_id: str | None = None
    """The provider's name for it, where that is not a legal key part."""
    gender: Literal["female", "male", "unspecified"] = "unspecified"
    accent: str = "en-US"
    why: str = ""


class Model(Record):
    """A provider's model with the voices and thinking levels under test."""

    id: KeyPart
    name: Name
    family: Name
    provider: Name
    """Whose limits an exchange counts against."""
    adapter: Name
    """The protocol, such as `openai_realtime` or `cascade`."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What the adapter sends: the provider's model id, sampling settings, the stages of a cascade."""
    instruction: str | None = None
    """System prompt, where it is not the study's default instruction."""
    base_url: str | dict[str, str] | None = None
    base_url_env: str | dict[str, str] | None = None
    """Environment variables that hold the address, by stage in a cascade; the demo's servers are found so."""
    key_env: str | dict[str, str] | None = None
    """Environment variables that hold the provider's keys, by stage in a cascade."""
    voices: Annotated[tuple[Voice, ...], Field(min_length=1)]
    thinking: tuple[KeyPart, ...] = (NO_THINKING,)
    retired: date | None = None
    baseline: bool = False
    note: str = ""
    """For readers of the study: what in these settings is ours rather than the source method's."""

    @model_validator(mode="after")
    def _unique(self) -> Self:
        for what, names in (("voice", [v.id for v in self.voices]), ("thinking level", list(self.thinking))):
            if len(set(names)) < len(names):
                raise ValueError(f"model {self.id!r} names a {what} twice: {names}")
        if not self.thinking:
            raise ValueError(f"model {self.id!r}: thinking is empty; leave it out for a model without thinking levels")
        return self


class Config(Record):
    """One partition: a model with one voice and one thinking level."""

    key: ConfigKey
    model: Model
    voice: Voice
    thinking: str
    instruction: str

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is sent, as in study.yaml: part of a response's identity."""
        return {
            "adapter": self.model.adapter,
            "provider": self.model.provider,
            "settings": self.model.settings,
            "instruction": self.instruction,
            "voice": self.voice.provider_id or self.voice.id,
            "thinking": self.thinking,
            "base_url": self.model.base_url,
            "base_url_env": self.model.base_url_env,
        }

    def response_id(self, pcm_sha256: str, repeat: int = 0) -> str:
        """Identity of this config's answer to a normalized prompt, known before anything is sent."""
        return digest([str(self.key), pcm_sha256, self.settings, repeat])
