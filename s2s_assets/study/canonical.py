"""One way to write a value as bytes, and one way to hash it.

Canonical JSON: sorted keys, no spaces, UTF-8 as it is, no NaN. Hashes are SHA-256 in hex.
"""

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """JSON text that is equal for equal values.

    Raises:
        ValueError: NaN or infinity anywhere in the value.
    """
    return _ENCODER.encode(value)


def sha256_hex(data: bytes | str) -> str:
    """SHA-256 of bytes, or of text as UTF-8, in lower-case hex."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return sha256_hex(canonical_json(value))
