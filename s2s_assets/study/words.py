"""Numbers in sentences for people: a count with its noun, a share as a percentage."""


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun: `1 row`, `2 rows`, `0 entries`.

    Args:
        count: how many.
        noun: of one.
        many: of several, where that is not `noun` with an s.
    """
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"


def percent(share: float, decimals: int = 0) -> str:
    """A share in words: 0.31 is `31 %`."""
    return f"{100 * share:.{decimals}f} %"
