"""A queue of requests over all processes of a machine: a small file, and a lock for each process that is in it.

A folder has one file `state` and one file `lane-…` for each process that uses it. A process holds an exclusive `flock` on
its lane as long as it lives; the kernel lets go of it when the process ends, however it ends. The state file holds, under
a lock of its own that is held for an instant, what has been learnt (`pace`) and the tickets of the queue: a number, given
in order, and the lane of its process. A request may run while fewer live tickets than its limit are before its own.

Tickets whose lane can be locked are of a dead process, and whoever finds that removes them: a kill leaves nothing to clean
up, nobody is overtaken for ever, and a process with a lower limit simply waits longer. A request costs two small writes,
and no file is made or removed for it.
"""

import fcntl
import json
import os
import re
import uuid
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2s_assets.study import sha256_hex

_STATE = "state"
_LANE = "lane-"
_BLOCK_BYTES = 512
_MOST_BYTES = 1 << 20
_MODE = 0o644
Ticket = int


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


class Queue:
    """One process's view of a folder's queue; its lane goes with it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lane = f"{_LANE}{uuid.uuid4().hex[:12]}"
        self._state = os.open(folder / _STATE, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT, _MODE)
        # a lane is made and looked at under the state's lock alone: one that is not locked yet would pass for a dead one
        fcntl.flock(self._state, fcntl.LOCK_EX)
        try:
            handle = try_lock(folder / self._lane)
            assert handle is not None
            self._end = weakref.finalize(self, _leave_lane, folder / self._lane, handle, self._state)
            for path in folder.glob(f"{_LANE}*"):
                self._is_live(path.name)
        finally:
            fcntl.flock(self._state, fcntl.LOCK_UN)

    def close(self) -> None:
        """Leave the queue, with every ticket; also happens when nobody has this view any more."""
        self._end()

    @property
    def closed(self) -> bool:
        """Whether this view has left."""
        return not self._end.alive

    @contextmanager
    def held(self) -> Iterator["HeldQueue | None"]:
        """The queue under its lock, written back at the end; None where another has it at this moment."""
        try:
            fcntl.flock(self._state, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        try:
            queue = HeldQueue(self, self._lane, self._read())
            yield queue
            self._write(queue.document())
        finally:
            fcntl.flock(self._state, fcntl.LOCK_UN)

    def _read(self) -> Any:
        self._held = os.pread(self._state, _MOST_BYTES, 0)
        try:
            return json.loads(self._held)
        except ValueError:
            return None

    def _write(self, document: Mapping[str, Any]) -> None:
        """Replace the state by one write, never shorter than what was there: it is never seen in part."""
        data = json.dumps(document).encode()
        size = max(len(self._held), -len(data) // _BLOCK_BYTES * -_BLOCK_BYTES)
        data = data.ljust(size)
        if data != self._held:
            os.pwrite(self._state, data, 0)

    def _is_live(self, lane: str) -> bool:
        """Whether a lane's process lives; a dead one's file is removed."""
        if lane == self._lane:
            return True
        try:
            handle = try_lock(self._folder / lane, create=False)
        except FileNotFoundError:
            return False
        if handle is None:
            return True
        _leave_lane(self._folder / lane, handle)
        return False


def _leave_lane(path: Path, *handles: int) -> None:
    path.unlink(missing_ok=True)
    for handle in handles:
        os.close(handle)


class HeldQueue:
    """The queue as read; what is changed here is written when its lock is given up."""

    def __init__(self, queue: Queue, lane: str, document: Any) -> None:
        known = document if isinstance(document, dict) else {}
        self.pace: Any = known.get("pace")
        self._queue = queue
        self._own = lane
        self._tickets: list[tuple[int, str]] = _tickets(known.get("tickets"))
        self._next = max([_number(known.get("next")), *(n + 1 for n, _ in self._tickets)])

    def document(self) -> dict[str, Any]:
        """What is written."""
        return {"pace": self.pace, "next": self._next, "tickets": [list(ticket) for ticket in self._tickets]}

    def enter(self) -> Ticket:
        """A place at the end."""
        number = self._next
        self._next += 1
        self._tickets.append((number, self._own))
        return number

    def leave(self, ticket: Ticket) -> None:
        """Give a place up."""
        self._tickets = [t for t in self._tickets if t != (ticket, self._own)]

    def before(self, ticket: Ticket) -> int:
        """Live tickets before this one; those of dead processes are removed."""
        lanes = {lane for _, lane in self._tickets}
        dead = {lane for lane in lanes if not self._queue._is_live(lane)}  # noqa: SLF001
        self._tickets = [t for t in self._tickets if t[1] not in dead]
        if (ticket, self._own) not in self._tickets:
            # the state was lost, with all that stood in it: take the old place again
            self._tickets = sorted([*self._tickets, (ticket, self._own)])
            self._next = max(self._next, ticket + 1)
        return sum(number < ticket for number, _ in self._tickets)


def _tickets(value: Any) -> list[tuple[int, str]]:
    rows = value if isinstance(value, list) else []
    pairs = [row for row in rows if isinstance(row, list) and len(row) == 2]
    return [(number, lane) for number, lane in pairs if isinstance(number, int) and isinstance(lane, str)]


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 1
