"""A queue of requests over all processes of a machine, as locked files in a folder.

A request holds an exclusive `flock` on a ticket file of its own from the moment it queues until it ends. Numbers are
given in order; a request may run while fewer live tickets than its limit are before it. The kernel lets go of a lock
when its holder ends, however it ends: a ticket that can be locked is dead, and whoever finds it removes it. So a kill
leaves nothing to clean up, nobody is overtaken for ever, and a process with a lower limit simply waits longer.

Numbers are given and counted under the lock of the folder's state file, which holds a small JSON object.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2s_assets.study import sha256_hex

_TICKET = re.compile(r"ticket-(\d{12})")
_STATE = "state"
_STATE_BYTES = 512
_MODE = 0o644


def safe_name(name: str) -> str:
    """A file name for a name, another one for each: the name itself where it is plain, else with a hash of it."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:80]
    return plain if plain == name else f"{plain}-{sha256_hex(name)[:8]}"


def try_lock(path: Path, *, create: bool = True) -> int | None:
    """An open file under an exclusive lock; None where another holds it.

    Raises:
        FileNotFoundError: there is no such file, and none is to be made.
    """
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), _MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


class Ticket:
    """A place in the queue, held until `leave`."""

    def __init__(self, path: Path, number: int, handle: int) -> None:
        self.number = number
        self._path = path
        self._handle = handle

    def leave(self) -> None:
        """Give the place up."""
        self._path.unlink(missing_ok=True)
        os.close(self._handle)


class Queue:
    """The tickets and the state of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def held(self) -> Iterator["HeldQueue | None"]:
        """The queue under its lock; None where another process has it at this moment."""
        handle = try_lock(self._folder / _STATE)
        if handle is None:
            yield None
            return
        try:
            yield HeldQueue(self._folder, handle)
        finally:
            os.close(handle)


class HeldQueue:
    """The queue as seen and changed under its lock."""

    def __init__(self, folder: Path, handle: int) -> None:
        self._folder = folder
        self._handle = handle

    def state(self) -> Any:
        """The JSON value of the state file; None where there is none or it cannot be read."""
        try:
            return json.loads(os.pread(self._handle, _STATE_BYTES, 0))
        except ValueError:
            return None

    def keep(self, state: dict[str, float]) -> None:
        """Replace the state, by one write that is never seen in part."""
        os.pwrite(self._handle, json.dumps(state).encode().ljust(_STATE_BYTES), 0)

    def enter(self) -> Ticket:
        """A place at the end."""
        number = max(self._numbers(), default=0) + 1
        path = self._path(number)
        handle = try_lock(path)
        assert handle is not None
        return Ticket(path, number, handle)

    def before(self, ticket: Ticket, most: int, own: frozenset[int] = frozenset()) -> int:
        """Live tickets before this one, counted up to `most`; dead ones are removed.

        Args:
            ticket: whose turn is asked for.
            most: where counting may end.
            own: numbers that are known to be live.
        """
        count = 0
        for number in sorted(n for n in self._numbers() if n < ticket.number):
            if count >= most:
                break
            count += number in own or self._is_live(number)
        return count

    def _numbers(self) -> list[int]:
        return [int(found[1]) for name in os.listdir(self._folder) if (found := _TICKET.fullmatch(name))]  # noqa: PTH208

    def _path(self, number: int) -> Path:
        return self._folder / f"ticket-{number:012d}"

    def _is_live(self, number: int) -> bool:
        path = self._path(number)
        try:
            handle = try_lock(path, create=False)
        except FileNotFoundError:
            return False
        if handle is None:
            return True
        path.unlink(missing_ok=True)
        os.close(handle)
        return False
