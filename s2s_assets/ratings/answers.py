"""What an answer says, in one form for the app, simulated raters and imports.

`mark` is a 62-bit fingerprint of that content. Sums of marks fingerprint a set of answers whatever its order, which is
how a settled version is computed without reading the answers; equal ids with unequal marks are a conflict.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from s2s_assets.study import digest

_MARK_BITS = 62


@dataclass(frozen=True)
class Content:
    """One score of one rater on one rubric; `score` > 0 where `config_a` is better."""

    rating_id: str
    prompt: str
    rater: str
    rubric: str
    config_a: str
    config_b: str
    score: int
    first: str | None
    submitted_at: datetime | None

    @cached_property
    def mark(self) -> int:
        """A number below 2^62 that is equal for equal content."""
        told = None if self.submitted_at is None else self.submitted_at.astimezone(UTC).isoformat()
        parts = [self.prompt, self.rater, self.rubric, self.config_a, self.config_b, self.score, self.first, told]
        return int(digest([self.rating_id, *parts])[:16], 16) >> (64 - _MARK_BITS)


def rating_id(*names: str | int | None) -> str:
    """An id of 32 hex digits, the same for the same names."""
    return digest(names)[:32]


def signed_score(screen_value: int, first: str) -> int:
    """The score that a screen value means.

    On the screen a positive value prefers the second heard. With `config_a` first that speaks for `config_b`, so the
    sign turns; with `config_b` first it stays.
    """
    return -screen_value if first == "a" else screen_value
