"""The records of one exchange: what is asked (`Request`, `Prompt`) and what came of it (`Outcome`).

PCM is signed 16-bit little-endian mono. Offsets are milliseconds on the monotonic clock, counted from the moment an
attempt starts; one UTC time says when that was.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from s2s_assets.audio import Clip, encode, from_pcm16, mono, pcm16, resample

RATES_HZ = range(4_000, 192_001)
"""Sampling rates that speech may have."""
Status = Literal[
    "ok",
    "refused",
    "empty_audio",
    "silent_audio",
    "truncated",
    "timeout",
    "rate_limited",
    "provider_error",
    "invalid_audio",
    "runner_error",
]
Origin = Literal["provider", "runner"]


@dataclass(frozen=True)
class Terms:
    """How a prompt is sent and how long anything is waited for (seconds)."""

    pace: float = 1.0
    """Audio seconds sent a second; 0 sends without waiting."""
    frame_ms: int = 100
    """Audio in one message, 20 to 100 ms."""
    connect_timeout_s: float = 15.0
    """To connect, and again to have the configuration acknowledged."""
    first_event_timeout_s: float = 60.0
    """From the end of the turn to the first sign of an answer."""
    idle_timeout_s: float = 60.0
    """Between two events of an answer."""
    grace_s: float = 2.0
    """How long a late input transcript is waited for once the answer is over."""


@dataclass(frozen=True)
class Request:
    """All that decides what is sent for one config; addresses and keys are resolved."""

    config: str
    adapter: str
    settings: Mapping[str, Any]
    instruction: str
    voice: str
    thinking: str
    addresses: Mapping[str, str]
    """Stage → base URL: what stands before the protocol's own path."""
    providers: Mapping[str, str]
    """Stage → whose limits a request of that stage counts against."""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Stage → secret, and variable → secret where requests are signed with more than one; what is not set is absent."""
    terms: Terms = Terms()


@dataclass(frozen=True)
class Prompt:
    """A prompt's samples at one rate."""

    pcm: bytes
    rate_hz: int

    @classmethod
    def of(cls, clip: Clip, rate_hz: int) -> Self:
        """A recording as one channel at a protocol's rate."""
        return cls(pcm16(resample(mono(clip), rate_hz).samples), rate_hz)

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.pcm) / 2 / self.rate_hz

    def wav(self) -> bytes:
        """The samples as a WAV file."""
        return encode(from_pcm16(self.pcm, self.rate_hz), "wav", bits=16)


@dataclass(frozen=True)
class Timings:
    """Offsets of an attempt's milestones, ms; None where a milestone was not reached or does not exist."""

    connected: float | None = None
    configured: float | None = None
    input_sent: float | None = None
    """The end of the turn is on the wire."""
    first_event: float | None = None
    """First sign of an answer."""
    first_audio: float | None = None
    last_audio: float | None = None
    done: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What one attempt came to. Nothing in it holds a secret.

    `status` is `ok` only for an answer that ended as the protocol says and has audible final audio; then `origin`,
    `code` and `message` are None.
    """

    status: Status
    rate_hz: int
    started_at: datetime
    """UTC, aware."""
    adapter: str
    adapter_version: str
    origin: Origin | None = None
    code: str | None = None
    message: str | None = None
    retryable: bool = False
    retry_after_s: float | None = None
    """What the provider asked to wait."""
    stage: str | None = None
    """Where a cascade failed."""
    pcm: bytes = b""
    """Final audio as received: the concatenation of its chunks, by item; part of an answer where `status` is not ok."""
    provisional: tuple[bytes, ...] = ()
    """Audio that the provider marked as commentary, one entry an item."""
    thinking: str | None = None
    input_transcript: str | None = None
    output_transcript: str | None = None
    arrivals: tuple[tuple[float, int], ...] = ()
    """When the pieces of final audio came, and their bytes: timing is kept beside the samples, never in them."""
    usage: Mapping[str, Any] | None = None
    model_reported: str | None = None
    timings: Timings = Timings()
    log: tuple[str, ...] = ()
    """Events of both directions in order, without audio bodies, each in canonical JSON."""
    snapshot: Mapping[str, Any] = field(default_factory=dict)
    """The request as sent."""

    @property
    def ok(self) -> bool:
        """Whether this is an answer."""
        return self.status == "ok"

    @property
    def duration_s(self) -> float | None:
        """Length of the answer; None where there is none."""
        return len(self.pcm) / 2 / self.rate_hz if self.ok else None

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        """The log, read: when (`at_ms`), in which direction (`dir`), what (`event`)."""
        return tuple(json.loads(line) for line in self.log)


class ExchangeError(Exception):
    """An attempt that ends without an answer; `exchange` turns it into an `Outcome`, no one else sees it."""

    def __init__(
        self,
        status: Status,
        code: str,
        message: str,
        *,
        origin: Origin = "provider",
        retryable: bool = False,
        retry_after_s: float | None = None,
        stage: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status: Status = status
        self.code = code
        self.message = message
        self.origin: Origin = origin
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.stage = stage
