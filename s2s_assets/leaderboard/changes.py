"""What changed since the last sealed release: computed from the two data files, never written by hand.

Compared are the boards of the whole that both releases have, in the headline's variant. With another method version
nothing is compared, since a difference could be the method's; additions and removals are still listed. A move is real
when rank ranges no longer meet, or when the Elo moved by more than twice the standard error of the two together (the
halves of the intervals divided by 1.96, added in squares). Every entity that left the board needs a reason: its model
is retired, or one is given at sealing.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from s2s_assets.leaderboard.inputs import Previous
from s2s_assets.leaderboard.layout import Cell, Head, Table, captioned
from s2s_assets.leaderboard.numbers import fixed, interval, rank_range, signed
from s2s_assets.study import OVERALL

Row = Mapping[str, Any]
_BOARD = ("rubric", "by", "entity")


@dataclass(frozen=True)
class Move:
    """An entity of a board whose place changed for real."""

    rubric: str
    by: str
    entity: str
    display_name: str
    rank_before: str
    rank_now: str
    elo_change: float | None
    """Elo now minus Elo then."""
    elo_now: str
    """Elo with its interval."""


@dataclass(frozen=True)
class Changes:
    """The difference between a board and the last sealed release."""

    previous: str | None
    """None: there was no release before."""
    comparable: bool
    """Whether both were made by the same method."""
    methods: tuple[str, str]
    """Method version then and now."""
    added: tuple[str, ...]
    """Entities of the headline's board that are new, as `by entity`."""
    removed: tuple[str, ...]
    unexplained: tuple[str, ...]
    """Removed without a reason that the study itself gives."""
    moved: tuple[Move, ...]

    def document(self) -> dict[str, Any]:
        """changes.json."""
        return asdict(self)

    def page(self, *, simulated: bool) -> dict[str, Any] | None:
        """Paragraphs and tables for the page; None where there was no release before."""
        if self.previous is None:
            return None
        said = [f"Compared with the sealed release {self.previous}."]
        if not self.comparable:
            then, now = self.methods
            said.append(f"The method changed from {then} to {now}: the values are not comparable, so no move is shown.")
        said += [f"New: {', '.join(self.added)}."] if self.added else []
        said += [f"No longer listed: {', '.join(self.removed)}."] if self.removed else []
        if self.comparable and not self.moved:
            said.append("No name moved by more than the uncertainty of the two releases.")
        caption = captioned("Moves beyond the uncertainty", simulated=simulated)
        tables = [asdict(move_table(self.moved, caption))] if self.moved else []
        return {"paragraphs": said, "tables": tables}


def compare(
    rows: Sequence[Row], method: Mapping[str, Any], previous: Previous | None, retired: Collection[str]
) -> Changes:
    """Compare published rows with those of the last sealed release.

    Args:
        rows: row objects of leaderboard.json.
        method: methodology.json.
        previous: the last sealed release, None for the first.
        retired: models that may leave without a reason given.
    """
    version = str(method["method_version"])
    if previous is None:
        return Changes(None, True, (version, version), (), (), (), ())
    variant = str(method["headline_variant"])
    now, then = _whole(rows, variant), _whole(previous.rows, variant)
    gone = sorted(k for k in then.keys() - now.keys() if k[0] == OVERALL)
    new = sorted(k for k in now.keys() - then.keys() if k[0] == OVERALL)
    comparable = previous.method_version == version
    moves = (_move(then[k], now[k]) for k in now if k in then) if comparable else ()
    return Changes(
        previous=previous.release,
        comparable=comparable,
        methods=(previous.method_version, version),
        added=tuple(f"{by} {entity}" for _, by, entity in new),
        removed=tuple(f"{by} {entity}" for _, by, entity in gone),
        unexplained=tuple(f"{by} {e}" for _, by, e in gone if e.split("|")[0] not in retired),
        moved=tuple(m for m in moves if m is not None),
    )


def move_table(moves: Sequence[Move], caption: str) -> Table:
    """The moves, a row each."""
    heads = (
        Head("Rated", "name"),
        Head("Name", "name"),
        Head("Rank then", "text"),
        Head("Rank now", "text"),
        Head("Change in Elo"),
        Head("Now, with interval", "text"),
    )
    rows = tuple(
        (
            Cell(f"{m.rubric} by {m.by}"),
            Cell(m.display_name),
            Cell(f"rank {m.rank_before}"),
            Cell(f"rank {m.rank_now}"),
            Cell(signed(m.elo_change), m.elo_change),
            Cell(f"at {m.elo_now}"),
        )
        for m in moves
    )
    return Table("moves", caption, heads, rows)


def _whole(rows: Sequence[Row], variant: str) -> dict[tuple[str, ...], Row]:
    kept = [r for r in rows if r["slice_dimension"] == "all" and r["variant"] == variant]
    return {tuple(str(r[k]) for k in _BOARD): r for r in kept}


def _move(then: Row, now: Row) -> Move | None:
    change = None if then["elo"] is None or now["elo"] is None else now["elo"] - then["elo"]
    error = _combined_error(then, now)
    beyond = change is not None and error is not None and abs(change) > 2 * error
    if not (beyond or _apart(then, now)):
        return None
    return Move(
        rubric=str(now["rubric"]),
        by=str(now["by"]),
        entity=str(now["entity"]),
        display_name=str(now["display_name"]),
        rank_before=rank_range(then["rank"], then["rank_low"], then["rank_high"]),
        rank_now=rank_range(now["rank"], now["rank_low"], now["rank_high"]),
        elo_change=None if change is None else round(change, 6),
        elo_now=f"{fixed(now['elo'])} ({interval(now['ci_low'], now['ci_high'])})",
    )


def _apart(then: Row, now: Row) -> bool:
    """Whether the two rank ranges have no rank in common."""
    ends = (then["rank_low"], then["rank_high"], now["rank_low"], now["rank_high"])
    return None not in ends and (ends[1] < ends[2] or ends[3] < ends[0])


def _combined_error(then: Row, now: Row) -> float | None:
    ends = [(r["ci_low"], r["ci_high"]) for r in (then, now)]
    if any(None in pair for pair in ends):
        return None
    return math.hypot(*((high - low) / 2 / 1.96 for low, high in ends))
