"""One collection of a config at a time on this machine, and how far it is.

A collection holds the lock of `HOME/collecting/CONFIG` and now and then writes its counts beside it. Whoever comes
second waits, and then finds what the first has stored. The counts are those of a running collection only while the
lock is held: after a kill they are a leftover that nobody reads.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from s2s_assets.responses.tickets import safe_name, try_lock

_POLL_S = 0.05
_LOCK = "lock"
_PROGRESS = "progress.json"


@asynccontextmanager
async def collecting(home: Path, config: str) -> AsyncIterator[Path]:
    """Be the one collection of a config; waits for its turn, and yields the folder of its counts."""
    folder = _folder(home, config)
    folder.mkdir(parents=True, exist_ok=True)
    while (handle := try_lock(folder / _LOCK)) is None:
        await asyncio.sleep(_POLL_S)
    try:
        yield folder
    finally:
        (folder / _PROGRESS).unlink(missing_ok=True)
        os.close(handle)


def write_progress(folder: Path, counts: Mapping[str, Any]) -> None:
    """Replace the counts that others see."""
    scratch = folder / f"{_PROGRESS}.new"
    scratch.write_text(json.dumps(counts), encoding="utf-8")
    scratch.replace(folder / _PROGRESS)


def running_progress(home: Path, config: str) -> dict[str, Any] | None:
    """The counts of a config's running collection, empty where it has written none yet; None where none runs."""
    folder = _folder(home, config)
    if not (folder / _LOCK).exists():
        return None
    handle = try_lock(folder / _LOCK)
    if handle is not None:
        os.close(handle)
        return None
    try:
        counts = json.loads((folder / _PROGRESS).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return counts if isinstance(counts, dict) else {}


def _folder(home: Path, config: str) -> Path:
    return home / "collecting" / safe_name(config)
