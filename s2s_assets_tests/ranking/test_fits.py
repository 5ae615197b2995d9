"""The fit against a plain twin on rows, and what must not change it."""

import itertools
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.ranking import BoardFit, FitSpec, fit_boards, fit_strengths
from s2s_assets.ranking.coding import code_ratings
from s2s_assets.study import ConfigKeyError, InputError
from s2s_assets_tests.ranking import twin
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, Row, frame_of, reference_rows, rows_of_ratings, simulated

relaxed = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def fit_rows(rows: list[Row], spec: FitSpec = CONFIG_BOARD) -> tuple[BoardFit, ...]:
    return fit_boards(frame_of(rows), [spec])


def values(fit: BoardFit) -> dict[str, float | None]:
    return {e.entity: e.strength for e in fit.entities}


def assert_same(left: dict[str, float | None], right: dict[str, float | None]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert (value is None) == (right[name] is None)
        assert value == pytest.approx(right[name], abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_general_optimizer_on_the_rows(seed: int) -> None:
    rows = simulated(300, [0.9, 0.2, 0.0, -1.1], seed=seed)
    (fit,) = fit_rows(rows)
    s, t = twin.fit(rows)
    assert values(fit) == pytest.approx(s, abs=1e-5)
    assert fit.thresholds == pytest.approx(tuple(t), abs=1e-5)
    assert fit.log_likelihood == pytest.approx(twin.log_likelihood(rows, s, t), abs=1e-7)


@pytest.mark.parametrize("keep", [{0, 1}, {1, 2}, {2}, {0, 2, 3}, {1, 3}])
def test_unused_scores_are_merged_as_in_the_twin(keep: set[int]) -> None:
    rows = [r for r in simulated(900, [0.6, 0.1, -0.7], seed=4) if abs(r[4]) in keep]
    (fit,) = fit_rows(rows)
    s, t = twin.fit(rows)
    assert fit.merged_scores == tuple(k for k in range(4) if k not in keep)
    assert values(fit) == pytest.approx(s, abs=1e-5)
    assert fit.thresholds == pytest.approx(tuple(t), abs=1e-5)


@given(rows_of_ratings)
@relaxed
def test_every_fit_is_a_maximum_or_says_why_not(rows: list[Row]) -> None:
    """A finite fit cannot be improved by moving any strength; others are centred and carry a reason."""
    for fit in fit_rows(rows):
        found = values(fit)
        known = [s for s in found.values() if s is not None]
        assert abs(sum(known)) < 1e-8
        assert (fit.status == "ok") == (fit.reason is None)
        if fit.status != "ok" or not known:
            continue
        strengths = {k: v for k, v in found.items() if v is not None}
        thresholds = [t for t in fit.thresholds if t is not None]
        best = twin.log_likelihood(rows, strengths, thresholds)
        assert fit.log_likelihood == pytest.approx(best, abs=1e-8)
        for name, step in itertools.product(strengths, (-1e-3, 1e-3)):
            assert twin.log_likelihood(rows, strengths | {name: strengths[name] + step}, thresholds) < best + 1e-9


@given(rows_of_ratings)
@relaxed
def test_swapping_both_sides_of_every_row_changes_nothing(rows: list[Row]) -> None:
    swapped = [(r, p, b, a, -y) for r, p, a, b, y in rows]
    for left, right in zip(fit_rows(rows), fit_rows(swapped), strict=True):
        assert_same(values(left), values(right))


@given(rows_of_ratings)
@relaxed
def test_turning_every_score_turns_the_ranking(rows: list[Row]) -> None:
    turned = [(r, p, a, b, -y) for r, p, a, b, y in rows]
    for left, right in zip(fit_rows(rows), fit_rows(turned), strict=True):
        assert left.status == right.status
        mirrored = {k: None if v is None else -v for k, v in values(right).items()}
        assert_same(values(left), mirrored)
        side = {"above": "below", "below": "above", None: None}
        assert {e.entity: e.bound for e in left.entities} == {e.entity: side[e.bound] for e in right.entities}


@given(rows_of_ratings, st.randoms(use_true_random=False))
@relaxed
def test_order_of_rows_changes_nothing_at_all(rows: list[Row], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    assert fit_rows(rows) == fit_rows(shuffled)


@given(rows_of_ratings)
@relaxed
def test_other_names_change_nothing_but_names(rows: list[Row]) -> None:
    renamed = {"m1": "z", "m2": "a", "m3": "k", "m4": "b"}
    other = [(r, p, renamed[a], renamed[b], y) for r, p, a, b, y in rows]
    left = {renamed[k]: v for fit in fit_rows(rows) for k, v in values(fit).items()}
    right = {k: v for fit in fit_rows(other) for k, v in values(fit).items()}
    assert_same(left, right)


@given(rows_of_ratings)
@relaxed
def test_doubling_every_row_doubles_the_likelihood_and_nothing_else(rows: list[Row]) -> None:
    for once, twice in zip(fit_rows(rows), fit_rows(rows * 2), strict=True):
        assert_same(values(once), values(twice))
        assert once.log_likelihood is not None
        assert twice.log_likelihood == pytest.approx(2 * once.log_likelihood, abs=1e-7)


def test_an_unrelated_component_changes_no_contrast() -> None:
    rows = simulated(200, [0.5, 0.0, -0.5])
    foreign = [("r1", "p1", "x1", "x2", y) for y in (3, 1, -2, 0)]
    alone, together = fit_rows(rows), fit_rows(rows + foreign)
    assert_same(values(alone[0]), values(together[0]))
    assert together[0].status == "disconnected"


def test_a_known_truth_is_recovered() -> None:
    truth = np.array([1.2, 0.5, 0.1, -0.6, -1.2])
    (fit,) = fit_rows(simulated(60_000, truth.tolist(), raters=200, prompts=500))
    found = np.array([values(fit)[f"m{k}"] for k in range(5)], float)
    np.testing.assert_allclose(found, truth - truth.mean(), atol=0.05)
    np.testing.assert_allclose(np.array(fit.thresholds, float), [0.4, 1.4, 2.6], atol=0.05)


def test_equal_strengths_share_a_rank() -> None:
    rows = [
        ("r1", "p1", "m1", "m2", 1),
        ("r1", "p1", "m2", "m1", 1),
        ("r1", "p1", "m1", "m3", 2),
        ("r1", "p1", "m2", "m3", 2),
    ]
    rows += [("r2", "p2", "m1", "m3", -1), ("r2", "p2", "m2", "m3", -1)]
    (fit,) = fit_rows(rows)
    assert [(e.entity, e.rank) for e in fit.entities] == [("m1", 1), ("m2", 1), ("m3", 3)]


@pytest.mark.parametrize(
    ("rows", "bounds", "groups"),
    [
        pytest.param([("A", "B", 3)], {"A": "above", "B": "below"}, "{A} above {B}", id="one rating, no largest group"),
        pytest.param(
            [("A", "B", 3), ("B", "C", 3)],
            {"A": "above", "B": None, "C": "below"},
            "{A} above {B} above {C}",
            id="chain",
        ),
        pytest.param(
            [("A", "C", 3), ("B", "C", 3), ("C", "D", 1), ("D", "C", 1)],
            {"A": "above", "B": "above", "C": None, "D": None},
            "{A} above {B} above {C, D}",
            id="two above, never compared",
        ),
    ],
)
def test_groups_of_separated_data(rows: list[tuple[str, str, int]], bounds: dict[str, str | None], groups: str) -> None:
    (fit,) = fit_rows([(f"r{k}", "p", *row) for k, row in enumerate(rows)])
    assert fit.status == "separated"
    assert {e.entity: e.bound for e in fit.entities} == bounds
    assert fit.reason is not None
    assert groups in fit.reason


def test_one_inner_rating_bounds_an_entity_on_both_sides() -> None:
    (fit,) = fit_rows(reference_rows("hard_single_plus1"))
    assert fit.status == "ok"


def pooled(by: str, families: dict[str, str] | None = None) -> dict[str, int]:
    rows = [
        ("r1", "p1", "x|f|low", "x|m|low", 1),  # within one model
        ("r1", "p1", "x|f|low", "y|f|none", 2),
        ("r2", "p2", "y|f|none", "x|m|high", -1),
        ("r2", "p2", "z|f|none", "y|f|none", 0),
        ("r2", "p1", "x|f|high", "z|f|none", -1),
    ]
    fits = fit_boards(frame_of(rows), [FitSpec(by=by)], families)  # type: ignore[arg-type]
    assert len({f.n_within for f in fits}) == 1
    return {e.entity: e.n_ratings for f in fits for e in f.entities} | {"within": fits[0].n_within}


def test_configs_are_pooled_by_their_key() -> None:
    assert pooled("config")["within"] == 0
    assert pooled("model") == {"x": 3, "y": 3, "z": 2, "within": 1}
    assert pooled("voice") == {"x|f": 3, "x|m": 2, "y|f": 3, "z|f": 2, "within": 0}
    assert pooled("thinking") == {"x|low": 1, "x|high": 2, "y|none": 3, "z|none": 2, "within": 1}
    assert pooled("family", {"x": "X", "y": "Y", "z": "Y"}) == {"X": 3, "Y": 3, "within": 2}


@pytest.mark.parametrize("by", ["model", "family"])
def test_pooled_counts_equal_a_file_of_the_entities_themselves(by: str) -> None:
    """Names that sort one way as configs and the other way as entities: `gpt-2|…` < `gpt|…`, families backwards."""
    rows = simulated(400, [0.7, 0.3, 0.0, -0.2, -0.8], seed=3)
    model = {"m0": "gpt", "m1": "gpt", "m2": "gpt-2", "m3": "z", "m4": "a"}
    families = {"gpt": "D", "gpt-2": "E", "z": "A", "a": "Z"}
    entity = {c: m if by == "model" else families[m] for c, m in model.items()}
    keyed = [(r, p, f"{model[a]}|{a}|none", f"{model[b]}|{b}|none", y) for r, p, a, b, y in rows]
    plain = [(r, p, entity[a], entity[b], y) for r, p, a, b, y in rows if entity[a] != entity[b]]
    (pooled_fit,) = fit_boards(frame_of(keyed), [FitSpec(by=by)], families)  # type: ignore[arg-type]
    (by_name,) = fit_rows(plain)
    assert pooled_fit.entities == by_name.entities
    assert pooled_fit.n_within == len(rows) - len(plain)


def test_a_name_that_is_no_config_key_or_has_no_family_is_named() -> None:
    with pytest.raises(ConfigKeyError, match="'m1'"):
        fit_rows([("r", "p", "m1", "m2", 1)], FitSpec(by="model"))
    with pytest.raises(InputError, match="model 'x' has no family"):
        fit_rows([("r", "p", "x|v|none", "y|v|none", 1)], FitSpec(by="family"))


def test_excluded_answers_never_count() -> None:
    rows = simulated(300, [0.5, 0.0, -0.5])
    marked = frame_of(rows).with_columns(excluded_by=pl.Series(["rule" if k % 3 == 0 else None for k in range(300)]))
    kept = frame_of([row for k, row in enumerate(rows) if k % 3])
    assert fit_boards(marked, [CONFIG_BOARD]) == fit_boards(kept, [CONFIG_BOARD])


def test_variants_leave_out_flagged_raters_and_adaptive_votes() -> None:
    rows = simulated(400, [0.5, 0.0, -0.5])
    source = ["adaptive" if k % 4 == 0 else "baseline" for k in range(400)]
    frame = frame_of(rows).with_columns(source=pl.Series(source))
    cleaned, baseline = (FitSpec(by="config", variant=v) for v in ("cleaned", "baseline"))
    fits = fit_boards(frame, [cleaned, baseline], dropped_raters=frozenset({"r1", "r2"}))
    without_raters = fit_rows([r for r in rows if r[0] not in {"r1", "r2"}])
    without_adaptive = fit_rows([r for k, r in enumerate(rows) if k % 4])
    assert fits[0].entities == without_raters[0].entities
    assert fits[1].entities == without_adaptive[0].entities


def test_rubrics_of_a_cluster_share_strengths_and_keep_their_thresholds() -> None:
    """Two rubrics with the same strengths and quite different use of the scale."""
    truth = [0.8, 0.1, -0.9]
    timid = frame_of(simulated(20_000, truth, thresholds=(1.5, 3.0, 4.5), seed=5), "timid")
    bold = frame_of(simulated(20_000, truth, thresholds=(0.2, 0.6, 1.2), seed=6), "bold")
    (fit,) = fit_boards(pl.concat([timid, bold]), [FitSpec("both", "config", members=("timid", "bold"))])
    assert fit.spec.rubric == "both"
    np.testing.assert_allclose(np.array([values(fit)[f"m{k}"] for k in range(3)], float), truth, atol=0.05)
    np.testing.assert_allclose(np.array(fit.thresholds, float), [1.5, 3.0, 4.5, 0.2, 0.6, 1.2], atol=0.15)


def test_strengths_alone_are_those_of_the_board() -> None:
    for name in ("six", "hard_disconnected", "hard_single_plus3"):
        frame = frame_of(reference_rows(name))
        boards, alone = fit_boards(frame, [CONFIG_BOARD]), fit_strengths(frame, CONFIG_BOARD)
        assert [(b.status, {e.entity: e.strength for e in b.entities}, b.thresholds) for b in boards] == [
            (a.status, a.strengths, a.thresholds) for a in alone
        ]


@pytest.mark.parametrize("n", [2, 300])
def test_names_may_be_text_categories_or_numbers(n: int) -> None:
    """So many names that some share a place in the index of hashes, too."""
    rng = np.random.default_rng(n)
    a = rng.integers(0, n, 3000)
    b = (a + rng.integers(1, n, 3000)) % n
    numbers = frame_of([("r", "p", "a", "b", int(y)) for y in rng.integers(-3, 4, 3000)]).with_columns(
        config_a=pl.Series(a), config_b=pl.Series(b)
    )
    names = numbers.with_columns(pl.col("config_a", "config_b").cast(pl.String))
    categories = names.with_columns(pl.col("config_a", "config_b").cast(pl.Categorical))
    coded = [code_ratings(frame) for frame in (names, numbers, categories)]
    for found in coded:
        assert found.configs == tuple(sorted(map(str, range(n))))
        assert [found.configs[k] for k in found.a] == names["config_a"].to_list()
        assert [found.configs[k] for k in found.b] == names["config_b"].to_list()
