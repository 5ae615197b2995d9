"""`s2s rank --out`: the same files from a ratings frame with foreign names."""

import json
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from s2s_assets.leaderboard import write_ranking
from s2s_assets.ranking import rank
from s2s_assets.study import generator, sha256_hex
from s2s_assets_tests.ranking.cases import frame_of, reference_rows


def ratings(names: tuple[str, ...], rubrics: tuple[str, ...], n: int = 400) -> pl.DataFrame:
    rng = generator("made ratings")
    rows = []
    for _ in range(n):
        a, b = rng.choice(len(names), 2, replace=False)
        score = int(min(3, max(-3, round(rng.normal((b - a) * 0.3, 1.4)))))
        rater, prompt = f"r{rng.integers(8)}", f"p{rng.integers(15)}"
        rubric, level = str(rng.choice(rubrics)), str(rng.choice(["L1", "L2"]))
        rows.append((prompt, rater, names[a], names[b], score, rubric, level))
    columns = ["prompt", "rater", "config_a", "config_b", "score", "rubric", "level"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_names_are_shown_exactly_and_file_names_are_safe(tmp_path: Path, hostile: tuple[str, ...]) -> None:
    result = rank(ratings(hostile[:5], ("overall", "../<b>x</b>")), resamples=50)
    page = write_ranking(result, tmp_path / "out")
    rows = json.loads((page.parent / "leaderboard.json").read_bytes())
    assert {r["display_name"] for r in rows} == {r["entity"] for r in rows} == set(hostile[:5])
    assert {r["rubric"] for r in rows} == {"overall", "../<b>x</b>"}
    made = {p.name for p in page.parent.iterdir()}
    assert {"index.html", "forest-overall.svg", "forest-overall.png", "pairwise.parquet"} <= made
    assert sum(name.startswith("forest-") and name.endswith(".png") for name in made) == 2
    assert sum(name.startswith("pairs-") and name.endswith(".png") for name in made) == 2
    assert not list(tmp_path.glob("*.svg"))


def test_the_method_names_the_code_that_ran(tmp_path: Path) -> None:
    write_ranking(rank(ratings(("a", "b", "c"), ("overall",)), resamples=0, seed=7), tmp_path)
    method = json.loads((tmp_path / "methodology.json").read_bytes())
    assert (method["code_version"], method["seed"], method["resamples"]) == (version("s2s-assets"), 7, 0)


def test_a_folder_holds_the_charts_of_the_last_ranking_and_what_others_put_there(tmp_path: Path) -> None:
    first, second = ratings(("a", "b", "c"), ("overall", "warmth", "pace")), ratings(("a", "b", "c"), ("overall",))
    write_ranking(rank(first, resamples=0), tmp_path)
    charts = {
        f"{kind}-{rubric}.{ending}"
        for kind in ("forest", "pairs")
        for rubric in ("warmth", "pace")
        for ending in ("svg", "png")
    }
    assert charts <= {p.name for p in tmp_path.iterdir()}
    (tmp_path / "forest-mine.svg").write_text("not of a ranking")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "forest-pace.svg").write_text("redrawn by hand")
    with (tmp_path / "ranking.sha256").open("a") as manifest:
        manifest.write(f"{sha256_hex(b'mine')}  notes.txt\n{sha256_hex(b'mine')}  ../elsewhere.txt\nno sum\n")
    page = write_ranking(rank(second, resamples=0), tmp_path)
    there = {p.name for p in tmp_path.iterdir()}
    assert there & charts == {"forest-pace.svg"}
    assert {"forest-mine.svg", "notes.txt", "forest-overall.svg", "pairs-overall.png"} <= there
    listed = (tmp_path / "ranking.sha256").read_text().splitlines()
    assert {line.split("  ")[1] for line in listed} == there - {
        "ranking.sha256",
        "forest-mine.svg",
        "notes.txt",
        "forest-pace.svg",
    }
    assert "warmth" not in page.read_text()


def test_a_separated_name_is_drawn_as_unbounded(tmp_path: Path) -> None:
    write_ranking(rank(frame_of(reference_rows("hard_separation_always_plus3")), resamples=0), tmp_path)
    assert "above, unbounded" in (tmp_path / "forest-overall.svg").read_text()


def test_slices_alone_make_a_page(tmp_path: Path) -> None:
    page = write_ranking(rank(ratings(("a", "b", "c"), ("overall",)), slice="level", resamples=0), tmp_path)
    text = page.read_text()
    assert "Overall by config, level L1" in text
    assert "By level: 2 slices" in text


def test_every_slice_has_a_heat_map_and_the_page_leads_to_it(tmp_path: Path) -> None:
    page = write_ranking(rank(ratings(("a", "b", "c"), ("overall", "x")), slice="level", resamples=0), tmp_path)
    made = sorted(p.name for p in tmp_path.glob("pairs-*.svg"))
    assert [name.rpartition("-")[0] for name in made] == [
        f"pairs-{r}-{v}" for r in ("overall", "x") for v in ("L1", "L2")
    ]
    assert all(f'href="{name}"' in page.read_text() for name in made)
    assert "Overall, level L1" in made_text(tmp_path / made[0])


def made_text(path: Path) -> str:
    return " ".join(ET.fromstring(path.read_bytes()).itertext())


def test_groups_that_nothing_connects_share_a_heat_map_with_empty_cells(tmp_path: Path) -> None:
    two = [ratings(names, ("overall",)) for names in (("a", "b"), ("c", "d"))]
    write_ranking(rank(pl.concat(two), resamples=0), tmp_path)
    label = ET.fromstring((tmp_path / "pairs-overall.svg").read_bytes()).get("aria-label") or ""
    assert label.count(";") == 3, "four of twelve cells have a value"


def test_a_very_large_heat_map_is_cut_and_says_so(tmp_path: Path) -> None:
    names = tuple(f"m{k:02d}" for k in range(64))
    write_ranking(rank(ratings(names, ("overall",), n=6000), resamples=0), tmp_path)
    text = made_text(tmp_path / "pairs-overall.svg")
    assert "the first 60 of 64 by rank" in text
    assert sum(name in text for name in names) == 60
    page = (tmp_path / "index.html").read_text()
    assert "The 400 largest differences, with intervals; all 2,016 pairs are in pairwise.csv" in page
    assert len(page) < 300_000


def test_a_name_that_always_wins_has_no_number(tmp_path: Path) -> None:
    frame = ratings(("a", "b", "c"), ("overall",))
    swept = pl.when(pl.col("config_a") == "c").then(3).when(pl.col("config_b") == "c").then(-3).otherwise("score")
    text = write_ranking(rank(frame.with_columns(score=swept), resamples=20), tmp_path).read_text()
    first = json.loads((tmp_path / "leaderboard.json").read_bytes())[0]
    assert (first["entity"], first["status"], first["elo"], first["bound"]) == ("c", "separated", None, "above")
    assert "unbounded above" in text


@pytest.mark.parametrize(
    "name", ["hard_single_plus3", "hard_disconnected", "hard_all_ties", "hard_threshold_separation"]
)
def test_missing_values_are_the_same_in_all_forms(tmp_path: Path, name: str) -> None:
    result = rank(frame_of(reference_rows(name)), resamples=30)
    write_ranking(result, tmp_path)
    pairs = sum(len(i.pairs) for i in result.intervals)
    for table, height in (("leaderboard", sum(len(f.entities) for f in result.fits)), ("pairwise", pairs)):
        stored = pl.read_parquet(tmp_path / f"{table}.parquet")
        assert stored.height == height
        assert stored.select(pl.any_horizontal(pl.all().is_null()).any()).item()
        assert json.loads((tmp_path / f"{table}.json").read_bytes()) == stored.to_dicts()
        from_csv = pl.read_csv(tmp_path / f"{table}.csv", schema=stored.schema)
        assert_frame_equal(from_csv, stored)


def test_ties_alone_rank_nobody_and_say_so(tmp_path: Path) -> None:
    text = write_ranking(
        rank(ratings(("a", "b"), ("overall",)).with_columns(score=0), resamples=20), tmp_path
    ).read_text()
    rows = json.loads((tmp_path / "leaderboard.json").read_bytes())
    assert {(r["status"], r["elo"], r["ci_low"]) for r in rows} == {("undefined", 1000.0, None)}
    assert "Note: " in text
