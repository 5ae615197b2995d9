"""How fast a provider may be asked now: arithmetic without files and without a clock of its own.

A provider has a *limit* (requests at once, requests begun in a minute) and a *share* of it that is in force. The share
learns from answers as TCP does: a complaint of being asked too much halves it, once for all requests that were under
way; every success raises it a little, so that as many successes as run at once raise it by 1/16 or by one request,
whichever is less. At least one request may always run.

    at once   max(1, floor(share · concurrency))
    interval  60 s / (share · requests per minute) between the beginnings of two requests

What a provider asks to wait (Retry-After) holds for everyone who shares it, at most 120 s.

Times are seconds of a clock that all processes of a machine share and that begins anew with the machine. A stored time
that lies further ahead than its rule can put it is from before a restart, and counts as past.
"""

from dataclasses import asdict, dataclass, replace
from typing import Self

MAX_BLOCK_S = 120.0
_CUT = 0.5
_LEAST_SHARE = 1 / 64
_LARGEST_STEP = 1 / 16
_MINUTE_S = 60.0


@dataclass(frozen=True)
class Limit:
    """What a provider gets at most."""

    concurrency: int
    requests_per_minute: float | None = None

    def interval_s(self, share: float) -> float:
        """Seconds between the beginnings of two requests; 0 where no rate is set."""
        return 0.0 if self.requests_per_minute is None else _MINUTE_S / (self.requests_per_minute * share)


@dataclass(frozen=True)
class Pace:
    """What has been learnt of a provider, as its file holds it."""

    share: float = 1.0
    not_before: float = 0.0
    """Nobody begins earlier: the provider has asked to wait."""
    next_at: float = 0.0
    """When the next request may begin at the rate."""
    cut_at: float = 0.0
    """When the share was last cut."""

    @classmethod
    def of(cls, fields: object) -> Self:
        """Read the fields of a file; anything else than such fields is a new pace."""
        names = cls.__dataclass_fields__
        if not isinstance(fields, dict) or fields.keys() != names.keys():
            return cls()
        if not all(isinstance(value, int | float) for value in fields.values()):
            return cls()
        return cls(**{name: float(value) for name, value in fields.items()})

    def fields(self) -> dict[str, float]:
        """What is written."""
        return asdict(self)

    def at_once(self, limit: Limit) -> int:
        """Requests that may run at once now."""
        return max(1, int(self.share * limit.concurrency + 1e-9))

    def wait_s(self, limit: Limit, now: float) -> float:
        """Seconds until a request may begin, as far as rate and requested waits go."""
        at_rate = _ahead(self.next_at, now, limit.interval_s(_LEAST_SHARE))
        return max(at_rate, _ahead(self.not_before, now, MAX_BLOCK_S))

    def begun(self, limit: Limit, now: float) -> Self:
        """After a request has begun."""
        return replace(self, next_at=now + limit.interval_s(self.share))

    def succeeded(self, limit: Limit) -> Self:
        """After a request that the provider served."""
        running = max(1.0, self.share * limit.concurrency)
        step = min(1 / limit.concurrency, _LARGEST_STEP) / running
        return replace(self, share=min(1.0, self.share + step))

    def throttled(self, began: float, now: float, retry_after_s: float | None) -> Self:
        """After a request, begun at `began`, that the provider had too many of."""
        held = now + max(_ahead(self.not_before, now, MAX_BLOCK_S), min(retry_after_s or 0.0, MAX_BLOCK_S))
        if self.cut_at <= now and began <= self.cut_at:
            return replace(self, not_before=held)
        return replace(self, not_before=held, share=max(_LEAST_SHARE, self.share * _CUT), cut_at=now)


def _ahead(at: float, now: float, most: float) -> float:
    return at - now if 0 < at - now <= most + 1e-6 else 0.0
