"""The draft board's files: blobs in the store, named by one small table, and a copy to look at on this machine."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from s2s_assets.storage import StudyStore, Table
from s2s_assets.study import ReleaseError

DRAFT = "draft"
_SCHEMA = pl.Schema({"name": pl.String(), "blob": pl.String()})


def store_draft(store: StudyStore, files: Mapping[str, bytes], key: str) -> Table:
    """Store a draft's files and remember them under the memo key of their board."""
    rows = [(name, store.put_blob(data, Path(name).suffix[1:])) for name, data in sorted(files.items())]
    table = store.write_table(DRAFT, None, pl.DataFrame(rows, schema=_SCHEMA, orient="row"))
    store.remember(DRAFT, None, key, table.version)
    return table


def draft_of(store: StudyStore, key: str) -> dict[str, bytes]:
    """The files of the draft of a memo key.

    Raises:
        ReleaseError: no draft is stored under the key.
    """
    return _files(store, store.read_table(DRAFT, None, _version_of(store, key)))


def put_in_force(store: StudyStore, key: str) -> None:
    """Make the draft of a memo key the current one.

    Raises:
        ReleaseError: no draft is stored under the key.
    """
    store.set_head(DRAFT, None, _version_of(store, key))


def current_draft(store: StudyStore) -> dict[str, bytes]:
    """The files of the current draft.

    Raises:
        ReleaseError: there is none yet.
    """
    version = store.head(DRAFT, None)
    if version is None:
        raise ReleaseError("there is no draft yet; materialize `leaderboard` first")
    return _files(store, store.read_table(DRAFT, None, version))


def lay_out(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write a draft's files for people to open, in place of the last one; the page's path."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, data in files.items():
        (fresh / name).write_bytes(data)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return folder / "index.html"


def _files(store: StudyStore, table: Table) -> dict[str, bytes]:
    return {name: store.get_blob(blob) for name, blob in table.frame.iter_rows()}


def _version_of(store: StudyStore, key: str) -> str:
    version = store.memo(DRAFT, None, key)
    if version is None:
        raise ReleaseError("the board's draft is not in the store; materialize `leaderboard` again")
    return version
