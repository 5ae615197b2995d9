"""Requests of a provider at once, and one collection of a config at a time, over all processes of this machine.

Each provider has a folder of slot files, `HOME/limits/PROVIDER/slot-NN`. A request holds an exclusive `flock` on one of
the first `limit` files for as long as it runs. The kernel gives a lock back when its holder ends, however it ends, so
a kill leaves nothing to clean up. A process with a lower limit looks at fewer files.

Collecting a config holds the one slot of `HOME/collecting/CONFIG`: whoever comes second waits, and then finds what the
first has stored.
"""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_POLL_S = 0.02


class Slots:
    """So many slots of each name, shared through a folder.

    Args:
        folder: where the slot files lie.
        limit: slots of any one name.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit

    @asynccontextmanager
    async def slot(self, name: str) -> AsyncIterator[None]:
        """Hold one of the name's slots; waits until one is free."""
        folder = self._folder / re.sub(r"[^A-Za-z0-9._-]", "_", name)
        folder.mkdir(parents=True, exist_ok=True)
        while (handle := self._try(folder)) is None:
            await asyncio.sleep(_POLL_S)
        try:
            yield
        finally:
            os.close(handle)

    def _try(self, folder: Path) -> int | None:
        """An open, locked slot file; None where all are taken."""
        for number in range(self._limit):
            handle = os.open(folder / f"slot-{number:02d}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
            else:
                return handle
        return None


class ProviderLimits(Slots):
    """Requests that any one provider gets at once.

    Args:
        home: state folder of this machine (`S2S_HOME`).
        limit: requests at once.
    """

    def __init__(self, home: Path, limit: int) -> None:
        super().__init__(home / "limits", limit)


def one_collection(home: Path) -> Slots:
    """One slot a config, held while it is collected."""
    return Slots(home / "collecting", 1)
