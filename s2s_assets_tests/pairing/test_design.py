from collections import Counter

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from s2s_assets.pairing import PLAN_SCHEMA, next_epoch, waiting_for
from s2s_assets.study import InputError, digest


def first_epoch(cells, **more):
    return next_epoch(None, cells, (), **{"study": "s", "slots": 2, "units": 1} | more)


@given(n=st.integers(2, 13), prompts=st.integers(1, 30), units=st.integers(1, 3), study=st.text("abc", min_size=1))
@example(n=6, prompts=4, units=3, study="a")
@settings(max_examples=60, deadline=None)
def test_rates_differ_by_one_at_most_and_every_prompt_is_connected(twin, n, prompts, units, study):
    cells = twin.cells(n, prompts)
    plan = first_epoch(cells, units=units, study=study)
    counts = twin.meetings(plan).values()
    assert max(counts) - min(counts) <= 1
    assert twin.split_prompts(plan, cells) == []
    edges = Counter(row["prompt"] for row in twin.pairs(plan))
    used = min(units, n // 2)  # no more members than there are
    assert set(edges.values()) == {used * (n if n % 2 else n - 1)}


@pytest.mark.parametrize(("n", "prompts"), [(19, 9), (9, 7), (6, 61), (8, 50), (7, 1)])
def test_configs_are_first_as_often_as_second(twin, n, prompts):
    plan = first_epoch(twin.cells(n, prompts), slots=1)
    lean = Counter(plan["config_a"]) - Counter(plan["config_b"])
    assert max(lean.values(), default=0) <= (0 if n % 2 else 2)


def test_slots_alternate_from_config_a(twin):
    plan = first_epoch(twin.cells(5, 4), slots=3)
    assert {tuple(g["first"]) for _, g in plan.group_by("pair", maintain_order=True)} == {("a", "b", "a")}
    assert {tuple(g["slot"]) for _, g in plan.group_by("pair", maintain_order=True)} == {(0, 1, 2)}


def test_rows_follow_the_schema_and_ids_the_rule(twin):
    plan = first_epoch(twin.cells(4, 3))
    assert plan.schema == PLAN_SCHEMA
    for row in plan.iter_rows(named=True):
        assert row["pair"] == digest(["s", row["prompt"], sorted([row["response_a"], row["response_b"]]), 1])
    assert plan.group_by("pair").len()["len"].unique().to_list() == [2]


def test_the_order_of_cells_has_no_influence(twin):
    cells = twin.cells(7, 12, absent={(1, 2), (4, 0)})
    assert first_epoch(cells).equals(first_epoch(cells.sample(fraction=1, shuffle=True, seed=3)))


def test_another_study_draws_another_plan(twin):
    cells = twin.cells(7, 12)
    assert not first_epoch(cells, study="s").equals(first_epoch(cells, study="t"))


def test_categories_share_the_members_of_a_block(twin):
    cells = twin.cells(9, 24).with_columns(level=pl.lit("L1"), acoustic=pl.lit("clean"))
    plan = first_epoch(cells)
    inside = plan.join(cells.select("prompt", "category").unique(), on="prompt").filter(pl.col("category") == "c1")
    counts = twin.meetings(inside).values()
    assert max(counts) - min(counts) <= 2


@given(absent=st.sets(st.tuples(st.integers(0, 11), st.integers(0, 6)), max_size=40), units=st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_missing_responses_leave_every_prompt_connected(twin, absent, units):
    cells = twin.cells(7, 12, absent)
    plan = first_epoch(cells, units=units)
    if plan is None:
        assert cells.group_by("prompt").len()["len"].max() in (None, 1)
    else:
        assert twin.split_prompts(plan, cells) == []
        assert next_epoch(plan, cells, (), study="s", slots=2, units=1) is None


def test_one_config_makes_no_plan(twin):
    assert first_epoch(twin.cells(1, 5)) is None
    assert first_epoch(twin.cells(0, 5)) is None


def test_the_first_epoch_waits_for_active_configs_not_left_out():
    assert waiting_for(["a", "b", "c", "d"], {"b"}, ("d", "x")) == ["a", "c"]
    assert waiting_for(["a"], ["a"], ()) == []


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"units": 0}, {"bridge_share": 0.11}, {"bridge_share": -0.1}])
def test_numbers_out_of_range_are_refused(twin, wrong):
    with pytest.raises(InputError, match="expected"):
        first_epoch(twin.cells(3, 2), **wrong)


def test_cells_that_are_no_cells_are_refused(twin):
    cells = twin.cells(3, 2)
    with pytest.raises(InputError, match="level"):
        first_epoch(cells.drop("level"))
    with pytest.raises(InputError, match="two playable responses"):
        first_epoch(pl.concat([cells, cells.head(1).with_columns(response_id=pl.lit("again"))]))
