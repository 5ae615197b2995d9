from collections import Counter

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from s2s_assets.pairing import next_epoch, plan_quality


def grow(plan, cells, withdrawn=(), **more):
    rows = next_epoch(plan, cells, withdrawn, **{"study": "s", "slots": 2, "units": 1} | more)
    return plan if rows is None else rows if plan is None else pl.concat([plan, rows])


def config(number):
    return f"m{number // 2}|v{number % 2}|none"


@pytest.mark.parametrize(("n", "prompts", "units"), [(9, 40, 1), (8, 31, 1), (9, 20, 2), (2, 6, 1), (3, 5, 1)])
def test_a_newcomer_meets_each_old_config_at_the_old_rate(twin, n, prompts, units):
    old = grow(None, twin.cells(n, prompts), units=units)
    plan = grow(old, twin.cells(n + 1, prompts), units=units)
    assert plan.head(old.height).equals(old)
    usual = sum(twin.meetings(old).values()) / len(twin.meetings(old))
    met = [count for pair, count in twin.meetings(plan).items() if config(n) in pair]
    assert max(met) - min(met) <= 1
    assert abs(sum(met) / len(met) - usual) <= max(0.05 * usual, 0.5)
    assert twin.split_prompts(plan, twin.cells(n + 1, prompts)) == []


def test_newcomers_of_one_epoch_meet_each_other(twin):
    plan = grow(None, twin.cells(7, 42))
    plan = grow(plan, twin.cells(11, 42))
    counts = twin.meetings(plan).values()
    assert min(counts) >= 12
    assert max(counts) <= 16


def test_a_newcomer_is_first_as_often_as_second(twin):
    plan = grow(None, twin.cells(9, 40), slots=1)
    plan = grow(plan, twin.cells(10, 40), slots=1)
    fresh = plan.filter((pl.col("epoch") == 2) & (pl.col("source") == "baseline"))
    assert abs((fresh["config_a"] == config(9)).sum() - (fresh["config_b"] == config(9)).sum()) <= 1


def test_a_late_response_gets_two_opponents_and_the_rest_nothing(twin):
    plan = grow(None, twin.cells(9, 20, absent={(4, 2)}))
    rows = next_epoch(plan, twin.cells(9, 20), (), study="s", slots=2, units=1)
    fresh = rows.filter(pl.col("source") == "baseline")
    assert fresh["prompt"].unique().to_list() == ["p004"]
    assert fresh["pair"].n_unique() == 2
    assert all(config(2) in (r["config_a"], r["config_b"]) for r in fresh.iter_rows(named=True))


def test_new_prompts_get_a_design_that_evens_out_the_rates(twin):
    plan = None
    for prompts in range(1, 13):
        plan = grow(plan, twin.cells(9, prompts), bridge_share=0)
    counts = twin.meetings(plan).values()
    assert plan["epoch"].n_unique() == 12
    assert max(counts) - min(counts) <= 3
    assert twin.split_prompts(plan, twin.cells(9, 12)) == []


def test_a_hole_is_healed_between_its_neighbours(twin):
    cells = twin.cells(7, 9)
    plan = grow(None, cells)
    before = [r for r in twin.pairs(plan) if r["prompt"] == "p003" and config(1) in (r["config_a"], r["config_b"])]
    neighbours = {c for r in before for c in (r["config_a"], r["config_b"])} - {config(1)}
    rows = next_epoch(plan, cells, {"r-3-1"}, study="s", slots=2, units=1, bridge_share=0)
    assert rows["source"].unique().to_list() == ["healed"]
    assert [{r["config_a"], r["config_b"]} for r in twin.pairs(rows)] == [neighbours]
    plan = pl.concat([plan, rows])
    assert next_epoch(plan, cells, {"r-3-1"}, study="s", slots=2, units=1) is None


def test_the_end_of_a_path_leaves_nothing_to_heal(twin):
    cells = twin.cells(6, 3)
    plan = grow(None, cells)
    ends = Counter(c for r in twin.pairs(plan) if r["prompt"] == "p000" for c in (r["config_a"], r["config_b"]))
    end = min(ends, key=ends.get)
    gone = cells.filter((pl.col("prompt") == "p000") & (pl.col("config") == end))["response_id"].to_list()
    assert next_epoch(plan, cells, gone, study="s", slots=2, units=1) is None


def test_a_response_collected_again_is_attached_again(twin):
    cells = twin.cells(7, 9)
    plan = grow(None, cells)
    new_id = pl.when(pl.col("response_id") == "r-3-1").then(pl.lit("second")).otherwise(pl.col("response_id"))
    again = cells.with_columns(response_id=new_id)
    plan = grow(plan, again, {"r-3-1"})
    pairs = [r for r in twin.pairs(plan, {"r-3-1"}) if "second" in (r["response_a"], r["response_b"])]
    assert len(pairs) == 2
    assert twin.split_prompts(plan, again, {"r-3-1"}) == []


def test_a_response_collected_anew_takes_the_place_of_the_old_one(twin):
    cells = twin.cells(7, 9)
    plan = grow(None, cells)
    before = {tuple(sorted((r["config_a"], r["config_b"]))) for r in twin.pairs(plan) if r["prompt"] == "p003"}
    new_id = pl.when(pl.col("response_id") == "r-3-1").then(pl.lit("second")).otherwise(pl.col("response_id"))
    again = cells.with_columns(response_id=new_id)
    grown = grow(plan, again)
    assert grown.head(plan.height).equals(plan)
    new = grown.slice(plan.height)
    assert set(new["source"]) <= {"baseline", "bridge"}, "nothing is owed for a response that has a successor"
    live = [r for r in twin.pairs(grown, {"r-3-1"}) if r["prompt"] == "p003"]
    assert {tuple(sorted((r["config_a"], r["config_b"]))) for r in live} == before, "with the same opponents"
    assert all("r-3-1" not in (r["response_a"], r["response_b"]) for r in new.iter_rows(named=True))
    assert plan_quality(grown, again).n_void == 2
    assert plan_quality(grown, again).connected
    assert next_epoch(grown, again, (), study="s", slots=2, units=1) is None


def test_a_retired_config_keeps_its_pairs_and_gets_no_new_one(twin):
    cells = twin.cells(7, 9)
    plan = grow(None, cells)
    kept = cells.filter(pl.col("config") != config(0))
    assert next_epoch(plan, kept, (), study="s", slots=2, units=1) is None
    grown = grow(plan, twin.cells(8, 9).filter(pl.col("config") != config(0)))
    fresh = grown.filter(pl.col("epoch") == 2)
    assert config(0) not in set(fresh["config_a"]) | set(fresh["config_b"])
    assert grown.head(plan.height).equals(plan)


def test_bridges_are_few_old_pairs_in_the_other_order(twin):
    old = grow(None, twin.cells(9, 50), slots=1)
    plan = grow(old, twin.cells(10, 50), slots=1)
    bridges = plan.filter(pl.col("source") == "bridge")
    assert bridges["pair"].n_unique() == round(0.04 * old["pair"].n_unique())
    key = ["prompt", "config_a", "config_b", "response_a", "response_b"]
    again = bridges.join(old, on=key, how="inner")
    assert again.height == bridges.height
    assert (again["first"] != again["first_right"]).all()
    assert not set(bridges["pair"]) & set(old["pair"])
    spread = Counter(zip(bridges["config_a"], bridges["config_b"], strict=True))
    assert max(spread.values()) <= 2


def test_a_small_epoch_asks_no_more_bridges_than_it_has_new_pairs(twin):
    plan = grow(None, twin.cells(9, 60, absent={(4, 2)}))
    rows = next_epoch(plan, twin.cells(9, 60), (), study="s", slots=2, units=1, bridge_share=0.1)
    assert rows.filter(pl.col("source") == "bridge")["pair"].n_unique() == 2


events = st.lists(
    st.one_of(
        st.tuples(st.just("config"), st.just(0), st.just(0)),
        st.tuples(st.just("prompt"), st.just(0), st.just(0)),
        st.tuples(st.sampled_from(["withdraw", "again", "anew", "drop"]), st.integers(0, 5), st.integers(0, 5)),
    ),
    max_size=9,
)


def succeeded(plan, cells, old):
    """Responses collected anew of which a later repeat is planned or can be played."""
    there = {*plan["response_a"], *plan["response_b"], *cells["response_id"]}
    later = {r: [f"{'-'.join(r.split('-')[:3])}-{k}" for k in range(int([*r.split("-"), "0"][3]) + 1, 20)] for r in old}
    return {r for r, names in later.items() if there & set(names)}


@given(absent=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), events=events)
@example(
    absent={(0, 4), (1, 4)}, events=[("anew", 0, 0), ("anew", 0, 3)]
)  # the second one's old pairs held parts together
@example(absent={(0, 3)}, events=[("again", 0, 3), ("anew", 0, 1)])  # what the second one was owed is owed no more
@settings(max_examples=40, deadline=None)
def test_whatever_happens_old_rows_stay_and_every_prompt_is_connected(twin, absent, events):
    n, prompts, gone, old, turns = 5, 4, set(), set(), Counter()
    plan = grow(None, twin.cells(n, prompts, absent))
    for kind, p, c in [("late", 0, 0), *events]:
        n, prompts = n + (kind == "config"), prompts + (kind == "prompt")
        if kind == "late":
            absent = set()
        elif kind in ("withdraw", "again", "anew"):
            (old if kind == "anew" else gone).add(f"r-{p}-{c}" + f"-{turns[p, c]}" * (turns[p, c] > 0))
            turns[p, c] += kind != "withdraw"
        elif kind == "drop":
            absent = absent | {(p, c)}
        ids = {f"r-{p}-{c}": f"r-{p}-{c}-{k}" for (p, c), k in turns.items() if k}
        cells = twin.cells(n, prompts, absent).with_columns(pl.col("response_id").replace(ids))
        before, plan = plan, grow(plan, cells, gone)
        assert before is None or plan.head(before.height).equals(before)
        assert plan is None or twin.split_prompts(plan, cells, gone | succeeded(plan, cells, old)) == []
        assert next_epoch(plan, cells, gone, study="s", slots=2, units=1) is None
        assert plan is None or plan_quality(plan, cells, gone).connected
    keys = [(r["prompt"], *sorted((r["response_a"], r["response_b"]))) for r in twin.pairs(plan)]
    assert len(keys) == len(set(keys))
