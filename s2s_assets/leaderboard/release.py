"""Sealed releases: a draft's files, written complete, never changed, and only then listed.

Order of a sealing: the folder `releases/YYYY-MM-DD-<hash8>/` is written under a hidden name and renamed when whole;
its files are copied to the store, each written once; the entry in `releases/index.json` comes last, in the store and on
this machine. Whatever is not listed is not published, and a sealing that was cut off is simply done again. The name
comes from the data, so the same data give the same release: sealing them twice changes nothing.
"""

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2s_assets.leaderboard.assemble import CONTENT_FILE, Board
from s2s_assets.leaderboard.changes import Changes, compare
from s2s_assets.leaderboard.inputs import Previous
from s2s_assets.leaderboard.page import Stamp, render
from s2s_assets.leaderboard.write import document_bytes, json_bytes, read_sums, sums_bytes
from s2s_assets.storage import BlobStore, content_type
from s2s_assets.study import ReleaseError, sha256_hex

SUMS = "SHA256SUMS"
INDEX = "index.json"
NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[0-9a-f]{8}")


@dataclass(frozen=True)
class Sealing:
    """Who seals, and what they say."""

    by: str
    note: str
    removed: Mapping[str, str]
    """Entity that left the board → why; a retired model needs none."""


@dataclass(frozen=True)
class Release:
    """A sealed release."""

    name: str
    folder: Path
    new: bool
    """False: these data had been sealed before, and nothing was written."""
    changes: Changes


def seal(board: Board, home: Path, blobs: BlobStore, prefix: str, sealing: Sealing, red: Sequence[str] = ()) -> Release:
    """Seal a draft.

    Args:
        board: the draft.
        home: `S2S_HOME`; the release lies in its `releases/`.
        blobs: the store that gets the copy.
        prefix: key of the copies, such as `STUDY/releases`.
        sealing: author, note, and reasons for what left the board.
        red: names of the blocking checks that do not hold.

    Raises:
        ReleaseError: a blocking check is red, no author or note is given, or an entity left without a reason.
        StoreError: the store already holds other bytes under this release's name.
    """
    _refuse(red, sealing)
    root = home / "releases"
    listed = read_index(root / INDEX)
    changes = compare(
        board.leaderboard.to_dicts(),
        json.loads(board.files["methodology.json"]),
        last_release(root, without=board.release),
        json.loads(board.files[CONTENT_FILE])["retired"],
    )
    folder = root / board.release
    if any(e["release"] == board.release for e in listed) and not damage(folder):
        return Release(board.release, folder, new=False, changes=changes)
    _refuse_unexplained(changes, sealing)
    files = _complete(folder) or _written(folder, release_files(board, sealing, changes))
    _copy(files, blobs, f"{prefix}/{board.release}")
    entry = _entry(board.release, files)
    _list_in_store(entry, blobs, f"{prefix}/{INDEX}")
    _replace(root / INDEX, index_bytes([entry, *listed]))
    return Release(board.release, folder, new=True, changes=changes)


def release_files(board: Board, sealing: Sealing, changes: Changes) -> dict[str, bytes]:
    """The files of a release: the draft's tables and charts as they are, the page and the method stamped, the sums."""
    draft = json.loads(board.files[CONTENT_FILE])
    method = json.loads(board.files["methodology.json"])
    shown = changes.page(simulated=bool(draft["page"]["simulated"]))
    if shown is not None:
        shown["paragraphs"] += [f"{entity} was removed: {why}" for entity, why in sorted(sealing.removed.items())]
    draft["page"]["links"].append(["changes.json", "what changed"])
    page = render(draft["page"], draft["sections"], Stamp(release=board.release), shown)
    files = {name: data for name, data in board.files.items() if name != CONTENT_FILE}
    files |= {
        "index.html": page,
        "methodology.json": document_bytes(
            {"release": board.release, **method, "by": sealing.by, "note": sealing.note, "previous": changes.previous}
        ),
        "changes.json": document_bytes({**changes.document(), "reasons": dict(sorted(sealing.removed.items()))}),
    }
    files[SUMS] = sums_bytes(files)
    return files


def last_release(root: Path, without: str = "") -> Previous | None:
    """The newest listed release in a folder of releases, for comparison; None where there is none.

    Raises:
        ReleaseError: it is listed and cannot be read.
    """
    name = next((e["release"] for e in read_index(root / INDEX) if e["release"] != without), None)
    if name is None:
        return None
    try:
        rows = json.loads((root / name / "leaderboard.json").read_bytes())
        method = json.loads((root / name / "methodology.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ReleaseError(
            f"release {name}: listed in {INDEX} and unreadable ({error}); restore it from the store"
        ) from error
    return Previous(name, str(method["method_version"]), tuple(rows))


def previous_release(root: Path, ratings_version: str) -> Previous | None:
    """The newest listed release of other ratings: what a board of these ratings is compared with.

    Raises:
        ReleaseError: a listed release cannot be read.
    """
    same = [e["release"] for e in read_index(root / INDEX) if _ratings_version(root / e["release"]) == ratings_version]
    return last_release(root, without=same[0] if same else "")


def _ratings_version(folder: Path) -> str | None:
    method = folder / "methodology.json"
    return json.loads(method.read_bytes()).get("ratings_version") if method.is_file() else None


def read_index(path: Path) -> list[dict[str, str]]:
    """The listed releases, newest first; none where there is no index.

    Raises:
        ReleaseError: the index is no JSON list.
    """
    return _parse_index(path.read_bytes(), str(path)) if path.is_file() else []


def index_bytes(entries: Sequence[Mapping[str, str]]) -> bytes:
    """releases/index.json: newest data first, each once; those of one day stay in the order given."""
    once: dict[str, Mapping[str, str]] = {}
    for entry in entries:
        once.setdefault(entry["release"], entry)
    return json_bytes(sorted(once.values(), key=lambda e: e["data_date"], reverse=True))


def damage(folder: Path) -> tuple[str, ...]:
    """What is wrong with a release's files; empty when every file is there with the bytes that SHA256SUMS says."""
    if not (folder / SUMS).is_file():
        return (f"{SUMS} is missing",)
    lines = (folder / SUMS).read_text("utf-8").splitlines()
    listed = read_sums(lines)
    there = {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}
    there.pop(SUMS)
    wrong = [f"{SUMS} has {len(lines) - len(listed)} lines that are no sums"] if len(lines) != len(listed) else []
    wrong += [f"{name} is missing" for name in sorted(listed.keys() - there.keys())]
    wrong += [f"{name} is not in {SUMS}" for name in sorted(there.keys() - listed.keys())]
    wrong += [
        f"{name} has other bytes than its sum says"
        for name in sorted(listed.keys() & there.keys())
        if sha256_hex(there[name].read_bytes()) != listed[name]
    ]
    return tuple(wrong)


def _refuse(red: Sequence[str], sealing: Sealing) -> None:
    if red:
        raise ReleaseError(f"blocking checks are red: {', '.join(sorted(red))}; a release needs them green")
    if not sealing.by.strip() or not sealing.note.strip():
        raise ReleaseError("a release needs the name of who seals it (`by`) and a note that says why (`note`)")


def _refuse_unexplained(changes: Changes, sealing: Sealing) -> None:
    missing = [gone for gone in changes.unexplained if gone.partition(" ")[2] not in sealing.removed]
    if missing:
        raise ReleaseError(
            f"listed in release {changes.previous} and gone without a reason: {', '.join(missing)}; "
            "mark the model as retired in study.yaml, or give a reason with `removed`"
        )


def _complete(folder: Path) -> dict[str, bytes] | None:
    """The files of a folder that an earlier sealing finished writing; None where there is none.

    Raises:
        ReleaseError: the folder was changed since.
    """
    if not folder.is_dir():
        return None
    if wrong := damage(folder):
        raise ReleaseError(
            f"release {folder.name} was changed after it was written: {'; '.join(wrong)}; restore or remove it"
        )
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _written(folder: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """Write a folder so that it is either whole or not there."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, data in files.items():
        (partial / name).write_bytes(data)
    partial.rename(folder)
    return files


def _copy(files: Mapping[str, bytes], blobs: BlobStore, key: str) -> None:
    for name, data in sorted(files.items()):
        if not blobs.put_new(f"{key}/{name}", data, content_type(name)) and blobs.get(f"{key}/{name}") != data:
            raise ReleaseError(
                f"store {blobs.url}: {key}/{name} has other bytes than this release; "
                "it was sealed elsewhere with another page: fetch that one, or remove the unlisted copy"
            )


def _list_in_store(entry: dict[str, str], blobs: BlobStore, key: str) -> None:
    listed = _parse_index(blobs.get(key), key) if blobs.exists(key) else []
    blobs.replace(key, index_bytes([entry, *listed]), content_type(key))


def _entry(name: str, files: Mapping[str, bytes]) -> dict[str, str]:
    method = json.loads(files["methodology.json"])
    return {"release": name, "data_date": method["data_date"], "method_version": method["method_version"]}


def _parse_index(data: bytes, where: str) -> list[dict[str, str]]:
    try:
        entries: Any = json.loads(data)
    except ValueError as error:
        raise ReleaseError(f"{where}: expected a JSON list of releases: {error}") from error
    if not isinstance(entries, list):
        raise ReleaseError(f"{where}: expected a JSON list of releases")
    return entries


def _replace(path: Path, data: bytes) -> None:
    """Put a file in place of another at once."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(data)
    fresh.replace(path)
