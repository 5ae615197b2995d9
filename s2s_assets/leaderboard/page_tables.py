"""Tables of the page, from published rows: cells with the printed text and the number behind it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from s2s_assets.leaderboard.layout import Cell, Head, Table
from s2s_assets.leaderboard.numbers import MISSING, counted, fixed, interval, lettered, rank_range, signed

Row = Mapping[str, Any]

ESTABLISHED, USABLE = (30.0, 10), (60.0, 5)
"""Half-width of the interval (Elo) at most, raters at least."""
NOUNS = {"model": "Model", "config": "Config", "family": "Family", "voice": "Voice", "thinking": "Thinking level"}


def tier(row: Row) -> str:
    """How far a value can be relied on: `established`, `usable`, `preliminary`, or why it has none."""
    if row["elo"] is None:
        return f"unbounded {row['bound']}" if row["bound"] else "no interval"
    if row["ci_low"] is None or row["ci_high"] is None:
        return "preliminary"
    half = (row["ci_high"] - row["ci_low"]) / 2
    for name, (width, raters) in (("established", ESTABLISHED), ("usable", USABLE)):
        if half <= width and (row["n_raters"] or 0) >= raters:
            return name
    return "preliminary"


def scale(rows: Sequence[Row]) -> Callable[[float], int]:
    """The place of an Elo on 0..200 for the drawings of a table; 1000 is always on it."""
    values = [r[k] for r in rows for k in ("elo", "ci_low", "ci_high") if r[k] is not None]
    low, high = min([*values, 990.0]), max([*values, 1010.0])
    return lambda elo: round(6 + 188 * (elo - low) / (high - low))


def withheld(row: Row) -> bool:
    """Whether too few resamples have a value for an interval: then no other board than the headline prints the point."""
    return row["elo"] is not None and row["ci_low"] is None and row["ci_high"] is None and bool(row["valid_resamples"])


def board_table(
    table_id: str, caption: str, rows: Sequence[Row], *, full: bool = False, points: bool = False, note: str = ""
) -> Table:
    """A board: rank with range, name, Elo with interval, the interval drawn, counts, coverage where it is known, status.

    Args:
        table_id: anchor.
        caption: says what is ranked and on which answers.
        rows: leaderboard rows of one fit, by rank.
        full: also raters and prompts.
        points: print a point whose interval is withheld.
        note: printed under the table.
    """
    place = scale(rows)
    noun = NOUNS.get(rows[0]["by"], "Name") if rows else "Name"
    with_letters = any(r["letters"] for r in rows)
    heads = [Head("Rank", order="ascending")] + ([Head("Letters", "text")] if with_letters else [])
    heads += [Head(noun, "name"), Head("Elo"), Head("95 % interval")]
    heads += [Head("Interval, drawn", "drawing"), Head("Ratings")]
    covered = _is_covered(rows)
    heads += [Head("Raters"), Head("Prompts")] if full else []
    heads += [Head("Responses")] if covered else []
    heads.append(Head("Status", "text"))
    cells = tuple(
        (
            *_with_letters(_rank_name_elo(r), r, with_letters),
            _drawing(r, place),
            *_counts(r, full),
            *([_coverage(r)] if covered else []),
            _status(r),
        )
        for r in (rows if points else map(_without_point, rows))
    )
    return Table(table_id, caption, tuple(heads), cells, note, place(1000.0))


def slice_table(table_id: str, caption: str, rows: Sequence[Row], note: str = "") -> Table:
    """Boards of several slices in one table: a row a slice and entity."""
    place = scale(rows)
    noun = NOUNS.get(rows[0]["by"], "Name") if rows else "Name"
    compared, covered = any(r["delta"] is not None for r in rows), _is_covered(rows)
    heads = (
        Head("Slice", "name", "ascending"),
        Head(noun, "name"),
        Head("Rank"),
        Head("Elo"),
        Head("95 % interval"),
        Head("Interval, drawn", "drawing"),
        *((Head("Δ to the whole (95 % interval)"),) if compared else ()),
        Head("Ratings"),
        *((Head("Responses"),) if covered else ()),
    )
    cells = []
    for row in map(_without_point, rows):
        rank, name, elo, ends = _rank_name_elo(row)
        delta = (_delta(row),) if compared else ()
        counts = (*_counts(row, False), *((_coverage(row),) if covered else ()))
        cells.append((Cell(row["slice_value"]), name, rank, elo, ends, _drawing(row, place), *delta, *counts))
    return Table(table_id, caption, heads, tuple(cells), note, place(1000.0))


def variant_table(table_id: str, caption: str, rows: Sequence[Row]) -> Table:
    """The headline under every variant of the answers."""
    heads = (
        Head("Answers used", "name"),
        Head("Model", "name"),
        Head("Rank"),
        Head("Elo"),
        Head("95 % interval"),
        Head("Ratings"),
    )
    cells = []
    for row in map(_without_point, rows):
        rank, name, elo, ends = _rank_name_elo(row)
        cells.append((Cell(row["variant"]), name, rank, elo, ends, *_counts(row, False)))
    return Table(table_id, caption, heads, tuple(cells))


def pair_table(table_id: str, caption: str, rows: Sequence[Row], name: Callable[[str], str]) -> Table:
    """Who beats whom: a row a pair, the entity that is ahead named first.

    The column that decides is the simultaneous interval's, where there is one.
    """
    together = any(has_simultaneous(r) for r in rows)
    heads = (
        Head("Ahead", "name"),
        Head("Behind", "name"),
        Head("Difference in Elo", order="descending"),
        Head("95 % interval of the difference"),
        *((Head("All pairs together"),) if together else ()),
        Head("Mean score"),
        Head("Ratings"),
        Head("Decided", "text"),
    )
    turned = [r if (r["difference"] or 0) >= 0 else turn(r) for r in rows]
    turned.sort(key=lambda r: (r["difference"] is None, -(r["difference"] or 0), r["a"], r["b"]))
    cells = tuple(
        (
            Cell(name(r["a"])),
            Cell(name(r["b"])),
            Cell(signed(r["difference"]), r["difference"]),
            Cell(interval(r["ci_low"], r["ci_high"]), r["ci_low"]),
            *((_simultaneous(r),) if together else ()),
            Cell(signed(r["mean_score"], 2), r["mean_score"]),
            Cell(counted(r["n"]), r["n"]),
            Cell("yes" if decided(r) else "no", mark="firm" if decided(r) else ""),
        )
        for r in turned
    )
    return Table(table_id, caption, heads, cells)


def turn(pair: Row) -> Row:
    """A pair read from the other side: signs and ends of the interval change."""

    def minus(value: float | None) -> float | None:
        return None if value is None else -value

    signs = {key: minus(pair[key]) for key in ("mean_score", "difference", "expected_score", "misfit")}
    ends = {
        f"{kind}_{end}": minus(pair[f"{kind}_{other}"])
        for kind in ("ci", "simultaneous")
        for end, other in (("low", "high"), ("high", "low"))
    }
    return {**pair, "a": pair["b"], "b": pair["a"], **signs, **ends}


def decided(pair: Row) -> bool:
    """Whether the pair is told apart: the simultaneous interval leaves 0 out; where there is none, the pair's own."""
    kind = "simultaneous" if has_simultaneous(pair) else "ci"
    low, high = pair[f"{kind}_low"], pair[f"{kind}_high"]
    return (low is not None and low > 0) or (high is not None and high < 0)


def has_simultaneous(pair: Row) -> bool:
    """Whether the pair has an interval that holds for all pairs together."""
    return pair["simultaneous_low"] is not None and pair["simultaneous_high"] is not None


def _simultaneous(pair: Row) -> Cell:
    low, high = pair["simultaneous_low"], pair["simultaneous_high"]
    return Cell(interval(low, high), low) if has_simultaneous(pair) else Cell(MISSING)


def measure_table(table_id: str, caption: str, heads: tuple[str, str], figures: Mapping[str, float | None]) -> Table:
    """Named figures, one a row."""
    rows = tuple((Cell(name), Cell(figure(value), value)) for name, value in figures.items())
    return Table(table_id, caption, (Head(heads[0], "name"), Head(heads[1])), rows)


def figure(value: float | None) -> str:
    """A figure of unknown size: whole numbers bare, others with three decimals."""
    if value is None:
        return MISSING
    return fixed(value) if float(value).is_integer() and abs(value) >= 2 else fixed(value, 3)


def _is_covered(rows: Sequence[Row]) -> bool:
    """Whether it is known how many of the planned responses there are."""
    return any(row["responses_planned"] for row in rows)


def _without_point(row: Row) -> Row:
    return {**row, "elo": None} if withheld(row) else row


def _with_letters(cells: tuple[Cell, ...], row: Row, shown: bool) -> tuple[Cell, ...]:
    """The cells with the letters after the rank."""
    return (cells[0], Cell(lettered(row["letters"])), *cells[1:]) if shown else cells


def _rank_name_elo(row: Row) -> tuple[Cell, Cell, Cell, Cell]:
    return (
        Cell(rank_range(row["rank"], row["rank_low"], row["rank_high"]), row["rank"]),
        Cell(row["display_name"]),
        Cell(fixed(row["elo"]), row["elo"]),
        Cell(interval(row["ci_low"], row["ci_high"]), row["ci_low"]),
    )


def _delta(row: Row) -> Cell:
    """Difference to the whole with its interval; nothing where the slice's own point is withheld."""
    if row["delta"] is None or row["elo"] is None or (row["delta_low"] is None and row["delta_high"] is None):
        return Cell(MISSING)
    return Cell(f"{signed(row['delta'])} ({interval(row['delta_low'], row['delta_high'])})", row["delta"])


def _drawing(row: Row, place: Callable[[float], int]) -> Cell:
    if row["elo"] is None:
        return Cell()
    bounded = row["ci_low"] is not None or row["ci_high"] is not None
    low, high = (row["ci_low"], row["ci_high"]) if bounded else (row["elo"], row["elo"])
    return Cell(
        drawing=(
            None if low is None else place(low),
            place(row["elo"]),
            None if high is None else place(high),
        )
    )


def _counts(row: Row, full: bool) -> list[Cell]:
    cells = [Cell(counted(row["n_ratings"]), row["n_ratings"])]
    cells += [Cell(counted(row[k]), row[k]) for k in ("n_raters", "n_prompts")] if full else []
    return cells


def _coverage(row: Row) -> Cell:
    ok, planned = row["responses_ok"], row["responses_planned"]
    if not planned:
        return Cell(MISSING)
    return Cell(f"{counted(ok)}/{counted(planned)}", round(ok / planned, 6))


def _status(row: Row) -> Cell:
    word = tier(row)
    return Cell(word, mark=word.split()[0])
