import dataclasses
import itertools

import numpy as np
import polars as pl
import pytest

from s2s_assets.ranking import FitSpec, bootstrap_boards, fit_boards, split_half_strengths
from s2s_assets.rubrics import (
    CLUSTERS_SCHEMA,
    METHOD_VERSION,
    adjusted_rand_index,
    cluster_names,
    cluster_study,
    clusters_from_frame,
    clusters_to_frame,
    profiles,
)

GROUPS = {
    "warmth": "Humanness",
    "natural": "Humanness",
    "tone": "Humanness",
    "sound": "Technical",
    "clean": "Technical",
    "steady": "Technical",
}
FAMILIES = {f"m{k}": f"f{min(k, 4)}" for k in range(6)}


def study_ratings(seed=0, n_raters=14, n_prompts=60):
    """Answers of raters to six rubrics about six models: one axis, and a profile for each group."""
    rng = np.random.default_rng(seed)
    profile = {"Humanness": np.array([0.7, -0.7, 0, 0.7, -0.7, 0]), "Technical": np.array([-0.7, 0.7, 0.7, -0.7, 0, 0])}
    quality = np.linspace(-2, 2, 6)
    p, r = (x.ravel() for x in np.meshgrid(np.arange(n_prompts), np.arange(n_raters), indexing="ij"))
    frames = []
    for rubric, group in GROUPS.items():
        draw = np.random.default_rng(1)
        a = draw.integers(6, size=len(p))
        b = (a + draw.integers(1, 6, size=len(p))) % 6
        latent = (quality + profile[group])[a] - (quality + profile[group])[b] + rng.logistic(size=len(p))
        score = np.sign(latent) * np.digitize(np.abs(latent), [0.4, 1.4, 2.8])
        frames.append(
            pl.DataFrame(
                {
                    "prompt": [f"p{k:02d}" for k in p],
                    "rater": [f"r{k:02d}" for k in r],
                    "rubric": rubric,
                    "config_a": [f"m{k}|v|none" for k in a],
                    "config_b": [f"m{k}|v|none" for k in b],
                    "score": score.astype(int),
                }
            )
        )
    return pl.concat(frames)


SPECS = tuple(FitSpec(rubric, "family") for rubric in GROUPS)


@pytest.fixture(scope="module")
def ratings():
    return study_ratings()


@pytest.fixture(scope="module")
def fitted(ratings):
    fits = fit_boards(ratings, SPECS, FAMILIES)
    return fits, bootstrap_boards(ratings, fits, FAMILIES, resamples=80, seed=5)


@pytest.fixture(scope="module")
def report(ratings, fitted):
    return cluster_study(ratings, *fitted, GROUPS, FAMILIES, splits=25, resamples=80, seed=5)


def test_a_study_is_clustered_and_its_clusters_ranked(report):
    clusters = report.clusters
    assert clusters.status == "ok"
    assert clusters.n_entities == 5
    assert clusters.reported.clusters == (("warmth", "natural", "tone"), ("sound", "clean", "steady"))
    assert clusters.reported.reliability > clusters.reported.chance_high
    assert clusters.reported.split_half.used > 0
    assert report.names == ("Humanness", "Technical Quality")
    assert [fit.spec.rubric for fit in report.fits] == ["Humanness", "Technical Quality"]
    assert [fit.spec.members for fit in report.fits] == list(clusters.reported.clusters)
    assert {e.entity for e in report.fits[0].entities} == {f"m{k}" for k in range(6)}
    assert report.fits[0].n_ratings == 3 * 14 * 60
    assert [i.fit for i in report.intervals] == [f.fit for f in report.fits]
    assert report.intervals[0].resamples == 80


def test_the_table_holds_the_report_without_loss(report, tmp_path):
    frame = clusters_to_frame(report)
    assert frame.height == 1
    assert dict(frame.schema) == {n: t() if isinstance(t, type) else t for n, t in CLUSTERS_SCHEMA.items()}
    frame.write_parquet(tmp_path / "clusters.parquet")
    again = clusters_from_frame(pl.read_parquet(tmp_path / "clusters.parquet"))
    assert again.clusters == report.clusters
    assert again.names == report.names
    assert again.fits == report.fits
    for one, other in zip(again.intervals, report.intervals, strict=True):
        np.testing.assert_array_equal(one.draws, other.draws)
        assert dataclasses.replace(one, draws=other.draws) == other


def test_an_undefined_clustering_has_a_table_too(ratings, fitted):
    two = {rubric: GROUPS[rubric] for rubric in ("warmth", "sound")}
    report = cluster_study(ratings, *fitted, two, FAMILIES, splits=3, resamples=5)
    assert report.clusters.status == "undefined"
    assert (report.names, report.fits, report.intervals) == ((), (), ())
    assert clusters_from_frame(clusters_to_frame(report)) == report


def test_profiles_line_up_entities_by_name(fitted):
    fits, intervals = fitted
    entities, strengths, draws = profiles(fits, intervals, SPECS)
    assert entities == ("f0", "f1", "f2", "f3", "f4")
    assert draws.shape == (80, 6, 5)
    for row, fit in enumerate(fits):
        for k, entity in enumerate(fit.entities):
            column = entities.index(entity.entity)
            assert strengths[row, column] == entity.strength
            np.testing.assert_array_equal(draws[:, row, column], intervals[row].draws[k])


def test_a_rubric_without_a_board_has_no_strengths(fitted):
    fits, intervals = fitted
    _, strengths, draws = profiles(fits[1:], intervals[1:], SPECS)
    assert np.isnan(strengths[0]).all()
    assert np.isnan(draws[:, 0]).all()
    assert np.isfinite(strengths[1:]).all()


def test_a_rubric_that_nobody_answered_is_left_out(ratings, fitted):
    asked = GROUPS | {"never": "Content"}
    report = cluster_study(ratings, *fitted, asked, FAMILIES, splits=2, resamples=2)
    assert [out.rubric for out in report.clusters.left_out] == ["never"]
    assert report.clusters.status == "ok"


def test_without_resamples_nothing_is_clustered(ratings, fitted):
    fits, _ = fitted
    intervals = bootstrap_boards(ratings, fits, FAMILIES, resamples=0)
    report = cluster_study(ratings, fits, intervals, GROUPS, FAMILIES, splits=2, resamples=0)
    assert "0 resamples" in report.clusters.reason


@pytest.mark.parametrize("spoil", ["ties", "split"])
def test_a_board_without_a_common_scale_has_no_strengths(ratings, spoil):
    warmth = pl.col("rubric") == "warmth"
    low = pl.col("config_a").str.slice(1, 1).cast(pl.Int64) < 3
    also_low = pl.col("config_b").str.slice(1, 1).cast(pl.Int64) < 3
    spoiled = {
        "ties": ratings.with_columns(score=pl.when(warmth).then(0).otherwise("score")),
        "split": ratings.filter(~warmth | (low == also_low)),
    }[spoil]
    fits = fit_boards(spoiled, SPECS, FAMILIES)
    intervals = bootstrap_boards(spoiled, fits, FAMILIES, resamples=3)
    _, strengths, draws = profiles(fits, intervals, SPECS)
    assert np.isnan(strengths[0]).all()
    assert np.isnan(draws[:, 0]).all()
    assert np.isfinite(strengths[1:]).all()


def test_halves_are_fits_of_disjoint_raters_with_all_ratings_between_them(ratings):
    entities = ("f0", "f1", "f2", "f3", "f4")
    halves = split_half_strengths(ratings, SPECS[:2], entities, FAMILIES, splits=4, seed=1)
    assert halves.shape == (4, 2, 2, 5)
    again = split_half_strengths(
        ratings.sample(fraction=1, shuffle=True, seed=1), SPECS[:2], entities, FAMILIES, splits=4, seed=1
    )
    np.testing.assert_allclose(halves, again, atol=1e-7)
    raters = ratings["rater"].unique().sort().to_list()
    couples = list(zip(raters[::2], raters[1::2], strict=True))  # equal loads: couples by name
    chosen_by = {
        tuple(np.round(strengths_of(ratings, chosen, entities), 5)): set(chosen)
        for chosen in itertools.product(*couples)
    }
    for first, second in halves[:, :, 0]:
        one, other = (chosen_by[tuple(np.round(half - half.mean(), 5))] for half in (first, second))
        assert one | other == set(raters)
        assert not one & other


def strengths_of(ratings, raters, entities):
    fit = fit_boards(ratings.filter(pl.col("rater").is_in(raters)), SPECS[:1], FAMILIES)[0]
    strengths = {e.entity: e.strength for e in fit.entities}
    values = np.array([strengths[e] for e in entities])
    return values - values.mean()


@pytest.mark.parametrize(
    ("clusters", "groups", "names"),
    [
        ([["a", "b", "c"], ["d"]], {"a": "Humanness", "b": "Humanness", "c": "Content", "d": "Technical"}, ("Humanness", "Technical Quality")),
        ([["d"], ["a", "b", "c"]], {"a": "Humanness", "b": "Humanness", "c": "Content", "d": "Technical"}, ("Technical Quality", "Humanness")),
        ([["a", "b"], ["c", "d"]], {"a": "Content", "b": "Content", "c": "Voice", "d": "Voice"}, ("Content", "Voice")),
        ([["a", "b"], ["c", "d"]], {"a": "Content", "b": "Voice", "c": "Voice", "d": "Voice"}, ("Cluster 1", "Voice")),
        ([["a", "b"], ["c", "d"]], dict.fromkeys("abcd", "Voice"), ("Cluster 1", "Cluster 2")),
        ([["a", "b"], ["c", "d"]], dict.fromkeys("ab", "a") | dict.fromkeys("cd", "Voice"), ("Cluster 1", "Voice")),
        ([], {"a": "Content"}, ()),
    ],
)  # fmt: skip
def test_clusters_are_named_after_what_they_mostly_hold(clusters, groups, names):
    assert cluster_names(clusters, groups) == names


def test_the_planted_partition_agrees_with_the_groups(report):
    labels = np.array(report.clusters.reported.labels)
    groups = np.array([0, 0, 0, 1, 1, 1])
    assert adjusted_rand_index(labels, groups) == 1.0
    assert METHOD_VERSION
