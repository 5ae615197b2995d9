"""`s2s rank` as a person or a program calls it."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from s2s_assets.cli import main
from s2s_assets_tests.ranking.cases import frame_of, reference_rows, simulated

KEYS = ("x|f|none", "x|m|none", "y|f|none", "z|f|none")


@pytest.fixture
def six(tmp_path: Path) -> Path:
    path = tmp_path / "six.csv"
    frame_of(reference_rows("six")).drop("rubric").write_csv(path)
    return path


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    """Ratings of config keys."""
    rows = simulated(400, [0.5, 0.3, -0.2, -0.6])
    path = tmp_path / "keyed.csv"
    frame_of([(r, p, KEYS[int(a[1])], KEYS[int(b[1])], y) for r, p, a, b, y in rows]).write_csv(path)
    return path


def call(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["rank", *map(str, arguments)], env=env)


def document(*arguments: str | Path, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = call(*arguments, "--json", env=env)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_json_is_all_there_is_on_standard_output(six: Path) -> None:
    found = document(six, "--resamples", "50", "--seed", "3")
    assert (found["seed"], found["resamples"]) == (3, 50)
    assert found["input"]["rows"] == found["input"]["used"] == 400
    assert len(found["fits"][0]["entities"]) == 6


def test_same_call_same_document(six: Path) -> None:
    assert document(six, "--resamples", "50") == document(six, "--resamples", "50")


@pytest.mark.parametrize(("resamples", "warned"), [("0", False), ("50", True), ("200", False)])
def test_few_resamples_are_warned_of(six: Path, resamples: str, warned: bool) -> None:
    assert ("95 % interval are hardly known" in call(six, "--resamples", resamples).stderr) == warned


def test_a_table_for_people(six: Path) -> None:
    done = call(six, "--resamples", "50")
    assert done.exit_code == 0
    assert "overall by config: 400 ratings" in done.stdout
    assert "m1" in done.stdout
    assert "rows repeat a rater, prompt, pair and rubric" in done.stderr


def test_a_long_name_stays_on_one_line(six: Path, tmp_path: Path) -> None:
    name = "speech-model-with-a-long-name-3.5|a-voice-with-a-long-name|xhigh"
    file = tmp_path / "long.csv"
    frame = pl.read_csv(six)
    frame.with_columns(pl.col("config_a", "config_b").replace(frame["config_a"][0], name)).write_csv(file)
    result = call(file, "--resamples", "50")
    assert result.exit_code == 0, result.stderr
    assert any(line.endswith(name) for line in map(str.rstrip, result.stdout.splitlines()))


def test_names_that_the_pictures_cannot_show_are_told(six: Path, tmp_path: Path) -> None:
    file, frame = tmp_path / "far.csv", pl.read_csv(six)
    name = frame["config_a"][0]
    frame.with_columns(pl.col("config_a", "config_b").replace(name, "语音 é")).write_csv(file)
    said = " ".join(call(file, "--resamples", "0", "--out", tmp_path / "far").stderr.split())
    assert "note: '语音 é': boxes stand for 语音 in the PNG files" in said
    assert "语音 é" in (tmp_path / "far" / "forest-overall.svg").read_text("utf-8")
    assert "boxes stand for" not in call(six, "--resamples", "0", "--out", tmp_path / "near").stderr


def test_labels_and_foreign_names(tmp_path: Path) -> None:
    path = tmp_path / "arena.csv"
    path.write_text(
        "item,worker,config_a,config_b,score\ni1,w1,x,y,left\ni2,w2,x,y,right\ni1,w2,y,x,tie\ni2,w1,x,y,left\n"
    )
    options = ("--columns", "prompt=item,rater=worker", "--resamples", "0")
    found = document(path, *options, "--scores", "left=1,tie=0,right=-1")
    assert found["fits"][0]["merged_scores"] == [2, 3]
    refused = call(path, *options, "--scores", "left=1,tie=0")
    assert refused.exit_code == 2
    assert "row 3: score label 'right' is not in --scores" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scores", "left"), "'left': expected label=score pairs"),
        (("--scores", "left=good"), "with integers from -3 to 3"),
        (("--scores", "left=7"), "integers from -3 to 3"),
        (("--columns", "rater"), "'rater': expected name=column pairs"),
        (("--columns", "rater=worker"), "no column worker (rater)"),
        (("--layout", "lmarena"), "name foreign columns with --columns"),
        (("--columns", "rater=a,rater=b"), "each once"),
        (("--rubric", "warmth"), "no such rubric"),
        (("--by", "model"), "only a board by config takes other names"),
        (("--by", "family"), "families are given by --families FILE or by a study"),
        (("--slice", "level"), "no column 'level' to slice by; they have voice, thinking, family"),
        (("--slice", "voice"), "config key 'm1'"),
        (("--slice", "rater"), "cannot be sliced by 'rater'"),
        (("--slice", "voice", "--voices", "missing.yaml"), "missing.yaml: cannot be read"),
        (("--repeats", "error"), "repeats an earlier row's"),
        (("--resamples", "-1"), "-1 is not in the range"),
        (("--by", "family", "--families", "missing.yaml"), "missing.yaml: cannot be read"),
    ],
)
def test_wrong_calls_end_in_two_with_a_reason(six: Path, options: tuple[str, ...], message: str) -> None:
    done = call(six, *options, "--json", env={"S2S_STUDY": str(six.parent / "no-study")})
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not done.stdout


@pytest.mark.parametrize("out", ["six.csv", "six.csv/x", "long" * 80])
def test_a_folder_that_cannot_be_written_is_a_wrong_call(six: Path, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(six.parent)
    done = call(six, "--resamples", "0", "--out", out, "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert out in done.stderr


def test_a_file_name_that_is_no_utf8_is_shown_as_far_as_it_can_be(six: Path, tmp_path: Path) -> None:
    path = six.rename(tmp_path / "six\udcff.csv")
    assert call(path, "--resamples", "0", "--out", tmp_path / "out").exit_code == 0
    assert "six\ufffd.csv" in (tmp_path / "out" / "index.html").read_text()


def test_missing_and_empty_files_end_in_two(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    assert "cannot be read" in call(tmp_path / "none.csv").stderr
    assert "the file is empty" in call(empty).stderr
    assert call(empty).exit_code == 2


def test_many_rejected_rows_need_a_word(six: Path) -> None:
    path = six.with_name("bad.csv")
    header, rest = six.read_text().split("\n", 1)
    path.write_text(f"{header}\n" + rest + "".join(f"r,p,m1,m1,{k % 3}\n" for k in range(40)))
    refused = call(path, "--resamples", "0", "--json")
    assert refused.exit_code == 2
    assert "40 of 440 rows rejected" in " ".join(refused.stderr.split())
    found = document(path, "--resamples", "0", "--allow-rejects")
    assert (found["input"]["used"], len(found["input"]["rejected"])) == (400, 40)
    assert found["input"]["rejected"][0] == {"row": 402, "reason": "config_a and config_b are both 'm1'"}


def test_labels_without_their_meaning_are_told_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("prompt,rater,config_a,config_b,score\ni1,w1,x,y,left\ni2,w2,x,y,tie\n")
    said = " ".join(call(path).stderr.split())
    assert "score 'left': expected an integer from -3 to 3; --scores says what labels mean" in said
    assert said.endswith("mend them")  # nothing would be left to rank


def test_a_wide_file_says_which_columns_are_rubrics(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("prompt,rater,config_a,config_b,warmth,session\ni1,w1,x,y,1,1\ni2,w2,x,y,-1,2\n")
    done = call(path, "--layout", "wide", "--resamples", "0")
    assert "columns read as rubrics: session, warmth; see --rubric" in done.stderr


def test_pooled_entities(keyed: Path, tmp_path: Path) -> None:
    families = tmp_path / "families.yaml"
    families.write_text("F: [x, y]\nG: [z]\n")
    by_model = document(keyed, "--by", "model", "--resamples", "0")["fits"][0]
    by_family = document(keyed, "--by", "family", "--families", families, "--resamples", "0")["fits"][0]
    assert sorted(e["entity"] for e in by_model["entities"]) == ["x", "y", "z"]
    assert by_model["n_ratings"] + by_model["n_within"] == 400
    assert sorted(e["entity"] for e in by_family["entities"]) == ["F", "G"]


def test_a_model_in_two_families_is_refused(keyed: Path, tmp_path: Path) -> None:
    families = tmp_path / "families.yaml"
    families.write_text("F: [x, y]\nG: [y, z]\n")
    done = call(keyed, "--by", "family", "--families", families)
    assert done.exit_code == 2
    assert "model 'y' is in two families" in " ".join(done.stderr.split())


def test_a_files_own_exclusions_say_nothing_here(six: Path) -> None:
    other = six.with_name("marked.csv")
    pl.read_csv(six).with_columns(excluded_by=pl.lit("someone")).write_csv(other)
    assert document(other, "--resamples", "0")["input"]["used"] == 400


def test_tables_plots_and_page(six: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = document(six, "--resamples", "50", "--out", out)
    names = {p.name for p in out.iterdir()}
    assert {
        "index.html",
        *(f"{t}.{x}" for t in ("leaderboard", "pairwise") for x in ("csv", "json", "parquet")),
    } <= names
    assert {f"{chart}-overall.{kind}" for chart in ("forest", "pairs") for kind in ("svg", "png")} <= names
    page = (out / "index.html").read_text()
    assert all(f'href="{chart}-overall.svg"' in page for chart in ("forest", "pairs"))
    rows = json.loads((out / "leaderboard.json").read_text())
    entities = found["fits"][0]["entities"]
    assert [r["entity"] for r in rows] == [e["entity"] for e in entities]
    assert [r["elo"] for r in rows] == pytest.approx([e["elo"] for e in entities], abs=1e-5)


def test_slices_by_any_column_or_what_answers_share(keyed: Path, tmp_path: Path) -> None:
    banded = tmp_path / "banded.csv"
    bands = pl.col("rater").str.slice(1).cast(pl.Int64) % 3
    pl.read_csv(keyed).with_columns(age_band=bands, excluded_by=pl.lit("someone")).write_csv(banded)
    by_band = document(banded, "--slice", "age_band", "--resamples", "20")
    assert [f["slice"]["value"] for f in by_band["fits"]] == ["0", "1", "2"]
    assert by_band["slicing"]["n_outside"] == 0
    by_voice = document(banded, "--slice", "voice", "--by", "model", "--resamples", "20")
    assert [f["slice"] for f in by_voice["fits"]] == [{"dimension": "voice", "value": "f"}]
    assert by_voice["slicing"]["slices"][0]["n_ratings"] + by_voice["slicing"]["n_outside"] == 400
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text("warm: ['x|f', 'x|m', 'y|f']\ncool: ['z|f']\n")
    by_kind = document(banded, "--slice", "voice", "--voices", kinds, "--resamples", "0")
    assert [sorted({e["entity"][0] for e in f["entities"]}) for f in by_kind["fits"]] == [["x", "y"]]


def test_a_voice_of_two_kinds_is_refused(keyed: Path, tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text("warm: ['x|f']\ncool: ['x|f']\n")
    done = call(keyed, "--slice", "voice", "--voices", kinds)
    assert done.exit_code == 2
    assert "voice 'x|f' is in two kinds" in " ".join(done.stderr.split())


def test_nothing_to_rank_is_a_wrong_call(tmp_path: Path) -> None:
    path = tmp_path / "within.csv"
    path.write_text("prompt,rater,config_a,config_b,score,level\np,r,x|f|none,x|m|none,2,\n")
    for options in (("--by", "model"), ("--by", "model", "--out", tmp_path / "out"), ("--slice", "level")):
        done = call(path, *options, "--json")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "nothing to rank" in done.stderr
