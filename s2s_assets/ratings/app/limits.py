"""How often somebody may ask: buckets that fill with time, in this process's memory.

A sitting is known by its cookie, anybody else by address. Addresses are kept as a keyed hash under a key that is made
anew with each start, and forgotten when a bucket is full again.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable

_SALT = secrets.token_bytes(32)
_MANY = 10_000


class Limiter:
    """Lets each key through `burst` times at once and `rate_per_s` times a second in the long run."""

    def __init__(self, rate_per_s: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate_per_s = rate_per_s
        self._burst = burst
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Take one turn of a key; False where it has none left."""
        now = self._clock()
        with self._lock:
            if len(self._left) > _MANY:
                self._forget_full(now)
            left, at = self._left.get(key, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._rate_per_s)
            allowed = left >= 1
            self._left[key] = (left - allowed, now)
        return allowed

    def _forget_full(self, now: float) -> None:
        full_after_s = self._burst / self._rate_per_s
        self._left = {key: (left, at) for key, (left, at) in self._left.items() if now - at < full_after_s}


def veiled(address: str) -> str:
    """A name for an address that says nothing outside this process."""
    return hashlib.blake2b(address.encode(), key=_SALT, digest_size=16).hexdigest()
