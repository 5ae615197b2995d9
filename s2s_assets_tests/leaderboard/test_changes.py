"""What changed: real moves only, never across methods, no silent removal."""

from typing import Any

from s2s_assets.leaderboard import Previous
from s2s_assets.leaderboard.changes import compare

METHOD = {"method_version": "2", "headline_variant": "all"}


def row(entity: str, elo: float, rank: int, half: float = 20.0, **more: Any) -> dict[str, Any]:
    return {
        "rubric": "overall",
        "by": "model",
        "slice_dimension": "all",
        "variant": "all",
        "entity": entity,
        "display_name": entity.title(),
        "elo": elo,
        "ci_low": elo - half,
        "ci_high": elo + half,
        "rank": rank,
        "rank_low": rank,
        "rank_high": rank + 1,
        **more,
    }


def previous(*rows: dict[str, Any], version: str = "2") -> Previous:
    return Previous("2026-01-01-00000000", version, rows)


def test_the_first_release_has_nothing_to_compare_with() -> None:
    changes = compare([row("a", 1000, 1)], METHOD, None, ())
    assert changes.page(simulated=False) is None
    assert changes.document()["previous"] is None


def test_nothing_moved_is_said() -> None:
    rows = [row("a", 1010, 1), row("b", 990, 2)]
    page = compare([row("a", 1014, 1), row("b", 986, 2)], METHOD, previous(*rows), ()).page(simulated=False)
    assert page is not None
    assert page["tables"] == []
    assert "No name moved" in page["paragraphs"][-1]


def test_a_move_beyond_the_uncertainty_is_listed() -> None:
    changes = compare([row("a", 1060, 1), row("b", 990, 2)], METHOD, previous(row("a", 1000, 1), row("b", 990, 2)), ())
    assert [(m.entity, m.elo_change) for m in changes.moved] == [("a", 60)]


def test_rank_ranges_that_no_longer_meet_are_a_move() -> None:
    changes = compare([row("a", 1000, 5, half=90)], METHOD, previous(row("a", 1000, 1, half=90)), ())
    assert [(m.rank_before, m.rank_now) for m in changes.moved] == [("1 (1–2)", "5 (5–6)")]


def test_another_method_is_not_compared() -> None:
    changes = compare([row("a", 1200, 1)], METHOD, previous(row("a", 1000, 1), version="1"), ())
    page = changes.page(simulated=False)
    assert (changes.comparable, changes.moved) == (False, ())
    assert page is not None
    assert "not comparable" in page["paragraphs"][1]


def test_removals_need_a_reason_unless_the_model_is_retired() -> None:
    before = previous(row("a", 1000, 1), row("b", 990, 2), row("c|v|none", 980, 3, by="config"))
    changes = compare([row("a", 1000, 1), row("d", 990, 2)], METHOD, before, {"c"})
    assert changes.added == ("model d",)
    assert changes.removed == ("config c|v|none", "model b")
    assert changes.unexplained == ("model b",)


def test_missing_values_do_not_move() -> None:
    unbounded = {"elo": None, "ci_low": None, "ci_high": None, "rank_low": None, "rank_high": None}
    assert compare([row("a", 0, 1) | unbounded], METHOD, previous(row("a", 1000, 4)), ()).moved == ()
