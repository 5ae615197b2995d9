"""How prompts are sent, what a provider takes at once, and what it charges: the sections `exchange` and `providers`."""

from datetime import date
from typing import Annotated

from pydantic import Field

from s2s_assets.study.record import Name, Record

Usd = Annotated[float, Field(ge=0)]


class Price(Record):
    """List prices of one model, US dollars; what is not given is not known, and never counts as free.

    `…_mtok` is for a million tokens. Cached input without a price of its own costs what uncached input does.
    """

    text_in_mtok: Usd | None = None
    text_in_cached_mtok: Usd | None = None
    audio_in_mtok: Usd | None = None
    audio_in_cached_mtok: Usd | None = None
    text_out_mtok: Usd | None = None
    """Thinking is text that goes out."""
    audio_out_mtok: Usd | None = None
    audio_hour: Usd | None = None
    """An hour of conversation: audio in and audio out together."""
    audio_in_hour: Usd | None = None
    """An hour of audio that is recognised."""
    characters_1000: Usd | None = None
    """A thousand characters that are spoken."""
    audio_in_tokens_s: Usd | None = None
    """Tokens of a second of speech in, for estimates before anything is sent."""
    audio_out_tokens_s: Usd | None = None
    """The same for speech that goes out."""
    source: str = ""
    """Where the figures come from."""
    as_of: date | None = None


class Provider(Record):
    """What one provider gets, over all configs and all stages of cascades that call it."""

    concurrency: Annotated[int, Field(ge=1, le=256)] | None = None
    """Requests at once; by default the exchange's `concurrency`."""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Requests begun in a minute; by default only `concurrency` bounds them."""
    budget_usd: Annotated[float, Field(gt=0)] | None = None
    """What may be spent; a partition stops when it is."""
    prices: dict[Name, Price] = Field(default_factory=dict)
    """Model id → price, in the place of the built-in table's entry of that model."""


class Exchange(Record):
    """How a prompt is sent and how long an answer is waited for."""

    pace: Annotated[float, Field(ge=0)] = 1.0
    """Audio seconds sent a second; 0 sends without waiting."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    """Requests at once for a provider that `providers` does not say otherwise of."""
    connect_timeout_s: float = 15.0
    first_event_timeout_s: float = 60.0
    idle_timeout_s: float = 60.0
    fail_on_error: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of prompts without a response above which a partition fails, once it has finished all it could."""
    preflight: bool = True
    """Whether a partition begins with a probe that sends no audio."""
