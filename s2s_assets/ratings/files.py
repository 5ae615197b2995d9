"""Ratings files: one answer a row, read into a frame whose rows all count, with everything else named.

A row is rejected with its reason when a needed value is missing, a name holds a control character, both configs are
one, the score is no integer from -3 to 3, `first` is neither `a` nor `b`, or `submitted_at` has no offset from UTC. The
others go on.

With `rating_id`: the same id and content counts once (a duplicate); the same id with other content counts the first
time and is rejected after (a conflict); different ids all count. Without it, rows that share rater, prompt, pair (in
either order) and rubric are repeats, identical where they have an earlier repeat's score and conflicting otherwise.
Dropping only the identical ones would keep only the raters who contradict themselves, so by default all count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl

from s2s_assets.ratings.layouts import Layout, columns_of, rubric_columns, scores_of, unfolded
from s2s_assets.ratings.raw import ROW, WHY, RejectedRow, free_name, open_raw
from s2s_assets.study import OVERALL, RatingsError, percent, plural

RepeatsRule = Literal["keep", "once", "error"]
NEEDED = ("prompt", "rater", "config_a", "config_b", "score")
OPTIONAL = ("rubric", "rating_id", "response_a", "response_b", "first", "submitted_at", "category", "level", "acoustic")
REJECTED_LIMIT = 0.05
"""Share of rejected rows above which a ranking is refused unless asked for."""
_NAMES = ("prompt", "rater", "config_a", "config_b", "rubric")
_CONTENT = (*NEEDED, *(name for name in OPTIONAL if name != "rating_id"))
_KNOWN = frozenset({*NEEDED, *OPTIONAL})
AT_ONCE = 20_000
_SEEN = pl.Schema({"id": pl.UInt64(), "more": pl.UInt64(), "content": pl.UInt64(), "row": pl.Int64()})
_FOREIGN = "name foreign columns with --columns, such as rater=worker"
_TIME = "\x1ftime"
_EXACT_TO_READ = "%Y-%m-%dT%H:%M:%S%.6f"


@dataclass(frozen=True)
class Repeats:
    """Rows without an id that repeat an earlier row's rater, prompt, pair and rubric."""

    identical: int
    """With the score of an earlier repeat."""
    conflicting: int


@dataclass(frozen=True)
class RatingsFile:
    """A file's answers."""

    frame: pl.DataFrame
    """The rows that count: `file_row`, the contract's columns typed (`score` integer, `submitted_at` UTC), then the
    file's other columns as they are."""
    rows: int
    """Answers in the file, rejected ones too."""
    rejected: tuple[RejectedRow, ...]
    """By row."""
    duplicates: int
    conflicts: int
    repeats: Repeats

    def summary(self) -> dict[str, Any]:
        """`input` of `s2s rank --json`."""
        return {
            "rows": self.rows,
            "used": self.frame.height,
            "duplicates": self.duplicates,
            "conflicts": self.conflicts,
            "repeats": {"identical": self.repeats.identical, "conflicting": self.repeats.conflicting},
            "rejected": [{"row": r.row, "reason": r.reason} for r in self.rejected],
        }

    def refuse_many_rejected(self) -> None:
        """Refuse the whole file when more than 5 % of its rows are rejected.

        Raises:
            RatingsError: with the first rows and reasons.
        """
        if len(self.rejected) > REJECTED_LIMIT * self.rows:
            first = "; ".join(f"row {r.row}: {r.reason}" for r in self.rejected[:5])
            raise RatingsError(
                f"{len(self.rejected)} of {plural(self.rows, 'row')} rejected, more than {percent(REJECTED_LIMIT)} ({first}); "
                f"mend them{'' if self.frame.is_empty() else ', or rank the rest with --allow-rejects'}"
            )


def read_ratings(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    scores: Mapping[str, int] | None = None,
    repeats: RepeatsRule = "keep",
    layout: Layout = "answers",
) -> RatingsFile:
    """Read a ratings file.

    Args:
        path: CSV (delimiter and encoding are recognised), JSON lines or Parquet; packed with gzip or not.
        columns: name of the contract → the file's name for it.
        scores: label → score, where scores are labels.
        repeats: which repeats of rows without an id count: all, the first, or none at all.
        layout: how the file is arranged.

    Raises:
        RatingsError: the file cannot be read as ratings: no file, no rows, a missing column, a label outside
            `scores`, or a repeat where they are errors.
    """
    parts = list(read_parts(path, columns=columns, scores=scores, layout=layout))
    kept, found = _repeats(path, pl.concat([part.frame for part in parts]), repeats)
    return RatingsFile(
        frame=kept,
        rows=sum(part.rows for part in parts),
        rejected=tuple(sorted((r for part in parts for r in part.rejected), key=lambda r: r.row)),
        duplicates=sum(part.duplicates for part in parts),
        conflicts=sum(part.conflicts for part in parts),
        repeats=found,
    )


def read_parts(
    path: Path,
    *,
    columns: Mapping[str, str] | None = None,
    scores: Mapping[str, int] | None = None,
    layout: Layout = "answers",
    at_once: int = AT_ONCE,
) -> Iterator[RatingsFile]:
    """Read a ratings file some rows at a time: the same rows as `read_ratings` gives, repeats uncounted.

    Args:
        path: as `read_ratings` takes it.
        columns: the same.
        scores: the same.
        layout: the same.
        at_once: rows of the file in a part.

    Raises:
        RatingsError: as `read_ratings`, at the first part or at the one where something is wrong with the whole.
    """
    columns, scores = columns_of(layout, columns or {}), scores_of(layout, scores)
    raw = open_raw(path, frozenset({*NEEDED, *OPTIONAL, *columns.values()}), at_once)
    names = _names(path, raw.names, columns)
    rubrics: list[str] = []
    if layout == "wide":
        rubrics = rubric_columns(raw, [n for n in raw.names if names[n] in _KNOWN or names[n] != n], scores, path)
    missing = [name for name in NEEDED if name not in names.values() and not (rubrics and name == "score")]
    if missing:
        told = [f"{name} (which is read as {names[name]})" if name in names else name for name in missing]
        raise RatingsError(f"{path}: no column {', '.join(told)}; the file has {', '.join(raw.names)}; {_FOREIGN}")
    seen = Seen()
    for table in raw.tables():
        named = table.frame.rename(names)
        yield _part(
            path, unfolded(named, [names[r] for r in rubrics]) if rubrics else named, scores, table.rejected, seen
        )


def _part(
    path: Path,
    frame: pl.DataFrame,
    scores: Mapping[str, int] | None,
    unread: Sequence[RejectedRow],
    seen: "Seen",
) -> RatingsFile:
    typed = _typed(path, frame, scores)
    wrong = typed.filter(pl.col(WHY).is_not_null())
    rejected = [*unread, *(RejectedRow(*pair) for pair in wrong.select(ROW, WHY).iter_rows())]
    kept, duplicates, conflicts = seen.split(typed.filter(pl.col(WHY).is_null()).drop(WHY))
    return RatingsFile(
        frame=kept,
        rows=typed.height + len(unread),
        rejected=tuple(sorted([*rejected, *conflicts], key=lambda r: r.row)),
        duplicates=duplicates,
        conflicts=len(conflicts),
        repeats=Repeats(0, 0),
    )


def _names(path: Path, found: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """The file's names → the contract's where they are given, else themselves; a name that is taken is set aside."""
    unknown = sorted(set(columns) - {*NEEDED, *OPTIONAL})
    if unknown:
        raise RatingsError(
            f"--columns: {', '.join(unknown)} is no name of a ratings file: {', '.join((*NEEDED, *OPTIONAL))}"
        )
    absent = sorted((foreign, name) for name, foreign in columns.items() if foreign not in found)
    if absent:
        raise RatingsError(
            f"{path}: no column {', '.join(f'{foreign} ({name})' for foreign, name in absent)}; the file has "
            f"{', '.join(found)}; {_FOREIGN}"
        )
    own = {foreign: name for name, foreign in columns.items()}
    rest = [name for name in found if name not in own]
    aside = {name: free_name(_aside(name), rest) for name in columns if name in rest}
    return {name: own.get(name) or aside.get(name, name) for name in found}


def _aside(name: str) -> str:
    """Name of a file's own column whose name --columns gives to another."""
    return f"file_{name}"


def _typed(path: Path, frame: pl.DataFrame, scores: Mapping[str, int] | None) -> pl.DataFrame:
    """The frame with typed columns of the contract first, and the reason why a row does not count."""
    if "rubric" not in frame.columns:
        frame = frame.with_columns(pl.lit(OVERALL).alias("rubric"))
    known = [name for name in (*NEEDED, *OPTIONAL) if name in frame.columns]
    text = frame.with_columns(_as_text(frame, name).str.strip_chars().replace("", None).alias(name) for name in known)
    if scores is not None:
        text = _labelled(path, text, scores)
    value = pl.col("score").cast(pl.Float64, strict=False)
    times = _times(text["submitted_at"]) if "submitted_at" in known else None
    checks = [_missing(name) for name in known if name in (*_NAMES, "score")]
    checks += [_unprintable(name) for name in known if name in (*_NAMES, "rating_id")]
    checks += [
        pl.when(pl.col("config_a") == pl.col("config_b")).then(
            pl.format("config_a and config_b are both '{}'", "config_a")
        ),
        pl.when(value.is_null()).then(
            pl.format("score '{}': expected an integer from -3 to 3; --scores says what labels mean", "score")
        ),
        pl.when((value != value.round()) | ~value.is_between(-3, 3)).then(
            pl.format("score '{}': expected an integer from -3 to 3", "score")
        ),
    ]
    if "first" in known:
        checks.append(
            pl.when(~pl.col("first").is_in(["a", "b"])).then(pl.format("first '{}': expected a or b", "first"))
        )
    if times is not None:
        text = text.with_columns(times.alias(_TIME))
        wrong = pl.col("submitted_at").is_not_null() & pl.col(_TIME).is_null()
        expected = "submitted_at '{}': expected ISO 8601 with an offset, such as 2026-07-01T12:00:00Z"
        checks.append(pl.when(wrong).then(pl.format(expected, "submitted_at")))
    judged = text.with_columns(pl.coalesce(checks).alias(WHY), value.alias("score"))
    if times is not None:
        judged = judged.with_columns(pl.col(_TIME).alias("submitted_at")).drop(_TIME)
    judged = judged.with_columns(pl.when(pl.col(WHY).is_null()).then(pl.col("score")).cast(pl.Int8).alias("score"))
    return judged.select(ROW, *known, pl.exclude(ROW, *known))


def _missing(name: str) -> pl.Expr:
    remedy = "; name a question, such as overall, or leave the whole column out" if name == "rubric" else ""
    return pl.when(pl.col(name).is_null()).then(pl.lit(f"{name} is empty{remedy}"))


def _unprintable(name: str) -> pl.Expr:
    return pl.when(pl.col(name).str.contains(r"\p{Cc}")).then(pl.lit(f"{name} holds a control character"))


def _as_text(frame: pl.DataFrame, name: str) -> pl.Expr:
    kind = frame.schema[name]
    if isinstance(kind, pl.Datetime):
        if kind.time_zone is None:
            return pl.col(name).dt.strftime(_EXACT_TO_READ)
        return pl.col(name).dt.convert_time_zone("UTC").dt.strftime(f"{_EXACT_TO_READ}+00:00")
    return pl.col(name).cast(pl.String)


def _labelled(path: Path, frame: pl.DataFrame, scores: Mapping[str, int]) -> pl.DataFrame:
    """Scores from labels; an unknown label refuses everything, as it may be a whole kind of answer."""
    unknown = frame.filter(~pl.col("score").is_in(list(scores)))
    if unknown.height:
        row, label = unknown.select(ROW, "score").row(0)
        raise RatingsError(f"{path}: row {row}: score label {label!r} is not in --scores ({', '.join(scores)}); add it")
    labels = {label: str(score) for label, score in scores.items()}
    return frame.with_columns(pl.col("score").replace_strict(labels, return_dtype=pl.String))


def _times(values: pl.Series) -> pl.Series:
    """Times in UTC; null where the text is no time or has no offset."""
    return pl.Series([_time(v) for v in values], dtype=pl.Datetime("us", "UTC"))


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):  # overflow: in UTC it is before year 1 or after 9999
        return None


class Seen:
    """The ids of the rows so far, by their hashes, with a hash of the content and the row of the first of each."""

    def __init__(self) -> None:
        self._first = pl.DataFrame(schema=_SEEN)

    def split(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, int, list[RejectedRow]]:
        """Rows with the first of each id, the number of exact duplicates, and the conflicts."""
        if "rating_id" not in frame.columns:
            return frame, 0, []
        content = [pl.col(c).cast(pl.String).fill_null("\0") for c in _CONTENT if c in frame.columns]
        keys = frame.select(
            pl.col("rating_id").hash(1).alias("id"),
            pl.col("rating_id").hash(2).alias("more"),
            pl.concat_str(content, separator="\x1f").hash().alias("content"),
            pl.col(ROW).alias("row"),
            pl.col("rating_id").alias("name"),
        )
        named = keys.drop_nulls("name").unique(["id", "more"], keep="first", maintain_order=True)
        new = named.join(self._first, on=["id", "more"], how="anti").drop("name")
        self._first = pl.concat([self._first, new])
        told = keys.join(self._first, on=["id", "more"], how="left", maintain_order="left", suffix="_first")
        again = (told["row"] != told["row_first"]) & told["name"].is_not_null()
        repeated = told.filter(again)
        conflicts = [
            RejectedRow(row, f"rating_id '{name}' has other content than in row {first}, which counts")
            for row, name, first in repeated.filter(pl.col("content") != pl.col("content_first"))
            .select("row", "name", "row_first")
            .iter_rows()
        ]
        return frame.filter(~again), repeated.height - len(conflicts), conflicts


def _as_do(more: int) -> str:
    return f" (as {'does' if more == 1 else 'do'} {more:,} more)" if more else ""


def _repeats(path: Path, frame: pl.DataFrame, rule: RepeatsRule) -> tuple[pl.DataFrame, Repeats]:
    """The rows that count under the rule, and the repeats among those without an id."""
    swapped = pl.col("config_a") > pl.col("config_b")
    unit = [
        pl.col("rater"),
        pl.col("prompt"),
        pl.col("rubric"),
        pl.min_horizontal("config_a", "config_b").alias("low"),
        pl.max_horizontal("config_a", "config_b").alias("high"),
    ]
    folded = pl.when(swapped).then(-pl.col("score")).otherwise(pl.col("score")).alias("folded")
    anonymous = frame if "rating_id" not in frame.columns else frame.filter(pl.col("rating_id").is_null())
    again = ~anonymous.select(pl.struct(unit).is_first_distinct()).to_series()
    same_score = ~anonymous.select(pl.struct([*unit, folded]).is_first_distinct()).to_series()
    found = Repeats(int((again & same_score).sum()), int((again & ~same_score).sum()))
    if rule == "keep" or not again.any():
        return frame, found
    rows = anonymous[ROW].filter(again)
    if rule == "error":
        raise RatingsError(
            f"{path}: row {rows[0]} repeats an earlier row's rater, prompt, pair and rubric{_as_do(len(rows) - 1)}; "
            "give the rows rating ids, or choose --repeats keep or once"
        )
    return frame.filter(~pl.col(ROW).is_in(rows.implode())), found
