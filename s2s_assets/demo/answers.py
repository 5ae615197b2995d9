"""What a speech system has to say for itself, whatever protocol carries it.

The demo's speech systems implement these types; `realtime_conversation` and `cascade_server` put them on the wire.
Audio is signed 16-bit little-endian mono PCM at 24 kHz in both directions.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

RATE_HZ = 24_000
"""Sampling rate of all PCM here."""


@dataclass(frozen=True)
class SpokenItem:
    """One message of an answer: its words and its speech (s16le mono 24 kHz)."""

    phase: str | None
    """`commentary` (provisional, said while thinking), `final_answer`, or None where the model does not say."""
    text: str
    pcm: bytes


@dataclass(frozen=True)
class Answer:
    """All that a system says to one prompt, in order."""

    items: tuple[SpokenItem, ...]
    input_transcript: str | None = None
    """What the system's side recognition heard."""


@dataclass(frozen=True)
class Session:
    """What the client asked for: the model of the URL and the session's settings."""

    model: str
    voice: str
    instructions: str
    effort: str | None
    """Reasoning effort; None where the client set none."""


Answerer = Callable[[bytes, Session], Awaitable[Answer]]
"""Prompt PCM (s16le mono 24 kHz) and session to answer."""


class SpeechServices(Protocol):
    """Recognition and speech."""

    async def transcribe(self, wav: bytes) -> str:
        """Text of a WAV file's speech."""
        ...

    async def speak(self, text: str, voice_id: str) -> bytes:
        """Speech as s16le mono PCM at 24 kHz."""
        ...


class TextServices(Protocol):
    """Written replies."""

    async def reply(self, text: str, instructions: str, effort: str | None) -> str:
        """A written reply."""
        ...


class CascadeServices(SpeechServices, TextServices, Protocol):
    """The three stages of a cascade."""
