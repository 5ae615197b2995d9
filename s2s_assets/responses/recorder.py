"""What one attempt has produced so far: items of speech, milestones, transcripts, events.

An adapter writes into it while the exchange runs; whatever is there when an exchange fails is kept. Final audio is put
together item by item in the order in which the provider numbered the items, not in order of arrival: the chunks of two
items may come interleaved.
"""

import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.records import Request, Timings
from s2s_assets.study import canonical_json

COMMENTARY = "commentary"
_SHORTEST_BODY = 200
_BASE64 = "A-Za-z0-9+/_-"
# the look behind keeps a long text of shorter runs from being searched anew at each of their letters
_BASE64_BODY = re.compile(rf"(?<![{_BASE64}])[{_BASE64}]{{{_SHORTEST_BODY},}}={{0,2}}")

Milestone = Literal["connected", "configured", "input_sent", "first_event", "first_audio", "last_audio", "done"]


@dataclass
class Item:
    """One message of an answer."""

    order: int
    provisional: bool = False
    chunks: list[bytes] = field(default_factory=list)
    transcript: Any = None
    """The whole of it, as the provider says it; no transcript where it is no text."""
    pieces: list[Any] = field(default_factory=list)
    """Transcript deltas, used where no whole transcript came."""

    @property
    def pcm(self) -> bytes:
        """All audio of the item."""
        return b"".join(self.chunks)

    @property
    def text(self) -> str:
        """The item's words."""
        if isinstance(self.transcript, str):
            return self.transcript
        return "".join(piece for piece in self.pieces if isinstance(piece, str))


class Recorder:
    """Collects one attempt; its clock starts when it is made."""

    def __init__(self, request: Request, limits: ProviderLimits | None = None) -> None:
        self.started_at = datetime.now(UTC)
        self._start = time.monotonic()
        self._marks: dict[str, float] = {}
        self._request = request
        self._limits = limits
        self.arrivals: list[tuple[float, int]] = []
        """Pieces of final audio as they came: milliseconds, bytes."""
        self.begun: dict[str, float] = {}
        """Stage → when its request began (`time.monotonic`), where limits are set."""
        self.items: dict[str, Item] = {}
        self.log_lines: list[str] = []
        """Events in canonical JSON, written down as they happen: most do while a prompt is being spoken."""
        self.thinking: list[str] = []
        self.input_transcript: str | None = None
        """These three as the provider says them; of another kind than they should be, they are nothing."""
        self.usage: Mapping[str, Any] | None = None
        self.model_reported: str | None = None

    def now_ms(self) -> float:
        """Milliseconds since the start."""
        return round((time.monotonic() - self._start) * 1000, 3)

    @asynccontextmanager
    async def slot(self, stage: str) -> AsyncIterator[None]:
        """Hold a slot at the stage's provider; free where no limits are set. The clock stands still while it waits."""
        if self._limits is None:
            yield
            return
        asked = time.monotonic()
        async with self._limits.slot(self._request.providers[stage]) as self.begun[stage]:
            self._start += time.monotonic() - asked
            if not self.log_lines:
                self.started_at = datetime.now(UTC)
            yield

    def mark(self, milestone: Milestone) -> None:
        """Note that a milestone was reached; the first time counts, of `last_audio` the last."""
        if milestone == "last_audio" or milestone not in self._marks:
            self._marks[milestone] = self.now_ms()

    def reached(self, milestone: Milestone) -> bool:
        """Whether a milestone was reached."""
        return milestone in self._marks

    def log(self, direction: Literal[">", "<", "-"], event: Mapping[str, Any], body: str | None = None) -> None:
        """Keep an event that was sent (`>`), received (`<`) or noted (`-`), without audio.

        Args:
            direction: who said it.
            event: the message.
            body: key whose value, wherever in the message it stands, is audio in base64.
        """
        kept = _without_bodies(event, body)
        self.log_lines.append(canonical_json({"at_ms": self.now_ms(), "dir": direction, "event": kept}))

    def item(self, key: str, order: Any = None) -> Item:
        """The item of a provider's id, made at its first mention; `order` is the provider's number, if it is one."""
        item = self.items.setdefault(key, Item(len(self.items)))
        if isinstance(order, int):
            item.order = order
        return item

    def audio(self, item: Item, pcm: bytes) -> None:
        """Add a chunk to an item; audio is a sign of an answer, whatever else is."""
        if not pcm:
            return
        item.chunks.append(pcm)
        self.mark("first_event")
        if not item.provisional:
            self.mark("first_audio")
            self.mark("last_audio")
            self.arrivals.append((self.now_ms(), len(pcm)))

    def take_back(self, item: Item) -> None:
        """The provider has broken an item off for another one: what came of it was provisional, and no milestone."""
        item.provisional = True
        self.arrivals.clear()
        for milestone in ("first_event", "first_audio", "last_audio"):
            self._marks.pop(milestone, None)

    @property
    def final(self) -> bytes:
        """Final audio in the order of the items."""
        return b"".join(i.pcm for i in self._ordered(provisional=False))

    @property
    def provisional(self) -> tuple[bytes, ...]:
        """Commentary audio, one entry an item."""
        return tuple(i.pcm for i in self._ordered(provisional=True) if i.chunks)

    @property
    def output_transcript(self) -> str | None:
        """The words of the final items."""
        return " ".join(i.text.strip() for i in self._ordered(provisional=False) if i.text.strip()) or None

    @property
    def timings(self) -> Timings:
        """The milestones reached."""
        return Timings(**self._marks)

    def _ordered(self, *, provisional: bool) -> list[Item]:
        return sorted((i for i in self.items.values() if i.provisional == provisional), key=lambda i: i.order)


def _without_bodies(value: Any, body: str | None) -> Any:
    """A copy of JSON-like data in which the texts of the key `body` and long base64 runs are replaced by their length."""
    if isinstance(value, str):
        return value if len(value) < _SHORTEST_BODY else _BASE64_BODY.sub(lambda m: _length_of(m[0]), value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {
            k: _length_of(v) if k == body and isinstance(v, str) else _without_bodies(v, body) for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_bodies(v, body) for v in value]
    return value


def _length_of(body: str) -> str:
    return f"[{len(body)} characters of base64]"
