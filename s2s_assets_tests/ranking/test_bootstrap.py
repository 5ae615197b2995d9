"""Resampling against a plain loop, its invariances, and what is said where a resample has no finite value."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import BoardIntervals, FitSpec, bootstrap_boards, fit_boards
from s2s_assets.ranking.bootstrap import resample
from s2s_assets.ranking.draws import Draws, draw
from s2s_assets.ranking.fits import prepare
from s2s_assets.ranking.intervals import percentile_ends
from s2s_assets.ranking.kernel import Counter
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, Row, frame_of, parts, reference_rows, simulated

B = 60


def intervals_of(rows: Sequence[Row], resamples: int = B, seed: int = 0) -> tuple[BoardIntervals, ...]:
    frame = frame_of(rows)
    return bootstrap_boards(frame, fit_boards(frame, [CONFIG_BOARD]), resamples=resamples, seed=seed)


def drawn(rows: Sequence[Row], draws: Draws, block: int = 128) -> dict[str, np.ndarray]:
    """Entity → its strength in each resample."""
    coded, selection, _ = parts(rows)
    boards = prepare(CONFIG_BOARD, selection, coded, {})
    found = resample(selection, boards, draws, block=block)
    return {
        e: row
        for b, values in zip(boards, found, strict=True)
        for e, row in zip(b.problem.entities, values, strict=True)
    }


def draws_of(rows: Sequence[Row], resamples: int = B, seed: int = 0) -> Draws:
    coded, _, _ = parts(rows)
    return draw(len(coded.raters), len(coded.prompts), resamples, seed)


def plain_loop(rows: Sequence[Row], draws: Draws) -> dict[str, np.ndarray]:
    """Every resample as a file of repeated rows with a fit of its own, anchored by hand; connected resamples only."""
    raters, prompts = sorted({r[0] for r in rows}), sorted({r[1] for r in rows})
    (full,) = fit_boards(frame_of(rows), [CONFIG_BOARD])
    base = {e.entity: e.strength for e in full.entities}
    result = {name: np.full(draws.resamples, np.nan) for name in base}
    side = {"above": np.inf, "below": -np.inf}
    for b in range(draws.resamples):
        of_rater = dict(zip(raters, draws.raters[:, b].tolist(), strict=True))
        of_prompt = dict(zip(prompts, draws.prompts[:, b].tolist(), strict=True))
        repeated = [row for row in rows for _ in range(of_rater[row[0]] * of_prompt[row[1]])]
        fits = fit_boards(frame_of(repeated), [CONFIG_BOARD])
        largest = max(fits, key=lambda f: (len(f.entities), f.n_ratings))
        finite = {e.entity: e.strength for e in largest.entities if e.strength is not None}
        both = [name for name in finite if base[name] is not None]
        shift = float(np.mean([base[n] - finite[n] for n in both])) if both else 0.0  # type: ignore[operator]
        for e in largest.entities:
            result[e.entity][b] = side[e.bound] if e.bound else np.nan if e.strength is None else e.strength + shift
    return result


def assert_same_draws(left: dict[str, np.ndarray], right: dict[str, np.ndarray], tolerance: float = 1e-7) -> None:
    assert left.keys() == right.keys()
    for name, values in left.items():
        np.testing.assert_allclose(values, right[name], atol=tolerance, err_msg=name)


@pytest.mark.parametrize("name", ["six", "sparse8", "hard_unused_pm2", "hard_only_pm3", "hard_single_plus1"])
def test_equals_a_plain_loop_over_repeated_rows(name: str) -> None:
    rows = reference_rows(name)
    draws = draws_of(rows)
    assert_same_draws(drawn(rows, draws), plain_loop(rows, draws))


@pytest.mark.parametrize("name", ["hard_separation_always_plus3", "hard_single_plus3"])
def test_equals_a_plain_loop_where_the_data_are_separated(name: str) -> None:
    rows = reference_rows(name)
    draws = draws_of(rows, 30)
    fast, slow = drawn(rows, draws), plain_loop(rows, draws)
    assert_same_draws(fast, slow)
    assert np.isposinf(fast["m6"]).any()


@pytest.mark.parametrize("heaviest", [3, 200])
def test_counts_equal_a_sum_over_rows(heaviest: int) -> None:
    """With 200 × 200, two ratings of a cell are more than 16 bits hold."""
    rows = simulated(5000, [0.5, 0.2, 0.0, -0.7], raters=7, prompts=11)
    _, selection, _ = parts(rows)
    rng = np.random.default_rng(3)
    draws = Draws(*(rng.integers(0, heaviest, (size, 9), np.uint16, endpoint=True) for size in (7, 11)))
    weights = draws.raters[selection.rater].astype(int) * draws.prompts[selection.prompt]
    plain = np.stack([np.bincount(selection.cell, weights[:, b], minlength=selection.cells) for b in range(9)], axis=1)
    np.testing.assert_array_equal(Counter.of(selection, draws).count(slice(0, 9)), plain)


def test_draws_are_those_of_the_stated_streams() -> None:
    draws = draw(5, 8, 3, seed=42)
    for factor, size, found in (("rater", 5, draws.raters), ("prompt", 8, draws.prompts)):
        digest = hashlib.sha256(f"42\0{factor}".encode()).digest()
        stream = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
        for b in range(3):
            np.testing.assert_array_equal(found[:, b], np.bincount(stream.integers(size, size=size), minlength=size))
    longer = draw(5, 8, 10, seed=42)
    np.testing.assert_array_equal(longer.raters[:, :3], draws.raters)
    assert (draw(5, 8, 3, seed=43).raters != draws.raters).any()


@pytest.mark.parametrize("name", ["six", "sparse8", "hard_threshold_separation", "hard_single_plus1"])
@pytest.mark.parametrize("block", [1, 7, 39, 1000])
def test_block_size_does_not_matter(name: str, block: int) -> None:
    rows = reference_rows(name)
    draws = draws_of(rows, 40)
    found, expected = drawn(rows, draws, block), drawn(rows, draws, 2)
    for entity, values in found.items():
        np.testing.assert_array_equal(values, expected[entity])


def digest_of_boards() -> str:
    """SHA-256 of all numbers of boards whose matrices BLAS would cut up on several threads, and of some it would not."""
    digest = hashlib.sha256()
    for n in (11, 12, 13, 19, 120):
        strengths = np.random.default_rng(n).normal(0, 0.7, n).tolist()
        frame = frame_of(simulated(60 * n, strengths, rater_sd=0.3, prompt_sd=0.4))
        fits = fit_boards(frame, [CONFIG_BOARD])
        (found,) = bootstrap_boards(frame, fits, resamples=130 if n < 100 else 10)
        digest.update(repr((fits, found.entities)).encode() + found.draws.tobytes())
    return digest.hexdigest()


def test_the_number_of_threads_does_not_matter() -> None:
    code = "from s2s_assets_tests.ranking.test_bootstrap import digest_of_boards; print(digest_of_boards())"
    threads = [{"OPENBLAS_NUM_THREADS": n, "POLARS_MAX_THREADS": n} for n in ("1", "2")]
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **given}, capture_output=True, check=True
        ).stdout
        for given in threads
    }
    assert len(said) == 1


def test_order_of_rows_does_not_matter() -> None:
    rows = reference_rows("six")
    shuffled = random.Random(5).sample(rows, len(rows))
    left, right = intervals_of(rows), intervals_of(shuffled)
    assert left[0].entities == right[0].entities
    assert left[0].pairs == right[0].pairs
    np.testing.assert_array_equal(left[0].draws, right[0].draws)


def test_other_boards_and_rubrics_see_the_same_draws() -> None:
    rows = reference_rows("six")
    one = frame_of(rows)
    two = pl.concat([one, frame_of(rows, "clarity")])
    alone = bootstrap_boards(one, fit_boards(one, [CONFIG_BOARD]), resamples=B)
    specs = [CONFIG_BOARD, FitSpec("clarity", "config")]
    both = bootstrap_boards(two, fit_boards(two, specs), resamples=B)
    np.testing.assert_array_equal(alone[0].draws, both[0].draws)
    np.testing.assert_array_equal(both[0].draws, both[1].draws)


def test_hash_seed_does_not_matter() -> None:
    code = (
        "from s2s_assets_tests.ranking.test_bootstrap import intervals_of, reference_rows;"
        "print(repr(intervals_of(reference_rows('six'), 20)[0].entities))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_estimates_lie_in_their_intervals_and_ranks_in_their_ranges() -> None:
    rows = simulated(3000, [0.8, 0.3, 0.0, -0.3, -0.8], rater_sd=0.3, prompt_sd=0.4)
    frame = frame_of(rows)
    (fit,) = fit_boards(frame, [CONFIG_BOARD])
    (found,) = bootstrap_boards(frame, [fit], resamples=300)
    for e, i in zip(fit.entities, found.entities, strict=True):
        assert e.entity == i.entity
        assert i.ci_low < e.elo < i.ci_high  # type: ignore[operator]
        assert i.rank_low <= e.rank <= i.rank_high  # type: ignore[operator]
        assert i.sandwich_low < e.elo < i.sandwich_high  # type: ignore[operator]
        assert i.valid_resamples == 300
        assert i.bound is None
    by_name = {e.entity: e.elo for e in fit.entities}
    for p in found.pairs:
        assert p.a < p.b
        assert p.difference == pytest.approx(by_name[p.a] - by_name[p.b])  # type: ignore[operator]
        assert p.ci_low < p.difference < p.ci_high  # type: ignore[operator]
    assert len(found.pairs) == 10
    assert sum(p.n for p in found.pairs) == 3000


def test_no_resamples_leave_the_sandwich() -> None:
    (found,) = intervals_of(reference_rows("six"), 0)
    for e in found.entities:
        assert (e.ci_low, e.ci_high, e.rank_low, e.rank_high, e.valid_resamples) == (None, None, None, None, 0)
        assert e.se_sandwich is not None
    assert found.draws.shape == (6, 0)
    assert all(p.ci_low is None and p.difference is not None for p in found.pairs)


def test_an_entity_that_most_resamples_lose_has_no_interval_but_a_wide_rank_range() -> None:
    """37 % of resamples drop the one rater, and 37 % the one prompt, of m6's single rating."""
    frame = frame_of(reference_rows("hard_single_plus1"))
    (fit,) = fit_boards(frame, [CONFIG_BOARD])
    (found,) = bootstrap_boards(frame, [fit], resamples=400)
    lost = next(e for e in found.entities if e.entity == "m6")
    assert 0.3 < lost.valid_resamples / 400 < 0.5
    assert (lost.ci_low, lost.ci_high) == (None, None)
    assert (lost.rank_low, lost.rank_high) == (1, 6)
    others = [e for e in found.entities if e.entity != "m6"]
    assert all(e.ci_low is not None and e.valid_resamples == 400 for e in others)


def test_losing_a_top_entity_does_not_move_the_others() -> None:
    """Centred on those present instead, the others would rise by a fifth of the top's strength, 0.6."""
    rows = [r for r in simulated(1500, [3.0, 0.4, 0.1, -0.1, -0.4], prompts=10) if "m0" not in r]
    top = simulated(400, [3.0, 0.4, 0.1, -0.1, -0.4], prompts=10, seed=2)
    rows += [("only", *r[1:]) for r in top if "m0" in r]
    found = drawn(rows, draws_of(rows, 300))
    lost = np.isnan(found["m0"])
    assert 0.2 < lost.mean() < 0.5
    for name in ("m1", "m2", "m3", "m4"):
        assert abs(found[name][lost].mean() - found[name][~lost].mean()) < 0.1


def test_of_a_split_resample_the_part_with_most_entities_has_values() -> None:
    """A and B have most ratings, but a resample without the one rating of B against C leaves them outside."""
    scores = [1, -1, 2, 0, -2]
    rows: list[Row] = [(f"r{k % 20}", f"p{k % 19}", "A", "B", scores[k % 5]) for k in range(240)]
    rows += [(f"r{k % 20}", f"p{k % 19}", *pair, scores[k % 4]) for k in range(40) for pair in (("C", "D"), ("D", "E"))]
    rows += [("bridge", "p1", "B", "C", 1)]
    found = drawn(rows, draws_of(rows, 200))
    lost = np.isnan(found["A"])
    assert 0.2 < lost.mean() < 0.7
    np.testing.assert_array_equal(lost, np.isnan(found["B"]))
    assert not any(np.isnan(found[name]).any() for name in "CDE")


def test_separated_entities_have_no_interval_and_the_rest_have_theirs() -> None:
    (found,) = intervals_of(reference_rows("hard_separation_always_plus3"), 200)
    top, *rest = found.entities
    assert (top.entity, top.ci_low, top.ci_high, top.se_sandwich) == ("m6", None, None, None)
    assert (top.rank_low, top.rank_high) == (1, 1)
    assert all(e.ci_low is not None and e.ci_high is not None for e in rest)
    assert all(p.difference is None and p.ci_low is None for p in found.pairs if p.b == "m6")


@pytest.mark.parametrize(
    ("scores", "sides"),
    [([("A", "B", 3)] * 3, [1, -1]), ([("A", "B", 2), ("B", "C", 2)] * 2, [1, 0, -1])],
    ids=["two entities", "a ladder"],
)
def test_of_data_in_which_everything_is_unbounded_only_ranks_are_resampled(
    scores: list[tuple[str, str, int]], sides: list[int]
) -> None:
    """The limit fit keeps no term at all, so there is nothing that a Newton step could divide by."""
    rows: list[Row] = [(f"r{k % 2}", f"p{k % 3}", *row) for k, row in enumerate(scores)]
    (found,) = intervals_of(rows, 60)
    names = [e.entity for e in found.entities]
    assert names == sorted(names)
    for entity, side, values in zip(found.entities, sides, found.draws, strict=True):
        assert (entity.ci_low, entity.ci_high, entity.se_sandwich) == (None, None, None)
        assert set(values[~np.isnan(values)]) == ({side * np.inf} if side else set())
        assert entity.valid_resamples == (~np.isnan(values)).sum()
    assert all(p.difference is None and p.ci_low is None for p in found.pairs)


def test_an_infinite_end_is_missing_and_named() -> None:
    """Few ratings: the full data have a finite fit, but many resamples separate the best entity."""
    rows = [(f"r{k}", f"p{k % 5}", "m1", "m2", y) for k, y in enumerate([3, 3, 3, 3, 3, 3, 3, 2, 1, 3])]
    rows += [(f"r{k}", f"p{k % 5}", "m2", "m3", y) for k, y in enumerate([1, -1, 2, -2, 1, 0, -1, 2, -3, 3])]
    frame = frame_of(rows)
    (fit,) = fit_boards(frame, [CONFIG_BOARD])
    (found,) = bootstrap_boards(frame, [fit], resamples=300)
    best = found.entities[0]
    assert fit.status == "ok"
    assert best.entity == "m1"
    assert best.valid_resamples >= 285
    assert best.ci_low is not None
    assert best.ci_high is None
    assert best.bound == "above"


def test_all_ties_have_no_interval() -> None:
    (found,) = intervals_of(reference_rows("hard_all_ties"))
    assert all(e.ci_low is None and e.ci_high is None and e.se_sandwich is None for e in found.entities)
    assert all(p.ci_low is None for p in found.pairs)


def test_components_are_resampled_by_themselves() -> None:
    first, second = intervals_of(reference_rows("hard_disconnected"))
    assert [e.entity for e in first.entities] == ["m1", "m2", "m3"]
    assert {e.entity for e in second.entities} == {"m4", "m5"}


@pytest.mark.parametrize(("column", "word"), [(0, "one rater"), (1, "one prompt")])
def test_one_cluster_gives_no_sandwich_and_a_reason(column: int, word: str) -> None:
    rows = [tuple("only" if k == column else v for k, v in enumerate(r)) for r in reference_rows("six")]
    (found,) = intervals_of(rows, 20)  # type: ignore[arg-type]
    assert all(e.se_sandwich is None and e.sandwich_low is None for e in found.entities)
    assert found.reason is not None
    assert word in found.reason


def test_doubling_every_rating_does_not_shrink_a_clustered_interval() -> None:
    rows = simulated(600, [0.6, 0.0, -0.6], rater_sd=0.4)
    once, twice = intervals_of(rows, 200)[0], intervals_of(rows * 2, 200)[0]
    for left, right in zip(once.entities, twice.entities, strict=True):
        assert left.ci_low == pytest.approx(right.ci_low, abs=1e-4)
        assert left.ci_high == pytest.approx(right.ci_high, abs=1e-4)
        assert left.se_sandwich == pytest.approx(right.se_sandwich, rel=1e-6)


def test_percentiles_with_missing_and_infinite_values() -> None:
    values = np.arange(1000.0)
    low, high = np.quantile(values, [0.025, 0.975])
    infinite = values.copy()
    infinite[-100:] = np.inf
    few = values.copy()
    few[:51] = np.nan
    enough = values.copy()
    enough[:50] = np.nan
    ends, valid = percentile_ends(np.stack([values, infinite, few, enough, np.full(1000, -np.inf)]))
    np.testing.assert_allclose(ends[0], [low, high])
    np.testing.assert_allclose(ends[1], [low, np.inf])
    assert np.isnan(ends[2]).all()
    np.testing.assert_allclose(ends[3], np.quantile(enough[50:], [0.025, 0.975]))
    np.testing.assert_array_equal(ends[4], [-np.inf, -np.inf])
    assert valid.tolist() == [1000, 1000, 949, 950, 1000]
