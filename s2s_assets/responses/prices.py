"""List prices by provider and model: the table that ships with the package, with what a study says in its place.

A table has a version, which is kept with every cost; where a study replaces prices, a hash of those is part of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from s2s_assets.study import Price, Provider, digest


@dataclass(frozen=True)
class PriceTable:
    """Prices and the version of the table."""

    version: str
    prices: Mapping[tuple[str, str], Price]
    """By provider, as the study names it, and model."""

    def price(self, provider: str, model: str) -> Price | None:
        """The price of a provider's model; None where it is not known."""
        return self.prices.get((provider, model))


def price_table(providers: Mapping[str, Provider] | None = None) -> PriceTable:
    """The built-in table with the prices of a study's `providers` in its place."""
    built_in = _built_in()
    own = {(name, model): price for name, p in (providers or {}).items() for model, price in p.prices.items()}
    if not own:
        return built_in
    said = digest([[*key, price.model_dump(mode="json")] for key, price in sorted(own.items())])
    return PriceTable(f"{built_in.version}+{said[:8]}", {**built_in.prices, **own})


@cache
def _built_in() -> PriceTable:
    document: dict[str, Any] = yaml.safe_load((files("s2s_assets.responses") / "prices.yaml").read_text("utf-8"))
    prices = {
        (provider, model): Price.model_validate(fields)
        for provider, models in document["prices"].items()
        for model, fields in models.items()
    }
    return PriceTable(document["version"], prices)
