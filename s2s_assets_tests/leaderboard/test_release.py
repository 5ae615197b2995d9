"""Sealing: complete, once, in order, refused when it must be."""

import dataclasses
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from s2s_assets.leaderboard import (
    Board,
    BoardInputs,
    Sealing,
    build_board,
    damage,
    last_release,
    read_board,
    read_index,
    seal,
)
from s2s_assets.leaderboard.release import index_bytes
from s2s_assets.storage import open_store
from s2s_assets.study import ReleaseError

Make = Callable[..., BoardInputs]
BY = Sealing("A. Editor", "First board", {})
GOLDEN = "2026-05-04-94abbd82"
"""The release of the made study: changes when the rows, their form or their rounding do, and only then."""


@pytest.fixture
def sealed_in(tmp_path: Path) -> Callable[..., Path]:
    """Seals boards in one home and store; returns the release's folder."""
    blobs = open_store(f"file:{tmp_path / 'store'}")

    def run(board: Board, sealing: Sealing = BY, red: tuple[str, ...] = ()) -> Path:
        return seal(board, tmp_path / "home", blobs, "tiny/releases", sealing, red).folder

    return run


def later(inputs: BoardInputs, day: int = 9) -> BoardInputs:
    """The inputs with newer data."""
    run = dataclasses.replace(inputs.run, data_date=date(2026, 6, day), ratings_version=f"{day}" * 8)
    return dataclasses.replace(inputs, run=run)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_release_is_complete_and_named_by_its_data(board: Board, sealed_in: Callable[..., Path]) -> None:
    folder = sealed_in(board)
    assert folder.name == GOLDEN
    tables = {f"{t}.{x}" for t in ("leaderboard", "pairwise") for x in ("csv", "json", "parquet")}
    assert {"index.html", "methodology.json", "changes.json", "schema.json", "SHA256SUMS", *tables} <= set(
        snapshot(folder)
    )
    assert "board.json" not in snapshot(folder)
    assert damage(folder) == ()
    method = json.loads((folder / "methodology.json").read_bytes())
    wanted = [
        "method_version",
        "seed",
        "resamples",
        "data_hash",
        "code_version",
        "anchor",
        "ratings",
        "headline_variant",
        "by",
        "note",
    ]
    assert all(method[key] is not None for key in wanted)
    assert (method["release"], method["by"], method["ratings"]) == (GOLDEN, "A. Editor", "simulated")


def test_the_page_of_a_release_is_no_draft(board: Board, sealed_in: Callable[..., Path]) -> None:
    page = (sealed_in(board) / "index.html").read_text()
    assert "Draft." in board.files["index.html"].decode()
    assert "Draft." not in page
    assert f"release <b>{GOLDEN}</b>" in page


def test_a_board_read_back_from_its_draft_seals_alike(board: Board, tmp_path: Path) -> None:
    again = read_board(board.files)
    assert (again.release, again.headline) == (board.release, board.headline)
    assert again.leaderboard.equals(board.leaderboard)
    stores = [open_store(f"file:{tmp_path / name}") for name in "ab"]
    folders = [
        seal(b, tmp_path / f"home-{i}", stores[i], "tiny/releases", BY).folder for i, b in enumerate((board, again))
    ]
    assert snapshot(folders[0]) == snapshot(folders[1])


def test_sealing_twice_changes_nothing(board: Board, tmp_path: Path) -> None:
    blobs = open_store(f"file:{tmp_path / 'store'}")
    first = seal(board, tmp_path, blobs, "tiny/releases", BY)
    before = snapshot(tmp_path)
    second = seal(board, tmp_path, blobs, "tiny/releases", Sealing("B", "again", {}))
    assert (first.new, second.new, second.name) == (True, False, first.name)
    assert snapshot(tmp_path) == before


def test_the_store_gets_the_same_bytes_and_index(board: Board, tmp_path: Path) -> None:
    blobs = open_store(f"file:{tmp_path / 'store'}")
    folder = seal(board, tmp_path, blobs, "tiny/releases", BY).folder
    assert {n: blobs.get(f"tiny/releases/{folder.name}/{n}") for n in snapshot(folder)} == snapshot(folder)
    entry = {"release": GOLDEN, "data_date": "2026-05-04", "method_version": "1.0"}
    assert json.loads(blobs.get("tiny/releases/index.json")) == [entry] == read_index(tmp_path / "releases/index.json")


def test_a_red_check_refuses(board: Board, sealed_in: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="headline_converged"):
        sealed_in(board, BY, ("bt_fits: headline_converged",))
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("sealing", [Sealing("", "note", {}), Sealing("name", " ", {})])
def test_an_unsigned_release_is_refused(board: Board, sealed_in: Callable[..., Path], sealing: Sealing) -> None:
    with pytest.raises(ReleaseError, match="note"):
        sealed_in(board, sealing)


def test_data_without_a_date_are_not_sealed(foreign: Make, sealed_in: Callable[..., Path]) -> None:
    inputs = foreign(["a", "b"])
    undated = dataclasses.replace(inputs, run=dataclasses.replace(inputs.run, data_date=None))
    with pytest.raises(ReleaseError, match="no date"):
        sealed_in(build_board(undated))


def test_a_sealing_cut_off_before_the_listing_is_finished_by_the_next(board: Board, tmp_path: Path) -> None:
    blobs = open_store(f"file:{tmp_path / 'store'}")
    folder = seal(board, tmp_path, blobs, "tiny/releases", BY).folder
    before = snapshot(folder)
    (tmp_path / "releases" / "index.json").unlink()
    (folder.parent / f".{folder.name}.partial").mkdir()
    done = seal(board, tmp_path, blobs, "tiny/releases", Sealing("B", "another note", {}))
    assert done.new
    assert snapshot(folder) == before
    assert [e["release"] for e in read_index(tmp_path / "releases" / "index.json")] == [folder.name]


def test_a_release_changed_by_hand_is_neither_listed_nor_overwritten(board: Board, tmp_path: Path) -> None:
    blobs = open_store(f"file:{tmp_path / 'store'}")
    folder = seal(board, tmp_path, blobs, "tiny/releases", BY).folder
    (folder / "leaderboard.csv").write_text("better\n")
    assert damage(folder) == ("leaderboard.csv has other bytes than its sum says",)
    with pytest.raises(ReleaseError, match=r"leaderboard\.csv"):
        seal(board, tmp_path, blobs, "tiny/releases", BY)


def test_releases_are_listed_newest_first_and_compared(
    board: Board, full: Make, sealed_in: Callable[..., Path]
) -> None:
    first = sealed_in(board)
    second = sealed_in(build_board(later(full())))
    index = read_index(first.parent / "index.json")
    assert [e["release"] for e in index] == [second.name, first.name]
    changes = json.loads((second / "changes.json").read_bytes())
    assert (changes["previous"], changes["comparable"], changes["moved"]) == (first.name, True, [])
    assert f"Compared with the sealed release {first.name}" in (second / "index.html").read_text()
    found = last_release(first.parent)
    assert found is not None
    assert found.release == second.name


def test_older_data_sealed_later_do_not_become_the_newest(
    board: Board, full: Make, sealed_in: Callable[..., Path]
) -> None:
    newer = sealed_in(build_board(later(full())))
    older = sealed_in(board)
    assert [e["release"] for e in read_index(newer.parent / "index.json")] == [newer.name, older.name]


def test_an_entity_does_not_leave_silently(full: Make, foreign: Make, sealed_in: Callable[..., Path]) -> None:
    sealed_in(build_board(foreign(["a", "b", "c"])))
    smaller = build_board(later(foreign(["a", "b"])))
    with pytest.raises(ReleaseError, match="gone without a reason: config c"):
        sealed_in(smaller)
    folder = sealed_in(smaller, Sealing("A", "smaller", {"c": "withdrawn by its provider"}))
    assert "c was removed: withdrawn by its provider" in (folder / "index.html").read_text()
    assert json.loads((folder / "changes.json").read_bytes())["reasons"] == {"c": "withdrawn by its provider"}


def test_an_index_has_each_release_once() -> None:
    entries = [{"release": f"{d}-00000000", "data_date": d} for d in ("2026-01-02", "2026-01-01", "2026-01-02")]
    assert [e["data_date"] for e in json.loads(index_bytes(entries))] == ["2026-01-02", "2026-01-01"]


def test_a_broken_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(ReleaseError, match=r"index\.json"):
        read_index(tmp_path / "index.json")
