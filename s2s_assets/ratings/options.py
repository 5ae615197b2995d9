"""How a command is told what a ratings file calls things: `--columns rater=worker,prompt=item`, `--scores 'left=1,tie=0'`."""

import click


def _pairs(text: str, expected: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(sign and name.strip() and value.strip() for name, sign, value in pairs):
        raise click.BadParameter(f"{text!r}: expected {expected}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def read_columns(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, str]:
    """The contract's name → the file's name."""
    return {} if text is None else _pairs(text, "name=column pairs, such as rater=worker,prompt=item")


def read_scores(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, int] | None:
    """Label → score; None where scores are numbers already."""
    if text is None:
        return None
    expected = "label=score pairs with scores from -3 to 3, such as left=1,tie=0,right=-1"
    pairs = _pairs(text, expected)
    try:
        scores = {label: int(score) for label, score in pairs.items()}
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected {expected}") from None
    if not all(-3 <= score <= 3 for score in scores.values()):
        raise click.BadParameter(f"{text!r}: expected {expected}")
    return scores


columns_option = click.option(
    "--columns", callback=read_columns, help="Foreign column names: rater=worker,prompt=item."
)
scores_option = click.option("--scores", callback=read_scores, help="Scores of labels: left=1,tie=0,right=-1.")
