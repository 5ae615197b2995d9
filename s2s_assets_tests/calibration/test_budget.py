"""What is foretold, against studies simulated at that size; and the search for what is needed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct

from s2s_assets.calibration import Choice, Decided, Foretold, Plan, Within, budget, foretell
from s2s_assets.calibration.foretell import PARTS
from s2s_assets.calibration.goals import power_of
from s2s_assets.ranking import (
    ELO_PER_STRENGTH,
    VarianceComponents,
    assumed_components,
    fit_boards,
    pilot_components,
    rank,
)
from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.ranking.fits import prepare
from s2s_assets.ranking.overlaps import Overlaps
from s2s_assets.ranking.sandwich import strength_rows
from s2s_assets.ranking.selection import select
from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import Floats, InputError
from s2s_assets_tests.calibration.planned import planned_study

ENTITIES = 6
BOARD = FitSpec(by="config")


@pytest.fixture(scope="module")
def assumed() -> VarianceComponents:
    return assumed_components(ENTITIES, rater_sd=0.35, prompt_sd=0.5, strengths_sd=0.6)


@pytest.fixture(scope="module")
def pilots() -> list[VarianceComponents]:
    """Pilots of 24 raters and 40 prompts, two ratings a pair."""
    size = {"entities": ENTITIES, "raters": 24, "prompts": 40, "ratings_per_pair": 2}
    return [pilot_components(planned_study(900 + k, **size)) for k in range(24)]


def strengths(seed: int, plan: Plan) -> Floats:
    """(E,) estimates of one simulated study, in Elo."""
    size = {"raters": plan.raters, "prompts": plan.prompts, "ratings_per_pair": int(plan.ratings_per_pair)}
    (fit,) = fit_boards(planned_study(seed, entities=ENTITIES, **size), [BOARD])
    return np.array([ELO_PER_STRENGTH * (e.strength or 0.0) for e in sorted(fit.entities, key=lambda e: e.entity)])


@pytest.mark.parametrize("plan", [Plan(24, 40, 2), Plan(60, 80, 1), Plan(12, 120, 1), Plan(40, 20, 6)])
def test_foretold_errors_are_those_of_simulated_studies(
    plan: Plan, pilots: list[VarianceComponents], assumed: VarianceComponents
) -> None:
    """Root mean square over entities; 150 studies give it within 3 % (one Monte-Carlo error), 24 pilots within 3 %."""
    seen = np.array([strengths(k, plan) for k in range(150)])
    truth = np.sqrt(seen.var(axis=0, ddof=1).mean())
    variances = [np.trace(foretell(pilot, plan).covariance) / ENTITIES for pilot in pilots]
    assert ELO_PER_STRENGTH * np.sqrt(np.mean(variances)) == pytest.approx(truth, rel=0.1)
    assert ELO_PER_STRENGTH * np.sqrt(np.trace(foretell(assumed, plan).covariance) / ENTITIES) == pytest.approx(
        truth, rel=0.1
    )


def test_foretold_intervals_are_those_of_the_ranking(assumed: VarianceComponents) -> None:
    """Sandwich and bootstrap, the mean of entities over a few studies."""
    plan = Plan(30, 40, 2)
    found = [
        rank(planned_study(k, entities=ENTITIES, raters=30, prompts=40, ratings_per_pair=2), resamples=300)
        for k in range(6)
    ]
    entities = [e for one in found for e in one.intervals[0].entities]
    foretold = foretell(assumed, plan)
    sandwich = np.mean([(e.sandwich_high or 0) - (e.sandwich_low or 0) for e in entities]) / 2
    bootstrap = np.mean([(e.ci_high or 0) - (e.ci_low or 0) for e in entities]) / 2
    assert foretold.half_widths.mean() == pytest.approx(sandwich, rel=0.1)
    assert foretold.bootstrap_half_widths.mean() == pytest.approx(bootstrap, rel=0.1)


def test_without_effects_the_bootstrap_is_wider_by_the_root_of_three() -> None:
    none = foretell(assumed_components(5, rater_sd=0.0, prompt_sd=0.0), Plan(50, 80, 2))
    ratio = none.bootstrap_half_widths / none.half_widths
    assert ratio == pytest.approx(np.full(5, np.sqrt(3.0) * 1.959964 / none.quantile), rel=1e-6)


def test_few_raters_or_prompts_are_few_degrees(assumed: VarianceComponents) -> None:
    assert [foretell(assumed, Plan(*size, 1)).degrees for size in ((9, 30), (30, 9))] == [8, 8]
    uneven = replace(assumed, arrangement=replace(assumed.arrangement, uneven_raters=2.0))
    found = foretell(uneven, Plan(40, 30, 1))
    assert (found.degrees, found.degrees_together) == (29, 19)


def test_the_bootstrap_counts_what_lies_within_units_three_times() -> None:
    """The pilot's own sums within units, less what fitting took from them, in what is foretold for its size."""
    size = {"entities": 5, "raters": 12, "prompts": 20, "ratings_per_pair": 3}
    frame = planned_study(2, **size, rater_sd=0.5, prompt_sd=0.8, unit_sd=3.0)  # type: ignore[arg-type]
    pilot = pilot_components(frame)
    assert min(np.trace(getattr(pilot, part)) for part in PARTS) > 0  # so that no part has been set to nothing
    coded = code_ratings(frame)
    ((problem, ordinal),) = ((b.problem, b.ordinal) for b in prepare(BOARD, select(coded, BOARD), coded, {}))
    assert ordinal.maximum is not None
    scores, overlaps = ClusteredScores.of(problem, ordinal.maximum), Overlaps.of(problem)
    rows = strength_rows(ordinal)
    raters, prompts, units = (
        float(((c.sums @ rows.T) ** 2).sum()) for c in (scores.raters, scores.prompts, scores.units)
    )
    variance = (raters + prompts - units) / overlaps.free
    foretold = foretell(pilot, Plan(12, 20, 3))
    unfitted = units + variance * overlaps.squares["unit"] / overlaps.ratings**2
    assert np.trace(foretold.within_units) == pytest.approx(unfitted, rel=0.05)  # ν is taken as by chance
    assert np.trace(foretold.covariance) == pytest.approx(variance, rel=0.05)


SIZES = st.integers(2, 300)


@given(SIZES, SIZES, st.integers(1, 12), st.integers(1, 50), st.integers(0, 23))
@settings(max_examples=60, deadline=None)
def test_more_of_anything_never_widens(
    pilots: list[VarianceComponents], r: int, p: int, m: int, more: int, which: int
) -> None:
    start = widths(pilots[which], Plan(r, p, m))
    for larger in (Plan(r + more, p, m), Plan(r, p + more, m), Plan(r, p, m + more)):
        assert (widths(pilots[which], larger) <= start * (1 + 1e-9)).all()


def widths(components: VarianceComponents, plan: Plan) -> Floats:
    """Half-widths of entities, then standard errors of differences."""
    found = foretell(components, plan)
    return np.concatenate([found.half_widths, found.bootstrap_half_widths, found.differences.ravel()])


@given(SIZES, SIZES, st.integers(1, 12), st.integers(0, 23))
@settings(max_examples=40, deadline=None)
def test_twice_the_raters_and_prompts_halve_the_variance(
    pilots: list[VarianceComponents], r: int, p: int, m: int, which: int
) -> None:
    """Exactly so without what a rater adds on a prompt, since with it twice the prompts meet less of it."""
    one, two = (foretell(pilots[which], Plan(k * r, k * p, m)).covariance for k in (1, 2))
    assert np.trace(two) <= np.trace(one) / 2 * (1 + 1e-9)
    plain = replace(pilots[which], units=np.zeros_like(pilots[which].units))
    one, two = (foretell(plain, Plan(k * r, k * p, m)).covariance for k in (1, 2))
    assert two == pytest.approx(one / 2)


def test_names_of_entities_go_with_their_numbers(pilots: list[VarianceComponents]) -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    parts = {k: getattr(pilots[0], k)[np.ix_(order, order)] for k in ("raters", "prompts", "items", "units", "noise")}
    turned = replace(pilots[0], entities=tuple(pilots[0].entities[k] for k in order), **parts)
    goal = Within(float(foretell(pilots[0], Plan(24, 40, 6)).half_widths.max()) + 1e-6)
    sizes = {"raters": [24, 60], "prompts": [40], "goals": [goal]}
    for one, other in zip(budget(pilots[0], **sizes), budget(turned, **sizes), strict=True):  # type: ignore[arg-type]
        assert one.needed is not None
        assert other.needed is not None
        assert (one.needed.plan, one.needed.entity) == (other.needed.plan, other.needed.entity)


def test_needed_ratings_are_the_fewest_that_reach_the_goal(assumed: VarianceComponents) -> None:
    goals = (Within(30.0), Decided(60.0, 0.7))
    for choice in budget(assumed, raters=[30, 60, 120], prompts=[40, 80, 200], goals=goals):
        at = {m: foretell(assumed, Plan(choice.raters, choice.prompts, m)) for m in range(1, choice.raters + 1)}
        enough = [m for m, found in at.items() if all(goal.reached(found) for goal in goals)]
        assert (choice.needed is None) == (not enough)
        assert (choice.reason is None) == bool(enough)
        if choice.needed is not None:
            plan = choice.needed.plan
            assert plan.ratings_per_pair == enough[0]
            assert choice.needed.ratings == choice.prompts * ENTITIES * enough[0]
            assert choice.needed.half_width == goals[0].value(at[enough[0]])
            assert choice.needed.entity == assumed.entities[int(at[enough[0]].half_widths.argmax())]
            assert choice.needed.power == goals[1].value(at[enough[0]])


def test_efficient_choices_are_those_that_none_betters(assumed: VarianceComponents) -> None:
    found = budget(assumed, raters=[30, 40, 60, 120, 240], prompts=[60, 80, 120, 200, 400], goals=[Within(25.0)])
    sizes = {c: (c.raters, c.prompts, c.needed.ratings) for c in found if c.needed is not None}
    assert 3 < len(sizes) < len(found)
    for choice in found:
        own = sizes.get(choice)
        bettered = own is None or any(
            o != own and all(x <= y for x, y in zip(o, own, strict=True)) for o in sizes.values()
        )
        assert choice.efficient != bettered
        assert choice.fewest == (own is not None and own[2] == min(s[2] for s in sizes.values()))
    assert any(c.efficient for c in found)


def only(assumed: VarianceComponents, raters: int, prompts: int, elo: float, most: float | None = None) -> Choice:
    (choice,) = budget(assumed, raters=[raters], prompts=[prompts], goals=[Within(elo)], most_per_rater=most)
    return choice


def test_why_no_number_of_ratings_suffices_is_said(assumed: VarianceComponents) -> None:
    assert (only(assumed, 5, 2000, 30.0).reason or "").startswith("raters alone leave ±")
    assert (only(assumed, 2000, 20, 20.0).reason or "").startswith("prompts alone leave ±")
    assert (only(assumed, 50, 200, 17.5).reason or "").startswith("raters and prompts leave ±")
    assert (only(assumed, 4, 10, 139.0).reason or "").startswith("4 ratings a pair, all that these raters can give")
    assert only(assumed, 60, 80, 30.0).needed is not None
    assert (only(assumed, 60, 80, 30.0, most=10.0).reason or "").startswith("1 rating a pair, all that")
    assert only(assumed, 60, 80, 30.0, most=5.0).reason == "one rating of each pair is 8 a rater already"


def test_the_worst_entity_decides(assumed: VarianceComponents) -> None:
    found = foretell(assumed, Plan(50, 80, 1))
    elo = float(found.half_widths.max())
    assert elo > found.half_widths.min() * 1.01
    assert Within(elo).reached(found)
    assert not Within(elo - 0.01).reached(found)


def test_points_are_left_out_where_there_are_too_few_raters(assumed: VarianceComponents) -> None:
    (choice,) = budget(assumed, raters=[3], prompts=[50], ratings_per_pair=[1, 3, 4])
    assert [p is None for p in choice.points] == [False, False, True]
    assert (choice.needed, choice.reason) == (None, None)
    assert [p.plan.ratings_per_pair for p in choice.curve] == [1, 2, 3]


@pytest.mark.parametrize(("ncp", "quantile", "degrees"), list(itertools.product((0.5, 2.8, 6.0), (2.0, 3.6), (3, 99))))
def test_power_is_that_of_the_noncentral_t(ncp: float, quantile: float, degrees: int) -> None:
    expected = nct.sf(quantile, degrees, ncp) + nct.cdf(-quantile, degrees, ncp)
    assert power_of(ncp, quantile, degrees) == pytest.approx(expected, abs=1e-7)


def test_power_at_its_ends() -> None:
    assert power_of(1e-12, Foretold(np.eye(2), np.eye(2), 9, 9).quantile, 9) == pytest.approx(0.05)
    assert power_of(300.0, 2.0, 30) == 1.0


def test_power_is_what_simulated_studies_decide(assumed: VarianceComponents) -> None:
    """Share of studies whose own sandwich tells two entities apart, within three Monte-Carlo errors."""
    plan, pair = Plan(40, 40, 2), (1, 4)
    difference = float(ELO_PER_STRENGTH * (assumed.strengths[4] - assumed.strengths[1]))
    decided, n = 0, 120
    for k in range(n):
        own = pilot_components(planned_study(k, entities=ENTITIES, raters=40, prompts=40, ratings_per_pair=2))
        assert own.pilot is not None
        covariance = own.pilot.robust.covariance
        assert covariance is not None
        se = np.sqrt(covariance[1, 1] + covariance[4, 4] - 2 * covariance[1, 4])
        decided += abs(own.strengths[4] - own.strengths[1]) > own.pilot.robust.quantile * se
    power = Decided(difference, pair=pair).value(foretell(assumed, plan))
    assert 0.5 < power < 0.99
    assert decided / n == pytest.approx(power, abs=3 * np.sqrt(power * (1 - power) / n))


def test_claims_about_all_pairs_take_more(assumed: VarianceComponents) -> None:
    found = foretell(assumed, Plan(60, 80, 2))
    one = Decided(50.0, pair=(2, 3)).value(found)
    assert Decided(50.0, pair=(2, 3), simultaneous=True).value(found) < one
    assert Decided(50.0).value(found) <= one


@pytest.mark.parametrize("sizes", [{"raters": [1]}, {"prompts": [1]}, {"ratings_per_pair": [0]}])
def test_numbers_that_make_no_study_are_refused(assumed: VarianceComponents, sizes: dict[str, list[int]]) -> None:
    with pytest.raises(InputError, match="at least"):
        budget(assumed, **({"raters": [20], "prompts": [20]} | sizes))  # type: ignore[arg-type]
