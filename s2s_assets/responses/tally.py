"""What a collection comes to: prompts, attempts, failures and money, counted while it runs.

Several prompts in a row that end in one failure that no repetition cures, such as a spent quota, are a reason to stop.
"""

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from s2s_assets.responses.providers.failures import FINAL_CODES
from s2s_assets.responses.records import Outcome
from s2s_assets.study import plural

_HOPELESS = 5
"""Prompts in a row that end in one final code, after which no further one is sent."""


@dataclass(frozen=True)
class CollectResult:
    """Counts of one collection, or of one under way."""

    planned: int
    """Responses that the study asks of this config."""
    reused: int
    """Responses that had a stored success."""
    sent: int
    """Exchanges that were sent: attempts, not prompts."""
    answered: int
    """Responses that are there now, reused ones included."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Status → prompts that ended in it."""
    stopped: str | None = None
    """Why it stopped before the last prompt."""
    spent_usd: float | None = None
    """Cost of what was sent, as far as it is known; None where none of it is."""
    unknown_costs: int = field(default=0, compare=False)
    """Exchanges whose cost is not known."""
    elapsed_s: float = field(default=0.0, compare=False)

    @property
    def done(self) -> int:
        """Prompts that this collection has finished."""
        return self.answered - self.reused + sum(self.failures.values())

    @property
    def rate(self) -> float | None:
        """Prompts finished a second; None before the first."""
        return self.done / self.elapsed_s if self.done and self.elapsed_s else None

    @property
    def to_go_s(self) -> float | None:
        """About how long the rest will take."""
        left = self.planned - self.reused - self.done
        return None if self.rate is None else left / self.rate


@dataclass
class Tally:
    """The counts of a collection under way."""

    before: CollectResult
    """As they were when it began."""
    stopped: str | None = None
    """Why no further prompt is sent."""
    _sent: int = 0
    _costs: list[float] = field(default_factory=list)
    _ends: Counter[str] = field(default_factory=Counter)
    _row: tuple[str, int] = ("", 0)
    """The final code that the last prompts ended in, and how many did."""
    _started: float = field(default_factory=time.monotonic)

    def attempt(self, cost_usd: float | None) -> None:
        """Count an attempt; None where its cost is not known."""
        self._sent += 1
        if cost_usd is not None:
            self._costs.append(cost_usd)

    def end(self, last: Outcome) -> None:
        """Count a finished prompt by its last attempt, and stop where there is no hope for the next."""
        self._ends[last.status] += 1
        code = last.code if last.code in FINAL_CODES else ""
        self._row = (code, self._row[1] + 1 if code == self._row[0] else 1)
        if code and self._row[1] >= _HOPELESS:
            self.stopped = f"{_HOPELESS} prompts in a row ended in {code}: {last.message}"

    def result(self) -> CollectResult:
        """The counts so far."""
        return replace(
            self.before,
            sent=self._sent,
            answered=self.before.answered + self._ends["ok"],
            failures={status: n for status, n in sorted(self._ends.items()) if status != "ok"},
            stopped=self.stopped,
            spent_usd=sum(self._costs) if self._costs else None,
            unknown_costs=self._sent - len(self._costs),
            elapsed_s=time.monotonic() - self._started,
        )


def progress_of(counts: CollectResult) -> dict[str, object]:
    """Counts of a running collection, as others see them."""
    return {
        "pid": os.getpid(),
        "at": datetime.now(UTC).isoformat(),
        **asdict(counts),
        "done": counts.done,
        "rate": counts.rate,
        "to_go_s": counts.to_go_s,
    }


def told(counts: CollectResult) -> str:
    """How far a collection is, in words."""
    failed = ", ".join(f"{n} {status}" for status, n in counts.failures.items()) or "none"
    parts = [
        f"{counts.answered} of {counts.planned} answered",
        f"{plural(counts.sent, 'attempt')} sent",
        f"{60 * counts.rate:.1f} prompts a minute" if counts.rate else "",
        f"failed: {failed}",
        "" if counts.spent_usd is None else f"{counts.spent_usd:.2f} USD spent",
        f"cost unknown of {counts.unknown_costs}" if counts.unknown_costs else "",
        f"about {counts.to_go_s / 60:.0f} min to go" if counts.to_go_s and counts.stopped is None else "",
        f"stopped: {counts.stopped}" if counts.stopped else "",
    ]
    return "; ".join(part for part in parts if part)
