"""What `s2s rank` tells people: who beats whom, slices, and why engines disagree."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from s2s_assets.leaderboard.ranking_text import show, who_beats_whom
from s2s_assets.ranking import BoardFit, BoardIntervals, rank
from s2s_assets.ranking.records import EntityFit, PairInterval
from s2s_assets.ranking.spec import FitSpec
from s2s_assets_tests.ranking.cases import frame_of, simulated


def board(names: Sequence[str], won: Mapping[str, str], ranks: Sequence[int] = ()) -> tuple[BoardFit, BoardIntervals]:
    """Entities by rank; `won`: entity → those it is told apart from, one letter each."""
    places = ranks or range(1, len(names) + 1)
    entities = tuple(
        EntityFit(name, 0.0, 1000.0, rank, None, None, None, None, 1, 1, 1)
        for name, rank in zip(names, places, strict=True)
    )
    pairs = []
    for a in sorted(names):
        for b in sorted(names):
            if a < b:
                low, high = (5.0, 9.0) if b in won.get(a, "") else (-9.0, -5.0) if a in won.get(b, "") else (-5.0, 5.0)
                pairs.append(PairInterval(a, b, 1, 0.0, 0.0, None, None, low, high))
    spec = FitSpec(by="config")
    fit = BoardFit(spec, None, "ok", None, 9, 9, 9, 0, (), (), None, (), None, entities, None, None)
    return fit, BoardIntervals(spec.fit, 0, None, (), tuple(pairs), pl.Series([]).to_numpy())


def test_few_are_named_and_those_of_one_record_stand_together() -> None:
    assert who_beats_whom(*board("ADBC", {"A": "BC", "D": "BC", "B": "C"})) == ["  A, D beat B, C; B beats C"]


def test_of_many_the_ranks_are_given_with_runs() -> None:
    names = "JIHGFEDCBA"
    lines = who_beats_whom(*board(names, {"J": "GFEDCBA", "I": "EDCA", "H": "BA"}))
    assert lines == ["  by rank: 1 beats 4–10; 2 beats 6–8, 10; 3 beats 9, 10"]


def test_a_shared_rank_is_no_name() -> None:
    lines = who_beats_whom(*board("ABCDEFGHIJ", {"A": "J"}, ranks=[1, 2, 3, 4, 5, 6, 7, 8, 9, 9]))
    assert lines == ["  A beats J"]


def test_long_records_are_wrapped() -> None:
    names = [f"entity-{k}" for k in range(8)]
    fit, intervals = board(names, {})
    told = intervals.pairs[0].__class__
    pairs = tuple(told(p.a, p.b, 1, 0.0, 0.0, None, None, 1.0, 2.0) for p in intervals.pairs)
    lines = who_beats_whom(fit, BoardIntervals(fit.fit, 0, None, (), pairs, intervals.draws), width=60)
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60


def test_nobody_told_apart_is_said_and_no_intervals_say_nothing() -> None:
    fit, intervals = board("ABC", {})
    assert who_beats_whom(fit, intervals) == ["  nobody is told apart from anybody"]
    bare = tuple(PairInterval(p.a, p.b, 1, 0.0, 0.0, None, None) for p in intervals.pairs)
    assert who_beats_whom(fit, BoardIntervals(fit.fit, 0, None, (), bare, intervals.draws)) == []


def test_it_agrees_with_the_letters() -> None:
    frame = frame_of(simulated(4000, [0.4 * k for k in range(10)], raters=40, prompts=80))
    result = rank(frame, resamples=0)
    (fit,), (intervals,) = result.fits, result.intervals
    ranks = {e.entity: e.rank for e in fit.entities}
    letters = {e.entity: set(e.letters or "") for e in intervals.entities}
    text = " ".join(who_beats_whom(fit, intervals)).partition("by rank: ")[2]
    found = set()
    for record in text.split("; "):
        winners, _, losers = record.replace(" beats ", " beat ").partition(" beat ")
        found |= {(w, k) for w in numbers(winners) for k in numbers(losers)}
    apart = {(ranks[a], ranks[b]) for a in ranks for b in ranks if ranks[a] < ranks[b] and not letters[a] & letters[b]}
    assert found == apart


def numbers(text: str) -> list[int]:
    """`1, 3–5` as numbers."""
    ends = [[int(end) for end in part.split("–")] for part in text.replace(",", "").split()]
    return [k for part in ends for k in range(part[0], part[-1] + 1)]


def shown(capsys: pytest.CaptureFixture[str], frame: pl.DataFrame, name: str) -> str:
    show(rank(frame, slice=name, resamples=0))
    return capsys.readouterr().out


def test_slices_without_a_table_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["long"] * 380 + ["short"] * 15 + [None] * 5
    frame = frame_of(simulated(400, [0.5, 0.0, -0.5])).with_columns(kind=pl.Series(kinds))
    text = shown(capsys, frame, "kind")
    assert "5 ratings in no slice: they have no kind" in text
    assert "overall, kind short, no table: preliminary: 15 ratings by" in text
    assert "overall by config, kind long: 380 ratings" in text
    assert "kind short:" not in text


def test_ratings_across_two_voices_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    keys = {f"m{k}": f"x{k // 2}|v{k % 2}|none" for k in range(4)}
    rows = [(r, p, keys[a], keys[b], y) for r, p, a, b, y in simulated(600, [0.5, 0.2, -0.2, -0.5])]
    across = sum(a.split("|")[1] != b.split("|")[1] for _, _, a, b, _ in rows)
    assert f"{across} ratings in no slice: they compare two values of voice" in shown(capsys, frame_of(rows), "voice")


def test_many_slices_without_a_table_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [f"k{k % 40:02d}" for k in range(400)]
    frame = frame_of(simulated(400, [0.5, 0.0, -0.5])).with_columns(kind=pl.Series(kinds))
    text = shown(capsys, frame, "kind")
    assert "kind k19, no table" in text
    assert "kind k20" not in text
    assert "… and 20 more slices; --json lists all" in text


def test_a_low_cross_check_is_a_warning_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    show(rank(frame_of(simulated(900, [0.01 * k for k in range(12)], raters=30, prompts=60)), resamples=0))
    assert "warning: Spearman 0." in capsys.readouterr().out
