"""What an exchange is expected to be like before it is sent: how long, and what it will cost.

What a config's stored answers were like is the best guess. A config that has none is taken to answer for 15 s, to finish
5 s after the prompt's end, and to cost what the price table makes of that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from s2s_assets.responses.costs import Tariff
from s2s_assets.responses.table import Wanted

ANSWER_S = 15.0
WAIT_S = 5.0
Attempts = Mapping[str, Sequence[Mapping[str, Any]]]
"""Response id → records of its attempts."""


def expected_answer_s(stored: Attempts) -> float:
    """Mean duration of a config's stored answers; `ANSWER_S` where it has none."""
    return _mean([r["duration_s"] for r in _answers(stored)]) or ANSWER_S


def expected_wait_s(stored: Attempts) -> float:
    """Mean time from the prompt's end to the answer's; `WAIT_S` where it has none."""
    times = [r["timings_ms"] for r in _answers(stored)]
    return _mean([(t["done"] - t["input_sent"]) / 1000 for t in times if _both(t)]) or WAIT_S


def expected_costs(stored: Attempts, tariff: Tariff, prompt_s: float) -> dict[str, float | None]:
    """Stage → US dollars an exchange; None where that cannot be said.

    Args:
        stored: a config's attempts.
        tariff: its prices.
        prompt_s: a prompt's duration.
    """
    charges = [charge for record in _answers(stored) for charge in record.get("charges", ())]
    guessed = tariff.estimate(prompt_s, expected_answer_s(stored))
    return {s: _mean([c["cost_usd"] for c in charges if c["stage"] == s], guess) for s, guess in guessed.items()}


def expected_prompts(recorded: pl.DataFrame) -> pl.DataFrame:
    """The prompts that the selected recordings of a table `recorded_prompts` will be once they are normalized.

    Durations are as recorded: normalization cuts silence off the ends, so that a prompt may be shorter, never longer. The
    hashes are the recordings' own, so that no stored response answers them.
    """
    columns = ("prompt", "status", "pcm_sha256", pl.col("source_blob").alias("audio_blob"), "duration_s")
    return recorded.filter("selected", pl.col("status") == "ok").select(*columns)


def mean_prompt_s(prompts: pl.DataFrame, missing: Sequence[Wanted]) -> float:
    """Mean duration of the prompts that are to be sent."""
    lengths = prompts.filter(pl.col("prompt").is_in([w.prompt for w in missing]))["duration_s"]
    return float(lengths.mean() or 0.0)  # type: ignore[arg-type]


def _answers(stored: Attempts) -> list[Mapping[str, Any]]:
    return [r for records in stored.values() for r in records if r["status"] == "ok"]


def _both(timings: Mapping[str, float | None]) -> bool:
    return timings.get("done") is not None and timings.get("input_sent") is not None


def _mean(values: Sequence[float | None], otherwise: float | None = None) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else otherwise
