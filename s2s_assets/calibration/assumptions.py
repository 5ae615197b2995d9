"""How a command is told what to assume in place of a pilot: `--assume raters=0.35,prompts=0.5,entities=19`."""

from dataclasses import dataclass
from typing import Any

import click

_EXPECTED = (
    "expected raters=SD,prompts=SD,entities=N in logits, such as raters=0.35,prompts=0.5,entities=19, and where wanted "
    "thresholds=0.45/1.6/3 and spread=SD of the strengths"
)


@dataclass(frozen=True)
class Assumptions:
    """What is assumed; spreads in logits."""

    rater_sd: float
    prompt_sd: float
    entities: int
    thresholds: tuple[float, ...] = (0.45, 1.6, 3.0)
    strengths_sd: float = 0.0

    def arguments(self) -> dict[str, Any]:
        """As `assumed_components` takes them."""
        return dict(vars(self))

    def document(self) -> dict[str, Any]:
        """As JSON has them."""
        return vars(self) | {"thresholds": list(self.thresholds)}


def read_assumptions(_context: click.Context, _option: click.Parameter, text: str | None) -> Assumptions | None:
    """The text of `--assume` as a record."""
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    given = {name.strip(): value.strip() for name, _, value in parts}
    known = {"raters", "prompts", "entities", "thresholds", "spread"}
    if len(given) < len(parts) or not {"raters", "prompts", "entities"} <= given.keys() <= known:
        raise click.BadParameter(f"{text!r}: {_EXPECTED}")
    try:
        return Assumptions(
            rater_sd=float(given["raters"]),
            prompt_sd=float(given["prompts"]),
            entities=int(given["entities"]),
            thresholds=tuple(float(t) for t in given.get("thresholds", "0.45/1.6/3").split("/")),
            strengths_sd=float(given.get("spread", "0")),
        )
    except ValueError:
        raise click.BadParameter(f"{text!r}: {_EXPECTED}") from None


assume_option = click.option(
    "--assume",
    callback=read_assumptions,
    metavar="raters=SD,prompts=SD,entities=N",
    help="Plan without a pilot: the spread of a rater's and of a prompt's effect on an entity, in logits; also "
    "thresholds=0.45/1.6/3, spread=0 (of the strengths).",
)
