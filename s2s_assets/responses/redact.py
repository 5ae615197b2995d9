"""Keeps secrets out of messages, snapshots and event logs.

Two nets: the very keys of an exchange, plain and percent-encoded, and whatever looks like a key, a bearer token or a
signed URL, whoever sent it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from s2s_assets.study import canonical_json

MASK = "[redacted]"
_SHORTEST = 4
_MARKS = ("sk-", "sk_", "xai-", "xai_", "pk-", "pk_", "rk-", "rk_", "AIza", "earer ")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_LOOKS_SECRET = re.compile(
    r"\b(?:sk|xai|gsk|pk|rk)[-_][A-Za-z0-9_-]{12,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|(?<=[Bb]earer )[^\s\"']{4,}"
    r"|(?<=[?&])(?i:api[-_]?key|key|access_token|token|sig|signature|x-amz-[a-z-]+)=[^&\s\"']+"
)


def _may_hold(text: str) -> bool:
    """Whether a text has anything that every match of `_LOOKS_SECRET` has; plain searches are much quicker than it."""
    return any(mark in text for mark in _MARKS) or ("=" in text and ("?" in text or "&" in text))


class Redactor:
    """Masks an exchange's secrets and anything that looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Secrets shorter than four characters are not looked for: they would mask ordinary text."""
        known = {s for s in secrets if len(s) >= _SHORTEST}
        self._known = sorted(known | {quote(s, safe="") for s in known}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text with every secret masked, and with half surrogates, which no file can hold, replaced."""
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        for secret in self._known:
            text = text.replace(secret, MASK)
        return _LOOKS_SECRET.sub(MASK, text)

    def clean(self, value: Any) -> bool:
        """Whether JSON-like data certainly holds nothing to mask; much quicker than masking it."""
        try:
            return self._is_clean(json.dumps(value, ensure_ascii=False))
        except (TypeError, ValueError):
            return False

    def _is_clean(self, text: str) -> bool:
        """The same of JSON text."""
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        if any(secret in text or json.dumps(secret)[1:-1] != secret for secret in self._known):
            return False
        # an escape stands for a character that no pattern spans; as a blank it hides no beginning of a word
        return not _may_hold(text) or _LOOKS_SECRET.search(_ESCAPE.sub(" ", text)) is None

    def optional(self, text: Any) -> str | None:
        """The text masked, where there is one; None where there is none, or something else in its place."""
        return self.text(text) if isinstance(text, str) else None

    def tree(self, value: Any) -> Any:
        """JSON-like data with every string, keys included, masked: a copy, unless there is nothing to mask."""
        return value if self.clean(value) else self._masked(value)

    def lines(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Lines of canonical JSON, masked as trees."""
        if self._is_clean("\n".join(lines)):
            return tuple(lines)
        return tuple(canonical_json(self._masked(json.loads(line))) for line in lines)

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(k)): self._masked(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._masked(v) for v in value]
        return value
