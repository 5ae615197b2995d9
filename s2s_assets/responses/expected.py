"""What an exchange is expected to be like before it is sent: how long the prompt is, how long the answer will be."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from s2s_assets.responses.table import Wanted

ANSWER_S = 15.0
"""Of a config that has not answered yet."""


def expected_answer_s(stored: Mapping[str, Sequence[Mapping[str, Any]]]) -> float:
    """Mean duration of a config's stored answers; `ANSWER_S` where it has none."""
    durations = [r["duration_s"] for records in stored.values() for r in records if r["status"] == "ok"]
    known = [d for d in durations if d is not None]
    return sum(known) / len(known) if known else ANSWER_S


def mean_prompt_s(prompts: pl.DataFrame, missing: Sequence[Wanted]) -> float:
    """Mean duration of the prompts that are to be sent."""
    lengths = prompts.filter(pl.col("prompt").is_in([w.prompt for w in missing]))["duration_s"]
    return float(lengths.mean() or 0.0)  # type: ignore[arg-type]
