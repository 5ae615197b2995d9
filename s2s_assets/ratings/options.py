"""How a command is told what a ratings file calls things: `--columns rater=worker,prompt=item`, `--scores 'left=1,tie=0'`."""

from collections.abc import Iterator
from pathlib import Path

import click


def _pairs(text: str, expected: str, split: str) -> dict[str, str]:
    """`a=b,c=d` as a mapping, each part split at its `first` or `last` equals sign."""
    pairs: dict[str, str] = {}
    for name, value in _parts(text, split):
        if not name or not value or name in pairs:
            raise click.BadParameter(f"{text!r}: expected {expected}, each once")
        pairs[name] = value
    if not pairs:
        raise click.BadParameter(f"{text!r}: expected {expected}, each once")
    return pairs


def _parts(text: str, split: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, map(str.strip, text.split(","))):
        left, sign, right = part.partition("=") if split == "first" else part.rpartition("=")
        yield (left.strip(), right.strip()) if sign else ("", "")


def read_columns(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, str]:
    """The contract's name → the file's name."""
    return {} if text is None else _pairs(text, "name=column pairs, such as rater=worker,prompt=item", "first")


def read_scores(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, int] | None:
    """Label → score; None where scores are numbers already."""
    if text is None:
        return None
    expected = "label=score pairs with integers from -3 to 3, such as left=1,tie=0,right=-1"
    try:
        scores = {label: int(score) for label, score in _pairs(text, expected, "last").items()}
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected {expected}") from None
    if not all(-3 <= score <= 3 for score in scores.values()):
        raise click.BadParameter(f"{text!r}: expected {expected}")
    return scores


columns_option = click.option(
    "--columns", callback=read_columns, help="The file's names for columns: rater=worker,prompt=item."
)
scores_option = click.option("--scores", callback=read_scores, help="What score labels mean: left=1,tie=0,right=-1.")
by_option = click.option(
    "--by",
    type=click.Choice(["config", "model", "voice", "thinking", "family"]),
    default="config",
    show_default=True,
    help="What is ranked; all but config need config keys.",
)
families_option = click.option(
    "--families", type=click.Path(path_type=Path), help="YAML, family: [models]. Default: the study's."
)
