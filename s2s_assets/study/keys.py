"""Config keys: `model|voice|thinking`, the name of a partition.

Dagster accepts any text as a dynamic partition key, so the alphabet is held here: where a key enters and again where an
asset starts. Object stores see `|` as `/`; since `/` is not in the alphabet that mapping has an inverse.
"""

import re
from typing import NamedTuple, Self

from s2s_assets.study.errors import ConfigKeyError

NO_THINKING = "none"
_PART = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,63}")


class ConfigKey(NamedTuple):
    """A model, one of its voices and one of its thinking levels (`none` where it has none)."""

    model: str
    voice: str
    thinking: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key.

        Raises:
            ConfigKeyError: not three parts joined by `|`, or a part outside `[A-Za-z0-9._+-]{1,64}`, with a leading
                dot, or with two dots in a row.
        """
        parts = text.split("|")
        if len(parts) != 3 or not all(_PART.fullmatch(p) and ".." not in p for p in parts):
            raise ConfigKeyError(
                f"config key {text[:200]!r}: expected model|voice|thinking, each of letters, digits and . _ + - "
                f"(thinking is {NO_THINKING!r} for a model without thinking levels)"
            )
        return cls(*parts)

    def __str__(self) -> str:
        return "|".join(self)

    @property
    def path(self) -> str:
        """The key as part of an object key; injective."""
        return "/".join(self)
