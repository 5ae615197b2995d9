"""`s2s release list` and `check`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from s2s_assets.leaderboard import Board, Sealing, seal
from s2s_assets.leaderboard.commands import release
from s2s_assets.storage import open_store


@pytest.fixture
def folder(tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S2S_HOME", str(tmp_path))
    store = open_store(f"file:{tmp_path / 'store'}")
    return seal(board, tmp_path, store, "tiny/releases", Sealing("A", "n", {})).folder


def test_list(folder: Path) -> None:
    done = CliRunner().invoke(release, ["list", "--json"])
    assert (done.exit_code, [e["release"] for e in json.loads(done.stdout)]) == (0, [folder.name])


def test_people_find_the_list_on_standard_output(folder: Path) -> None:
    done = CliRunner().invoke(release, ["list"])
    assert done.stdout.startswith(f"{folder.name}  method ")
    assert done.stderr == ""
    assert "as it was sealed" in CliRunner().invoke(release, ["check", folder.name]).stdout


def test_check_of_a_whole_release(folder: Path) -> None:
    done = CliRunner().invoke(release, ["check", folder.name, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"release": folder.name, "ok": True, "problems": []}


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda f: (f / "index.html").write_text("x"), "index.html has other bytes than its sum says"),
        (lambda f: (f / "pairwise.csv").unlink(), "pairwise.csv is missing"),
        (lambda f: (f / "extra.txt").write_text("x"), "extra.txt is not in SHA256SUMS"),
        (lambda f: (f / "SHA256SUMS").unlink(), "SHA256SUMS is missing"),
        (lambda f: (f.parent / "index.json").unlink(), "not listed in index.json: it was never sealed"),
    ],
)
def test_check_names_what_is_wrong(folder: Path, harm: Callable[[Path], object], problem: str) -> None:
    harm(folder)
    done = CliRunner().invoke(release, ["check", folder.name, "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["problems"] == [problem]


@pytest.mark.parametrize("name", ["2026-01-01-00000000", "../store", "x"])
def test_an_unknown_release_is_a_wrong_call(folder: Path, name: str) -> None:
    done = CliRunner().invoke(release, ["check", name])
    assert done.exit_code == 2
    assert folder.name in done.stderr
