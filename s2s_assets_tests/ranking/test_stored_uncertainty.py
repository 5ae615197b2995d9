"""What a stored fit tells about its uncertainty, and that votes asked for by it narrow the widest interval."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from s2s_assets.pairing import empty_plan, next_epoch, top_up
from s2s_assets.pairing.narrowing import narrow
from s2s_assets.ranking import (
    ELO_PER_STRENGTH,
    FitSpec,
    bootstrap_boards,
    entity_of,
    fit_boards,
    fits_from_frame,
    fits_to_frame,
    intervals_to_frame,
    stored_uncertainty,
)
from s2s_assets.ranking.uncertainty import UNBOUNDED_VARIANCE
from s2s_assets.study import Uncertainty, generator
from s2s_assets_tests.ranking.cases import CONFIG_BOARD, frame_of, simulated

NAMES = tuple(f"m{k}" for k in range(5))


def stored(ratings, spec=CONFIG_BOARD, resamples=200):
    """The tables of a fit and its draws."""
    fits = fit_boards(ratings, [spec])
    return fits_to_frame(fits), intervals_to_frame(bootstrap_boards(ratings, fits, resamples=resamples, seed=1))


def read(tables, spec=CONFIG_BOARD, names=NAMES):
    return stored_uncertainty(*tables, spec, {name: entity_of(name, spec.by, {}) for name in names})


@pytest.fixture(scope="module")
def tables():
    rows = simulated(700, [1.2, 0.4, 0.1, -0.4, -1.3], rater_sd=0.4, prompt_sd=0.4)
    return stored(frame_of(rows))


def test_the_covariance_is_that_of_the_draws_in_the_fits_order(tables):
    found = read(tables)
    assert isinstance(found, Uncertainty)
    fit, drawn = tables[0].row(0, named=True), tables[1].row(0, named=True)
    assert found.entities == tuple(e["entity"] for e in fit["entities"])
    assert np.allclose(found.covariance, np.cov(np.array(drawn["draws"])), atol=1e-12)
    assert np.allclose(found.covariance.sum(axis=0), 0, atol=1e-12)
    widths = [e["ci_high"] - e["ci_low"] for e in drawn["entities"]]
    normal = 2 * 1.96 * ELO_PER_STRENGTH * np.sqrt(np.diag(found.covariance))
    assert np.allclose(normal, widths, rtol=0.15), "the roots of its diagonal are the published widths"


def test_a_votes_information_is_the_variance_of_its_score(tables):
    """I(d) = E[(∂ log P / ∂d)²], by a difference quotient over all seven scores."""
    found, fit = read(tables), fits_from_frame(tables[0])[0]
    edges = np.array([-t for t in reversed(fit.thresholds)] + list(fit.thresholds))
    strengths = np.array([e.strength for e in fit.entities])

    def shares(d):
        return np.diff(np.concatenate([[0.0], 1 / (1 + np.exp(d - edges)), [1.0]]))

    told = np.zeros((5, 5))
    for i, j in itertools.permutations(range(5), 2):
        d, h = strengths[i] - strengths[j], 1e-5
        slope = (np.log(shares(d + h)) - np.log(shares(d - h))) / (2 * h)
        told[i, j] = (shares(d) * slope**2).sum()
    effect = told[0, 1] / found.information[0, 1]
    assert np.allclose(found.information * effect, told, atol=1e-8)
    assert effect > 1.2, "resamples of raters and prompts are wider than as many independent votes"


def test_as_many_votes_again_halve_a_covariance_that_goes_with_the_information(tables):
    """The design effect makes a vote worth what it is worth to the published intervals."""
    found, drawn = read(tables), tables[1].row(0, named=True)
    where = {name: k for k, name in enumerate(found.entities)}
    asked = np.zeros((5, 5), np.int64)
    for pair in drawn["pairs"]:
        a, b = where[pair["a"]], where[pair["b"]]
        asked[a, b] = asked[b, a] = pair["n"]
    precision = np.diag((asked * found.information).sum(axis=1)) - asked * found.information
    alike = np.linalg.pinv(precision, hermitian=True)
    assert np.trace(alike) == pytest.approx(np.trace(found.covariance), rel=1e-9)
    total = int(np.triu(asked).sum())
    after = narrow(alike, found.information, asked, votes=1, pairs=total, rng=generator("test"))
    assert len(after.ends) == total
    assert np.allclose(after.covariance, alike / 2, atol=1e-12)


def test_an_unbounded_entity_is_the_least_known_of_all():
    rows = simulated(500, [0.8, 0.2, -0.2, -0.8], raters=15)
    lost = [(f"r{k}", f"p{k}", "m4", f"m{k % 4}", -3) for k in range(24)]
    found = read(stored(frame_of(rows + lost)))
    assert isinstance(found, Uncertainty)
    last = found.entities.index("m4")
    assert found.covariance[last, last] == UNBOUNDED_VARIANCE == np.diag(found.covariance).max()
    assert (np.delete(found.covariance[last], last) == 0).all()
    bounded = np.delete(np.delete(found.covariance, last, 0), last, 1)
    assert np.allclose(bounded.sum(axis=0), 0, atol=1e-12), "the rest is centred among itself"
    assert np.isfinite(found.information).all()
    assert (np.delete(found.information[last], last) > 0).all()
    capacity = np.full((5, 5), 9)
    first = narrow(found.covariance, found.information, capacity, votes=2, pairs=3, rng=generator("test"))
    assert (first.ends == last).any(axis=1).all()


def test_what_no_votes_can_be_asked_by_is_said(tables):
    assert "no single ranking warmth/config" in read(tables, FitSpec(rubric="warmth", by="config"))
    apart = [("r1", "p1", "m0", "m1", 1), ("r2", "p2", "m0", "m1", -1)]
    apart += [("r1", "p1", "m2", "m3", 1), ("r2", "p2", "m2", "m3", -2)]
    assert read(stored(frame_of(apart))) == (
        "there is no single ranking overall/config/all/all/all in the last fit: no ratings connect its 2 groups"
    )
    ties = [(f"r{k}", f"p{k}", "m0", "m1", 0) for k in range(9)]
    assert "thresholds" in read(stored(frame_of(ties)))
    rows = simulated(400, [0.5, 0.2, 0.0, -0.2, -0.5])
    few = read(stored(frame_of(rows), resamples=60))
    assert few.startswith("60 resamples of overall/config/all/all/all")
    assert "0 resamples" in read(stored(frame_of(rows), resamples=0))


@pytest.mark.parametrize("strengths", [[-1.3, 0.4, 0.1, -0.4, 1.2], [0.5, 0.0, -0.5]], ids=["other-ranks", "fewer"])
def test_draws_of_another_fit_are_not_taken_for_this_ones(tables, strengths):
    """While a refit runs, `bt_fits` is the new one and `bootstrap_cis` still the last."""
    _, earlier = stored(frame_of(simulated(400, strengths)), resamples=120)
    assert "a refit is under way" in read((tables[0], earlier))


def test_a_draw_without_a_value_leaves_its_resample_out(tables):
    fits, intervals = tables
    draws = [list(row) for row in intervals["draws"][0]]
    draws[2][5], draws[3][7] = None, np.inf
    changed = intervals.with_columns(pl.Series("draws", [draws], dtype=intervals["draws"].dtype))
    found = read((fits, changed))
    kept = np.delete(np.array(intervals["draws"][0].to_list()), [5, 7], axis=1)
    assert np.allclose(found.covariance, np.cov(kept), atol=1e-12)


def test_an_entity_whose_interval_has_no_end_has_no_covariance_with_the_rest(tables):
    fits, intervals = tables
    draws = np.array(intervals["draws"][0].to_list())
    draws[4, :11] = -np.inf
    changed = intervals.with_columns(pl.Series("draws", [draws.tolist()], dtype=intervals["draws"].dtype))
    found = read((fits, changed))
    rest = draws[:4] - draws[:4].mean(axis=0)
    assert np.allclose(found.covariance[:4, :4], np.cov(rest), atol=1e-12), "centred among those that have an end"
    assert found.covariance[4].tolist() == [0, 0, 0, 0, UNBOUNDED_VARIANCE]


MODELS = {"aria": 3, "bolt": 2, "cedar": 1, "delta": 2, "ember": 1}
TRUTH = {"aria": 0.9, "bolt": 0.4, "cedar": 0.1, "delta": -0.3, "ember": -1.1}
KEYS = [f"{model}|v{k}|none" for model, n in MODELS.items() for k in range(n)]
BY_MODEL = FitSpec(by="model")


def cells(prompts):
    rows = [(f"p{p:02d}", key, f"{p}-{key}", f"c{p % 3}", "L1", "clean") for p in range(prompts) for key in KEYS]
    columns = ["prompt", "config", "response_id", "category", "level", "acoustic"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def vote(rows, study, raters=24):
    """Votes on a plan's slots from the planted truth, with effects of raters and of responses."""

    def effect(sd, *names):
        seed = int.from_bytes(hashlib.sha256(repr((study, *names)).encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(0, sd)

    def felt(rater, prompt, config):
        model = config.split("|")[0]
        return TRUTH[model] + effect(0.3, rater, model) + effect(0.4, prompt, config)

    rng, votes = np.random.default_rng(study), []
    for prompt, a, b in rows.select("prompt", "config_a", "config_b").iter_rows():
        rater = f"r{rng.integers(raters)}"
        gap = felt(rater, prompt, a) - felt(rater, prompt, b) + rng.logistic()
        votes.append((rater, prompt, a, b, int(np.sign(gap) * sum(abs(gap) > t for t in (0.45, 1.6, 3.0)))))
    return frame_of(votes)


def widest(ratings):
    """The widest bootstrap interval and the widest of the sandwich, in Elo."""
    fits = fit_boards(ratings, [BY_MODEL])
    [drawn] = bootstrap_boards(ratings, fits, resamples=300, seed=2)
    return np.array(
        [
            max(e.ci_high - e.ci_low for e in drawn.entities),
            max(e.sandwich_high - e.sandwich_low for e in drawn.entities),
        ]
    )


def test_the_widest_interval_shrinks_more_than_by_as_many_balanced_votes():
    ratios = []
    for study in range(6):
        at = cells(24)
        plan = next_epoch(None, at, (), study=f"s{study}", slots=2, units=1)
        votes = vote(plan, study)
        uncertainty = read(stored(votes, BY_MODEL, 300), BY_MODEL, KEYS)
        n = plan["pair"].n_unique() // 4
        asked = top_up(plan, empty_plan(), at, (), uncertainty, study="s", number=1, slots=2, pairs=n).rows
        even = replace(uncertainty, entities=tuple(KEYS), covariance=np.eye(len(KEYS)) - 1 / len(KEYS))
        even = replace(even, information=np.ones((len(KEYS), len(KEYS))), entity_of={key: key for key in KEYS})
        balanced = top_up(plan, empty_plan(), at, (), even, study="s", number=1, slots=2, pairs=n).rows
        assert asked.height == balanced.height == 2 * n
        adaptive, beside = (widest(pl.concat([votes, vote(more, 100 + study)])) for more in (asked, balanced))
        ratios.append(adaptive / beside)
    bootstrap, sandwich = np.mean(ratios, axis=0)
    assert bootstrap < 0.92
    assert sandwich < 0.97
