import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s_assets.pairing import PLAN_SCHEMA, next_epoch, plan_quality


def plan_of(pairs, slots=2):
    """A plan from (prompt, config_a, config_b)."""
    rows = [
        (1, f"{p}{a}{b}", p, a, b, f"{p}{a}", f"{p}{b}", slot, "ab"[slot % 2], "baseline")
        for p, a, b in pairs
        for slot in range(slots)
    ]
    return pl.DataFrame(rows, schema=PLAN_SCHEMA, orient="row")


def made(twin, n=9, prompts=28, **more):
    cells = twin.cells(n, prompts)
    return next_epoch(None, cells, (), **{"study": "s", "slots": 2, "units": 1} | more), cells


def test_a_plan_of_whole_blocks_is_perfect(twin):
    quality = plan_quality(*made(twin))
    assert (quality.n_pairs, quality.n_slots, quality.n_configs, quality.n_prompts) == (252, 504, 9, 28)
    assert quality.overall.rate_max_over_min == quality.overall.share_max_over_min == 1.0
    assert quality.overall.excess < 1
    assert quality.prompts_connected_share == 1.0
    assert (quality.first_share_min, quality.first_share_max, quality.order_tilt_max) == (0.5, 0.5, 0)
    assert quality.same_model_share == pytest.approx(4 / 36, abs=0.01)
    assert quality.same_model_expected == pytest.approx(4 / 36)
    assert quality.algebraic_connectivity == pytest.approx(1, abs=0.01)
    assert quality.connected
    assert quality.balanced
    json.dumps(quality.to_dict(), allow_nan=False)


def test_every_slice_is_reported(twin):
    plan, cells = made(twin)
    slices = {(s.dimension, s.value): s for s in plan_quality(plan, cells).slices}
    assert set(slices) == {("category", f"c{k}") for k in range(3)} | {
        ("level", "L1"),
        ("level", "L2"),
        ("acoustic", "clean"),
        ("acoustic", "far_field"),
    }
    for (dimension, value), found in slices.items():
        chosen = cells.filter(pl.col(dimension) == value).select("prompt").unique()
        counts = twin.meetings(plan.join(chosen, on="prompt")).values()
        assert (found.rate_min, found.rate_max, found.n_prompts) == (min(counts), max(counts), chosen.height)


@given(st.sets(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1))
@settings(max_examples=150, deadline=None)
def test_connected_share_and_rates_equal_the_plain_twin(twin, triples):
    pairs = {(p, *sorted((a, b))) for p, a, b in triples if a != b}
    if not pairs:
        return
    plan = plan_of(sorted(pairs))
    quality = plan_quality(plan)
    prompts = {p for p, _, _ in pairs}
    whole = [
        twin.is_connected({c for p, *ends in pairs if p == q for c in ends}, [e for p, *e in pairs if p == q])
        for q in prompts
    ]
    assert quality.prompts_connected_share == sum(whole) / len(whole)
    counts = twin.meetings(plan).values()
    assert (quality.overall.rate_min, quality.overall.rate_max) == (min(counts), max(counts))
    together = twin.is_connected({c for _, *ends in pairs for c in ends}, [ends for _, *ends in pairs])
    assert quality.overall.connected == together
    assert (quality.algebraic_connectivity > 1e-9) == together


def test_a_split_prompt_closes_the_gate_by_name():
    quality = plan_quality(
        plan_of([("x", "a", "b"), ("x", "c", "d"), ("y", "a", "c"), ("y", "c", "b"), ("y", "b", "d")])
    )
    assert quality.connectivity_faults == ("not all configs are connected on prompts x",)
    assert quality.prompts_connected_share == 0.5


def test_a_part_of_responses_that_cannot_be_played_any_more_closes_no_gate():
    plan = plan_of([("x", "a", "b"), ("x", "d", "e"), ("y", "a", "b"), ("y", "a", "d"), ("y", "a", "e")])
    playable = ["xa", "xb", "ya", "yb", "yd", "ye"]
    rows = [(r[0], r[1], r, "facts", "L1", "clean") for r in playable]
    cells = pl.DataFrame(
        rows, schema=["prompt", "config", "response_id", "category", "level", "acoustic"], orient="row"
    )
    assert plan_quality(plan, cells).connectivity_faults == (), "nothing could be done about the pair of d and e"
    back = pl.concat([cells, cells.filter(response_id="yd").with_columns(prompt=pl.lit("x"), response_id=pl.lit("xd"))])
    assert plan_quality(plan, back).connectivity_faults == ("not all configs are connected on prompts x",)


def test_a_playable_cell_left_out_closes_the_gate(twin):
    plan, _ = made(twin, 5, 4)
    quality = plan_quality(plan, twin.cells(6, 4))
    assert "p000, p001, p002, p003" in quality.connectivity_faults[0]
    assert "do not hang together" in quality.connectivity_faults[1]


def test_a_withdrawn_response_voids_its_pairs(twin):
    plan, cells = made(twin, 6, 15)
    quality = plan_quality(plan, cells, {"r-3-1"})
    lost = sum(1 for r in twin.pairs(plan) if "r-3-1" in (r["response_a"], r["response_b"]))
    assert quality.n_void == lost
    assert quality.n_pairs == 75 - lost


def test_a_lopsided_plan_closes_the_gate_of_balance():
    pairs = [(f"p{k}", "a", "b") for k in range(12)] + [(f"p{k}", "b", "c") for k in range(12)]
    quality = plan_quality(plan_of([*pairs, ("p0", "a", "c")]))
    assert quality.overall.rate_max_over_min == 12
    assert "factor of 12.00" in quality.balance_faults[0]


def test_always_first_closes_the_gate_of_balance(twin):
    plan, cells = made(twin)
    quality = plan_quality(plan.with_columns(first=pl.lit("a")), cells)
    assert quality.order_tilt_max == 2
    assert any("in one order 2 times" in fault for fault in quality.balance_faults)


def test_pairs_within_one_model_only_by_chance(twin):
    plan, cells = made(twin, 8, 56)
    inside = pl.col("config_a").str.split("|").list.first() == pl.col("config_b").str.split("|").list.first()
    fault = plan_quality(plan.filter(~inside), cells).balance_faults
    assert any("within one model" in f for f in fault)


@pytest.mark.parametrize("seed", range(5))
def test_a_few_missing_responses_leave_both_gates_open(twin, seed):
    absent = {(p, (p * 7 + seed * 3) % 8) for p in range(seed, 60, 4)}
    cells = twin.cells(8, 60, absent)
    plan = next_epoch(None, cells, (), study=f"s{seed}", slots=2, units=1)
    quality = plan_quality(plan, cells)
    assert quality.connected
    assert quality.balanced, quality.balance_faults


def test_a_config_that_is_often_missing_meets_the_rest_for_what_it_shares(twin):
    absent = {(p, c) for p in range(60) for c in range(7) if p % (2 if c == 0 else 9) == c % 2}
    cells = twin.cells(7, 60, absent)
    plan = next_epoch(None, cells, (), study="s", slots=2, units=1)
    quality = plan_quality(plan, cells)
    assert quality.overall.rate_max_over_min > 1.5
    assert quality.overall.share_max_over_min < 1.25
    assert quality.overall.excess <= 1.5


@pytest.mark.parametrize(("n", "prompts", "slots"), [(8, 12, 1), (8, 1, 1), (19, 5, 2), (2, 1, 1), (3, 2, 3)])
def test_small_plans_are_as_good_as_can_be(twin, n, prompts, slots):
    quality = plan_quality(*made(twin, n, prompts, slots=slots))
    assert quality.connected
    assert quality.balanced, quality.balance_faults


def test_an_empty_plan_has_figures():
    quality = plan_quality(pl.DataFrame(schema=PLAN_SCHEMA))
    assert (quality.n_pairs, quality.prompts_connected_share, quality.first_share_min) == (0, 0.0, None)
    assert not quality.connected


def test_withdrawals_do_not_close_the_gates(twin):
    cells = twin.cells(8, 24)
    plan = next_epoch(None, cells, (), study="s", slots=2, units=1)
    gone = {f"r-{p}-{(p * 5 + k) % 8}" for p in range(24) for k in (0, 3) if (p + k) % 3 == 0}
    plan = pl.concat([plan, next_epoch(plan, cells, gone, study="s", slots=2, units=1)])
    quality = plan_quality(plan, cells.filter(~pl.col("response_id").is_in(list(gone))), gone)
    assert quality.n_void > 20
    assert quality.connected
    assert quality.balanced, quality.balance_faults
