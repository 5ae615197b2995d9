"""The parts of the variance, against a slow plain twin and against what they are known to be."""

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import VarianceComponents, assumed_components, pilot_components
from s2s_assets.ranking.arrangement import Arrangement, regular
from s2s_assets.ranking.clusters import ClusteredScores
from s2s_assets.ranking.ordinal import fit_ordinal
from s2s_assets.ranking.overlaps import Overlaps, kinds
from s2s_assets.ranking.sandwich import strength_rows
from s2s_assets.ranking.variance_components import positive
from s2s_assets.study import Floats, InputError, PilotError
from s2s_assets_tests.ranking.cases import Row, frame_of, parts, simulated

PARTS = ("raters", "prompts", "items", "units", "noise")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Ratings in which every kind of pair of ratings occurs, repeats too."""
    return simulated(420, [0.5, 0.1, -0.2, -0.4], raters=8, prompts=9, rater_sd=0.5, prompt_sd=0.6, seed=5)


def twin(rows: Sequence[Row]) -> dict[str, Floats]:
    """The parts before they are made positive, pair of ratings by pair of ratings."""
    _, _, (problem,) = parts(rows)
    fit = fit_ordinal(problem)
    assert fit.maximum is not None
    scores = ClusteredScores.of(problem, fit.maximum).by_cell.toarray()
    n = len(problem.cell)
    influence = n * scores[problem.cell] @ strength_rows(fit).T
    pair = problem.cell % len(problem.pairs)
    sums: dict[str, Floats] = {}
    counts: dict[str, int] = {}
    whole, together = np.zeros((4, 4)), 0
    for one, other in itertools.product(range(n), repeat=2):
        rater, prompt = problem.rater[one] == problem.rater[other], problem.prompt[one] == problem.prompt[other]
        same = pair[one] == pair[other]
        if not rater and not prompt:
            continue
        product = np.outer(influence[one], influence[other])
        whole += product / n**2
        together += 1
        kind = _kind(one == other, bool(rater), bool(prompt), bool(same))
        sums[kind] = sums.get(kind, np.zeros((4, 4))) + product
        counts[kind] = counts.get(kind, 0) + 1
    variance = whole / (1 - together / n**2)
    mean = {kind: total / counts[kind] + variance for kind, total in sums.items()}
    return {
        "raters": mean["rater"],
        "prompts": mean["prompt"],
        "items": mean["item"] - mean["prompt"],
        "units": mean["unit"] - mean["rater"] - mean["prompt"],
        "noise": mean["self"] - mean["item"] - mean["unit"] + mean["prompt"],
    }


def _kind(self_: bool, rater: bool, prompt: bool, same: bool) -> str:
    if self_:
        return "self"
    if rater and prompt:
        return "repeat" if same else "unit"
    if rater:
        return "rater"
    return "item" if same else "prompt"


def test_parts_equal_those_of_all_pairs_of_ratings(rows: list[Row]) -> None:
    found, expected = pilot_components(frame_of(rows)), twin(rows)
    for part in PARTS:
        assert getattr(found, part) == pytest.approx(positive(expected[part]), abs=1e-9), part


def test_kinds_are_all_pairs_of_ratings_with_something_in_common(rows: list[Row]) -> None:
    _, _, (problem,) = parts(rows)
    overlaps = Overlaps.of(problem)
    pairs = kinds(overlaps.squares)
    repeats = overlaps.squares["repeat"] - overlaps.squares["self"]
    assert min(pairs.values()) > 0
    assert sum(pairs.values()) + repeats == pytest.approx((1 - overlaps.free) * overlaps.ratings**2)


def same(one: VarianceComponents, other: VarianceComponents, order: Sequence[int] = (0, 1, 2, 3)) -> None:
    for part in PARTS:
        assert getattr(one, part) == pytest.approx(getattr(other, part)[np.ix_(order, order)], abs=1e-8), part
    assert one.arrangement == other.arrangement


def test_order_and_names_of_ratings_do_not_matter(rows: list[Row]) -> None:
    frame = frame_of(rows)
    turned = [(r, p, b, a, -y) if k % 2 else (r, p, a, b, y) for k, (r, p, a, b, y) in enumerate(rows)]
    renamed = frame_of([(f"z{r[::-1]}", f"q{p[::-1]}", a, b, y) for r, p, a, b, y in turned])
    same(pilot_components(renamed.sample(fraction=1.0, shuffle=True, seed=1)), pilot_components(frame))
    mirror = {"m0": "m3", "m1": "m2", "m2": "m1", "m3": "m0"}
    mirrored = frame.with_columns(pl.col("config_a", "config_b").replace(mirror))
    same(pilot_components(mirrored), pilot_components(frame), (3, 2, 1, 0))


def test_a_large_pilot_finds_what_was_assumed() -> None:
    """Pairs at random: the mean of each part over entities, and the notes."""
    n = 5
    assumed = assumed_components(n, rater_sd=0.6, prompt_sd=0.8, thresholds=(0.4, 1.4, 2.6), pairs_per_prompt=10)
    seen = simulated(12000, [0.0] * n, raters=120, prompts=150, rater_sd=0.6, prompt_sd=0.8, seed=3)
    found = pilot_components(frame_of(seen))
    for part, tolerance in (("raters", 0.25), ("prompts", 0.25), ("items", 0.25), ("noise", 0.1)):
        assert np.trace(getattr(found, part)) == pytest.approx(np.trace(getattr(assumed, part)), rel=tolerance), part
    assert np.trace(found.units) < 0.1 * np.trace(found.noise)
    assert found.arrangement.shared == pytest.approx(assumed.arrangement.shared, rel=0.02)


def test_without_second_raters_a_pair_s_part_is_inferred() -> None:
    """One rating of each pair on a prompt, as a plan with one slot has it."""
    seen = simulated(9000, [0.0] * 5, raters=60, prompts=150, prompt_sd=0.8, seed=4)
    once = list({(p, *sorted((a, b))): (r, p, a, b, y) for r, p, a, b, y in seen}.values())
    found = pilot_components(frame_of(once))
    assert any("second rater" in note for note in found.notes)
    assert np.trace(found.items) / np.trace(found.prompts) == pytest.approx(4 / found.arrangement.shared - 1, rel=1e-6)


def test_parts_are_positive_and_none_is_said() -> None:
    nothing = pilot_components(frame_of(simulated(900, [0.2, 0.0, -0.2], seed=8)))
    for part in PARTS:
        assert np.linalg.eigvalsh(getattr(nothing, part)).min() > -1e-9
    assert sum("below zero" in note for note in nothing.notes) == sum(
        not getattr(nothing, part).any() for part in PARTS if part != "units"
    )
    assert any("below zero" in note for note in nothing.notes)


def test_making_positive_keeps_the_trace() -> None:
    part = np.diag([3.0, 1.0, -1.0])
    assert positive(part) == pytest.approx(np.diag([2.25, 0.75, 0.0]))
    assert not positive(-part).any()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([("r1", f"p{k % 9}", "x", "y", (-1) ** k) for k in range(40)], "one rater"),
        ([(f"r{k % 9}", "p1", "x", "y", (-1) ** k) for k in range(40)], "one prompt"),
        ([(f"r{k % 9}", f"p{k % 7}", "x", "y", 0) for k in range(40)], "ties"),
        ([(f"r{k % 9}", f"p{k % 7}", "x", "y", 3) for k in range(40)], "separated"),
        ([(f"r{k % 9}", f"p{k % 7}", "xv"[k % 2], "yw"[k % 2], (-1) ** (k // 2)) for k in range(60)], "connect"),
        ([(f"r{k}", f"p{k % 7}", "x", "y", (-1) ** k) for k in range(40)], "hardly any rater"),
        ([(f"r{k % 7}", f"p{k}", "x", "y", (-1) ** k) for k in range(40)], "hardly any prompt"),
    ],
)
def test_what_tells_nothing_is_refused(bad: list[Row], said: str) -> None:
    with pytest.raises(PilotError, match=said):
        pilot_components(frame_of(bad))


def test_pairs_on_a_prompt_share_entities_as_often_as_they_should() -> None:
    n = 9
    assert regular(n, n).shared == pytest.approx(2 / (n - 1))  # a tour: each pair has two neighbours
    assert regular(n * (n - 1) / 2, n).shared == pytest.approx(4 / (n + 1))  # all pairs: as by chance
    assert regular(n // 2, n).shared == 0.0  # nobody twice
    tour = regular(n, n)
    assert tour.resized(2 * n, n).shared == pytest.approx(regular(2 * n, n).shared)
    at_random = assumed_components(n, rater_sd=0, prompt_sd=1, pairs_per_prompt=n * (n - 1) / 2).arrangement
    assert at_random.resized(12, n).resized(36, n).shared == pytest.approx(at_random.shared)


def test_a_study_s_own_shares_are_those_of_its_counts() -> None:
    """Busy and idle raters, each taking whole prompts: every pair of them, both ways round."""
    rng = np.random.default_rng(2)
    busy = np.arange(1, 9) / 36
    names = ("x", "y", "z")
    rows = [
        (f"r{r}", f"p{p:02d}", a, b, int(rng.integers(-3, 4)))
        for p in range(30)
        for r in rng.choice(8, 2, replace=False, p=busy)
        for a, b in itertools.combinations(names, 2)
    ]
    found = pilot_components(frame_of(rows))
    assert found.pilot is not None
    assert found.arrangement.uneven_raters > 1.1
    assert found.arrangement.clumping > 1
    shares = found.arrangement.shares(found.pilot.raters, found.pilot.prompts, found.pilot.ratings_per_pair)
    _, _, (problem,) = parts(rows)
    squares = Overlaps.of(problem).squares
    for share, kind in (
        ("raters", "rater"),
        ("prompts", "prompt"),
        ("items", "item"),
        ("units", "unit"),
        ("noise", "self"),
    ):
        assert getattr(shares, share) == pytest.approx(squares[kind] / len(rows) ** 2), share


def test_pairs_that_some_entities_have_more_of_stay_so() -> None:
    lopsided = Arrangement(pairs_per_prompt=9, shared=0.6)
    assert lopsided.resized(20, 9).shared == 0.6


def test_other_numbers_of_pairs_agree_with_assuming_them() -> None:
    tour = assumed_components(8, rater_sd=0.3, prompt_sd=0.6, strengths_sd=0.5)
    more = assumed_components(8, rater_sd=0.3, prompt_sd=0.6, strengths_sd=0.5, pairs_per_prompt=16)
    resized = tour.resized(16)
    for part in PARTS:
        assert getattr(resized, part) == pytest.approx(getattr(more, part), abs=1e-9), part
    assert tour.resized(8) is tour


def test_assumed_information_is_that_of_the_model() -> None:
    """Without effects V is the inverse of the information: 4 (E - 1)² / (2 E) a rating for wins alone at equal strength."""
    n = 6
    found = assumed_components(n, rater_sd=0, prompt_sd=0, thresholds=(0.0,))
    assert np.diag(found.noise) == pytest.approx(np.full(n, 4 * (n - 1) ** 2 / (2 * n)))
    assert not found.raters.any()
    assert not found.prompts.any()
    assert not found.items.any()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"entities": 1}, "entities"),
        ({"rater_sd": -0.1}, "effects"),
        ({"prompt_sd": float("nan")}, "effects"),
        ({"thresholds": (1.0, 0.5)}, "thresholds"),
        ({"thresholds": ()}, "thresholds"),
        ({"pairs_per_prompt": 7.0}, "pairs on a prompt"),
    ],
)
def test_assumptions_that_make_no_study_are_refused(arguments: dict[str, object], said: str) -> None:
    given: dict[str, object] = {"entities": 4, "rater_sd": 0.3, "prompt_sd": 0.5} | arguments
    with pytest.raises(InputError, match=said):
        assumed_components(**given)  # type: ignore[arg-type]
