"""Simulated raters: they fill every slot through leases, are marked, and what was planted comes back out."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Engine

from s2s_assets.demo.planted import planted_truth
from s2s_assets.demo.raters import SPAN, SimulatedStudy, rate_study
from s2s_assets.leaderboard import recovered
from s2s_assets.pairing import empty_plan, next_epoch
from s2s_assets.ranking import rank
from s2s_assets.ratings import (
    RatingsStore,
    planted_strengths,
    rater_quality_table,
    settled_version,
    snapshot,
    status,
    upsert_tasks,
)
from s2s_assets.storage import open_engine
from s2s_assets.study import StudyFolder, load_study, load_truth

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
DEMO = Path(__file__).resolve().parents[2] / "studies" / "demo"


@pytest.fixture(scope="module")
def folder() -> StudyFolder:
    return load_study(DEMO)


def cells_of(folder: StudyFolder) -> pl.DataFrame:
    rows = [
        (s.prompt, str(c.key), f"{s.prompt}/{c.key}", s.category, s.level, s.acoustic)
        for s in folder.scripts
        for c in folder.study.active_configs
    ]
    columns = ["prompt", "config", "response_id", "category", "level", "acoustic"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def prepare(engine: Engine, folder: StudyFolder) -> RatingsStore:
    """The demo's plan in a database, as if every config had answered every prompt."""
    cells = cells_of(folder)
    study = folder.study
    plan = next_epoch(empty_plan(), cells, (), study=study.study, slots=study.pairing.slots, units=study.pairing.units)
    subjects = [("prompt", s.prompt) for s in folder.scripts] + [("response", r) for r in cells["response_id"]]
    heard = pl.DataFrame(
        [(kind, subject, f"{subject}.flac", 3.0) for kind, subject in subjects],
        schema=["kind", "subject", "blob", "duration_s"],
        orient="row",
    )
    store = RatingsStore(engine, folder.study.study)
    upsert_tasks(store, plan, heard)
    return store


def table_of(store: RatingsStore, folder: StudyFolder) -> pl.DataFrame:
    settled = settled_version(store, NOW, folder.study.refit.settle_s, 1, 0.0)
    assert settled is not None
    return snapshot(store, settled, folder.scripts).frame


@pytest.fixture(scope="module")
def rated(folder: StudyFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[RatingsStore, pl.DataFrame]:
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('demo') / 'ratings.sqlite'}")
    store = prepare(engine, folder)
    assert rate_study(engine, folder, 24, now=NOW) > 0
    return store, table_of(store, folder)


def test_every_slot_is_answered_once_and_settled_at_once(rated, folder) -> None:
    store, table = rated
    counts = status(store)
    assert counts["done"] == counts["slots"] > 300
    assert counts["leased"] == 0
    assert table.height == counts["answers"]
    assert table["excluded_by"].null_count() == table.height


def test_a_second_call_has_nothing_to_do(rated, folder) -> None:
    store, _ = rated
    before = status(store)
    assert rate_study(store.engine, folder, 24, now=NOW) == 0
    assert status(store) == before


def test_everything_is_marked_simulated_and_lies_in_the_past(rated) -> None:
    _, table = rated
    assert table["simulated"].all()
    assert table["submitted_at"].max() < NOW
    assert table["submitted_at"].min() >= NOW - SPAN - timedelta(hours=1)
    assert table["submitted_at"].max() - table["submitted_at"].min() > timedelta(days=2)


def test_gated_rubrics_are_asked_by_tag_only(rated, folder) -> None:
    _, table = rated
    for (prompt,), part in table.group_by("prompt"):
        asked = {r.id for r in folder.study.rubrics_for(folder.script_of[prompt].tags)}
        assert set(part["rubric"]) == asked
        assert (part.group_by("pair", "rater").len()["len"] == len(asked)).all()


def test_work_is_spread_evenly_and_no_prompt_comes_twice_in_a_session(rated) -> None:
    _, table = rated
    tasks = Counter(rater for rater, _ in table.select("rater", "pair").unique().iter_rows())
    assert len(tasks) == 24
    assert max(tasks.values()) <= 2 * min(tasks.values())


def test_the_planted_ranking_comes_back(rated) -> None:
    store, table = rated
    fit = rank(table, rubrics=["overall"], by="model", resamples=200).to_json()["fits"][0]
    found = recovered(planted_strengths(store), fit["entities"])
    assert found.entities == 6
    assert found.spearman >= 0.8
    assert found.covered >= 5
    assert "Simulated ratings" in found.sentence


def test_careless_raters_are_caught_and_honest_ones_are_not(rated, folder) -> None:
    _, table = rated
    simulated = SimulatedStudy(folder.study, folder.script_of, planted_truth(folder.study, load_truth(folder.root)))
    same = {f"simulated-{n + 1:03d}" for n in range(24) if simulated.manner(n).careless == "same"}
    flagged = rater_quality_table(table).filter(pl.col("effect") == "drop")
    assert same
    assert set(flagged["name"]) == same


def test_another_seed_is_another_crowd_and_the_same_one_the_same(folder, rated, tmp_path) -> None:
    columns = ["pair", "rater", "rubric", "score", "submitted_at"]
    tables = []
    for seed in (0, 1):
        engine = open_engine(f"sqlite:///{tmp_path / str(seed)}.sqlite")
        store = prepare(engine, folder)
        rate_study(engine, folder, 24, seed=seed, now=NOW)
        tables.append(table_of(store, folder).select(columns))
    assert tables[0].equals(rated[1].select(columns))
    assert not tables[1].equals(tables[0])


def test_the_truth_agrees_with_how_the_systems_are_built(folder) -> None:
    truth = planted_truth(folder.study, load_truth(folder.root))
    assert set(truth) == {str(c.key) for c in folder.study.configs}
    clear, robot = truth["demo-clear|annie|high"], truth["demo-robot|f4|none"]
    assert all(clear[r.id] > robot[r.id] for r in folder.study.rubrics)
    aloof = truth["demo-aloof|linda|none"]
    assert aloof["naturalness"] > aloof["overall"] > aloof["helpfulness"]
    assert truth["demo-clear|annie|high"]["helpfulness"] > truth["demo-clear|annie|minimal"]["helpfulness"]


def test_few_raters_stop_where_nobody_may_go_on(folder, tmp_path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'few.sqlite'}")
    store = prepare(engine, folder)
    rate_study(engine, folder, 1, now=NOW)
    counts = status(store)
    assert counts["done"] == counts["pairs"]
