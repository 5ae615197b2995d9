"""Rounds of adaptive pairs: which pairs of a plan's prompts and configs they add."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s_assets.pairing import PLAN_SCHEMA, empty_plan, next_epoch, round_pairs, top_up
from s2s_assets.study import InputError, Uncertainty


def known(configs, by_model=False, seed=1):
    """A covariance of the entities that these configs are, without ties."""
    entity_of = {c: c.split("|")[0] if by_model else c for c in configs}
    entities = tuple(sorted(set(entity_of.values())))
    n, rng = len(entities), np.random.default_rng(seed)
    roots, centring = rng.normal(size=(n, 3 * n)) * rng.uniform(0.3, 1.5, (n, 1)), np.eye(n) - 1 / n
    told = np.triu(rng.uniform(0.1, 0.3, (n, n)), 1)
    covariance = centring @ (roots @ roots.T / (30 * n)) @ centring
    return Uncertainty("overall/model/all/all/all", entities, covariance, told + told.T, entity_of)


def ask(plan, cells, fit, earlier=None, withdrawn=(), number=1, slots=2, pairs=10):
    earlier = empty_plan() if earlier is None else earlier
    return top_up(plan, earlier, cells, withdrawn, fit, study="s", number=number, slots=slots, pairs=pairs)


def study_of(twin, n=6, prompts=8, slots=2):
    cells = twin.cells(n, prompts)
    return next_epoch(None, cells, (), study="s", slots=slots, units=1), cells


def places(rows):
    """Prompt and the two configs of each pair."""
    pairs = rows.unique("pair")
    return [(p, *sorted((a, b))) for p, a, b in pairs.select("prompt", "config_a", "config_b").iter_rows()]


def test_a_round_has_rows_of_the_plan_that_say_what_they_are(twin):
    plan, cells = study_of(twin)
    made = ask(plan, cells, known(set(cells["config"])))
    assert made.rows.schema == PLAN_SCHEMA
    assert set(made.rows["source"]) == {"adaptive"}
    assert set(made.rows["epoch"]) == {1}, "the plan's last one"
    assert (made.pairs, made.rows.height) == (10, 20)
    assert not set(made.rows["pair"]) & set(plan["pair"])
    ids = {(p, c): r for p, c, r in cells.select("prompt", "config", "response_id").iter_rows()}
    for row in made.rows.iter_rows(named=True):
        assert row["response_a"] == ids[row["prompt"], row["config_a"]]
        assert row["response_b"] == ids[row["prompt"], row["config_b"]]
        assert row["first"] == "ab"[row["slot"] % 2]
    before, after = made.widest
    assert after < before
    assert (made.se_after <= made.se + 1e-12).all()


rounds_of = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@given(
    rounds=rounds_of,
    n=st.integers(4, 7),
    by_model=st.booleans(),
    gone=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=4),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_no_pair_is_asked_twice_nor_one_that_may_not_be(twin, rounds, n, by_model, gone, seed):
    plan, cells = study_of(twin, n, prompts=5)
    fit, withdrawn = known(set(cells["config"]), by_model, seed), {f"r-{p}-{c}" for p, c in gone}
    asked = empty_plan()
    for number, pairs in enumerate(rounds, 1):
        made = ask(plan, cells, fit, asked, withdrawn, number, pairs=pairs)
        assert made.pairs <= pairs
        asked = pl.concat([asked, made.rows])
    there = places(plan.filter(~pl.col("response_a").is_in(withdrawn) & ~pl.col("response_b").is_in(withdrawn)))
    new = places(asked)
    assert len(set(new)) == len(new) == asked["pair"].n_unique()
    assert not set(new) & set(there)
    assert not {*asked["response_a"], *asked["response_b"]} & withdrawn
    heard = {(r["prompt"], r["config"]) for r in cells.iter_rows(named=True) if r["response_id"] not in withdrawn}
    allowed = {
        (p, a, b)
        for p in set(cells["prompt"])
        for a, b in itertools.combinations(sorted(set(cells["config"])), 2)
        if {(p, a), (p, b)} <= heard and fit.entity_of[a] != fit.entity_of[b]
    }
    assert len(new) == min(sum(rounds), len(allowed - set(there)))


def test_prompts_are_used_evenly_over_rounds(twin):
    plan, cells = study_of(twin, n=9, prompts=20)
    asked = empty_plan()
    for number in (1, 2, 3):
        asked = pl.concat([asked, ask(plan, cells, known(set(cells["config"])), asked, number=number, pairs=11).rows])
        load = Counter(p for p, _, _ in places(asked))
        counts = [load[p] for p in sorted(set(cells["prompt"]))]
        assert max(counts) - min(counts) <= 1


def test_of_a_models_configs_those_are_taken_that_have_met_least(twin):
    plan, cells = study_of(twin, n=8, prompts=40)
    made = ask(plan, cells, known(set(cells["config"]), by_model=True), pairs=60)
    asked = Counter(tuple(sorted(c.split("|")[0] for c in place[1:])) for place in places(made.rows))
    commonest, n = asked.most_common(1)[0]
    together = Counter(place[1:] for place in places(made.rows))
    within = [together[pair] for pair in together if tuple(sorted(c.split("|")[0] for c in pair)) == commonest]
    assert n >= 12, "the model that is least known is asked about most"
    assert len(within) == 4
    assert max(within) - min(within) <= 2


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_each_config_is_first_as_often_as_second(twin, slots):
    plan, cells = study_of(twin, n=7, prompts=30, slots=slots)
    made = ask(plan, cells, known(set(cells["config"])), slots=slots, pairs=50)
    everything = pl.concat([plan, made.rows])
    tilt = Counter()
    for row in everything.iter_rows(named=True):
        tilt[row[f"config_{row['first']}"]] += 1
        tilt[row["config_a" if row["first"] == "b" else "config_b"]] -= 1
    assert max(abs(n) for n in tilt.values()) <= (3 if slots % 2 else 0)


def test_the_same_round_whatever_the_order_of_the_rows_and_another_one_in_another_round(twin):
    plan, cells = study_of(twin)
    fit = known(set(cells["config"]), by_model=True)
    made = ask(plan, cells, fit)
    shuffled = ask(plan.sample(fraction=1, shuffle=True, seed=2), cells.sample(fraction=1, shuffle=True, seed=3), fit)
    assert shuffled.rows.equals(made.rows)
    assert set(places(ask(plan, cells, fit, number=2).rows)) != set(places(made.rows))


def test_configs_and_responses_that_the_fit_or_the_plan_lack_are_left_alone(twin):
    plan, cells = study_of(twin, n=6)
    fit = known({c for c in cells["config"] if not c.startswith("m2")})
    grown = twin.cells(7, 8)
    made = ask(plan, grown, fit, pairs=1000)
    named = {c for place in places(made.rows) for c in place[1:]}
    assert {c.split("|")[0] for c in named} == {"m0", "m1"}
    assert made.pairs == 8 * 6 - sum(set(place[1:]) <= named for place in places(plan)), "all that is left"


def test_a_response_that_came_late_is_left_to_the_plan(twin):
    cells = twin.cells(6, 8, absent={(2, 1)})
    plan = next_epoch(None, cells, (), study="s", slots=2, units=1)
    whole = twin.cells(6, 8)
    made = ask(plan, whole, known(set(whole["config"])), pairs=1000)
    assert made.pairs == 8 * 15 - 5 - plan["pair"].n_unique()
    assert "r-2-1" not in {*made.rows["response_a"], *made.rows["response_b"]}


@given(
    baseline=st.integers(0, 100_000),
    slots=st.integers(1, 10),
    share=st.sampled_from([0.01, 0.05, 0.1, 0.15, 0.2]),
    rounds=st.integers(1, 12),
)
def test_the_share_is_never_exceeded_and_all_of_it_is_reached(baseline, slots, share, rounds):
    adaptive, sizes = 0, []
    while n := round_pairs(baseline, adaptive, slots=slots, share=share, rounds=rounds):
        adaptive += n * slots
        sizes.append(n)
        assert adaptive <= share * (baseline + adaptive) + 1e-6
    assert len(sizes) <= rounds
    assert adaptive + slots > share * (baseline + adaptive + slots) - 1e-6
    assert max(sizes, default=0) - min(sizes[:-1], default=max(sizes, default=0)) <= 0


def test_a_fifth_is_a_quarter_of_the_plans_votes():
    assert round_pairs(80, 0, slots=2, share=0.2, rounds=1) == 10
    assert round_pairs(80, 20, slots=2, share=0.2, rounds=1) == 0
    assert round_pairs(0, 0, slots=1, share=0.2, rounds=1) == 0
    assert round_pairs(10, 8, slots=1, share=0.2, rounds=1) == 0, "votes of the plan were taken back"


def test_a_round_without_a_number_is_refused(twin):
    plan, cells = study_of(twin)
    with pytest.raises(InputError, match="adaptive round 0"):
        ask(plan, cells, known(set(cells["config"])), number=0)
