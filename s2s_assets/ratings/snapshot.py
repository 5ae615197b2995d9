"""The table `ratings` as of a settled version: every answer, with what does not count marked and not left out.

The version in the result is computed from the answers that were read. It equals the one asked for unless an answer
landed late in between; then it is that newer version, which is what the table holds.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from s2s_assets.ratings.settled import Settled
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.ratings.stored import LATE, StoredAnswers, stored_answers
from s2s_assets.storage import in_pieces
from s2s_assets.study import Script

UNKNOWN_CONFIG = "unknown_config"
EXCLUSION_RULES = (LATE, UNKNOWN_CONFIG)
"""Values of `excluded_by` that are rules; any other is the author of an exclusion."""
_AT_ONCE = 50_000
_EXCLUDED = ("excluded_by", "excluded_reason")
_LATE_REASON = "the lease had run out and the slot was given to another rater"
RATINGS = pl.Schema(
    {
        "rating_id": pl.String(),
        "pair": pl.String(),
        "prompt": pl.String(),
        "rater": pl.String(),
        "rubric": pl.String(),
        "config_a": pl.String(),
        "config_b": pl.String(),
        "response_a": pl.String(),
        "response_b": pl.String(),
        "score": pl.Int64(),
        "screen_value": pl.Int64(),
        "first": pl.String(),
        "submitted_at": pl.Datetime("us", "UTC"),
        "source": pl.String(),
        "simulated": pl.Boolean(),
        "category": pl.String(),
        "level": pl.String(),
        "acoustic": pl.String(),
        "elapsed_ms": pl.Int64(),
        "heard_s": pl.Float64(),
        "excluded_by": pl.String(),
        "excluded_reason": pl.String(),
    }
)
"""Columns of `ratings`."""


@dataclass(frozen=True)
class Snapshot:
    """The table `ratings` (docs/tables.md), sorted by rating_id, and the version that it is."""

    version: str
    watermark: datetime
    answers: int
    """Number of rows."""
    rows: pl.LazyFrame
    """The table as a query: written out in full, millions of answers are some at a time."""

    @property
    def frame(self) -> pl.DataFrame:
        """The whole table in memory."""
        return self.rows.collect()


def snapshot(
    store: RatingsStore, settled: Settled, scripts: Sequence[Script], configs: Collection[str] | None = None
) -> Snapshot:
    """Read the answers that landed at or before the settled watermark.

    Args:
        store: The study's database.
        settled: From `settled_version`.
        scripts: The study's; category, level and acoustic of its prompts come from them, those of other prompts from
            the import that brought them.
        configs: Config keys of the study; answers about any other are marked as excluded. None knows them all.
    """
    stored = stored_answers(store, settled.watermark)
    answers, full = stored.answers, FullAnswers(stored, scripts, configs)
    rows = in_pieces(RATINGS, lambda: (full.rows(some) for some in slices(answers)))
    return Snapshot(stored.version, settled.watermark, answers.height, rows)


def slices(answers: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Stored answers, as many at a time as are written out at once; an empty slice where there are none."""
    return (answers.slice(start, _AT_ONCE) for start in range(0, max(1, answers.height), _AT_ONCE))


class FullAnswers:
    """Makes rows of `ratings` of stored answers, as many at a time as are asked for."""

    def __init__(
        self, stored: StoredAnswers, scripts: Sequence[Script], configs: Collection[str] | None = None
    ) -> None:
        excluded = {scope: _excluded(stored, scope) for scope in ("response", "rater", "rating")}
        marked = _with_strangers(_with_scripts(stored.pairs, scripts), configs)
        for side in ("a", "b"):
            marked = _marked(marked, f"response_{side}", excluded["response"])
        self._pairs = marked
        self._raters = _marked(stored.raters.with_columns(_nothing()), "rater", excluded["rater"])
        self._ratings = excluded["rating"]

    def rows(self, answers: pl.DataFrame) -> pl.DataFrame:
        """These answers, or some of them, in full and in their order."""
        pair_rows, rater_rows, late = answers["pair_row"], answers["rater_row"], answers["late"]
        frame = answers.select(pl.col(name).cast(RATINGS[name]) for name in answers.columns if name in RATINGS)
        del answers
        names = [*self._pairs.drop("id", *_EXCLUDED)[pair_rows], self._raters["rater"][rater_rows]]
        frame = frame.hstack(names).with_columns(_nothing())
        if late.any():
            told = zip(_EXCLUDED, (LATE, _LATE_REASON), strict=True)
            frame = _first(frame, late.to_frame().select(pl.when("late").then(pl.lit(t)).alias(n) for n, t in told))
        for table, at_rows in ((self._pairs, pair_rows), (self._raters, rater_rows)):
            if table["excluded_by"].null_count() < table.height:
                frame = _first(frame, table.select(_EXCLUDED)[at_rows])
        return _marked(frame, "rating_id", self._ratings).select(RATINGS.names())


def _first(frame: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """The frame with these exclusions where its rows have none yet."""
    return frame.with_columns(frame[name].fill_null(marks[name]) for name in _EXCLUDED)


def _excluded(stored: StoredAnswers, scope: str) -> pl.DataFrame:
    """Exclusions of a scope: `target`, `by`, `reason`."""
    rows = [(e["target"], e["author"], e["reason"]) for e in stored.exclusions if e["scope"] == scope]
    return pl.DataFrame(rows, schema=dict.fromkeys(("target", "by", "reason"), pl.String), orient="row")


def _nothing() -> list[pl.Expr]:
    return [pl.lit(None, dtype=pl.String).alias(name) for name in _EXCLUDED]


def _marked(frame: pl.DataFrame, column: str, excluded: pl.DataFrame) -> pl.DataFrame:
    """The frame with the exclusions of what a column names, where its rows have none yet."""
    if excluded.is_empty():
        return frame
    names = {"by": "excluded_by", "reason": "excluded_reason"}
    found = frame.select(column).join(excluded, left_on=column, right_on="target", how="left", maintain_order="left")
    return _first(frame, found.rename(names))


def _with_scripts(frame: pl.DataFrame, scripts: Sequence[Script]) -> pl.DataFrame:
    names = ("category", "level", "acoustic")
    known = pl.DataFrame(
        [(s.prompt, s.category, s.level, s.acoustic) for s in scripts],
        schema=dict.fromkeys(("prompt", *names), pl.String),
        orient="row",
    )
    joined = frame.join(known, on="prompt", how="left", suffix="_script", maintain_order="left")
    return joined.with_columns(pl.coalesce(f"{name}_script", name).alias(name) for name in names).select(frame.columns)


def _with_strangers(pairs: pl.DataFrame, configs: Collection[str] | None) -> pl.DataFrame:
    """Mark pairs with a config that the study does not have."""
    pairs = pairs.with_columns(_nothing())
    if configs is None:
        return pairs
    known = sorted(configs)
    stranger = pl.coalesce(pl.when(~pl.col(name).is_in(known)).then(name) for name in ("config_a", "config_b"))
    return pairs.with_columns(
        excluded_by=pl.when(stranger.is_not_null()).then(pl.lit(UNKNOWN_CONFIG)),
        excluded_reason=pl.format("the study has no config {}", stranger),
    )
