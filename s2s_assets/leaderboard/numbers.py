"""How numbers are printed: a true minus, no false decimals, a dash for what is missing."""

MISSING = "–"
MINUS = "−"


def fixed(value: float | None, decimals: int = 0) -> str:
    """A number with so many decimals; `–` for None; never `−0`."""
    if value is None:
        return MISSING
    text = f"{abs(value):.{decimals}f}"
    return f"{MINUS}{text}" if value < 0 and float(text) else text


def signed(value: float | None, decimals: int = 0) -> str:
    """A difference: as `fixed`, with a plus where it is above 0."""
    text = fixed(value, decimals)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def counted(value: int | None) -> str:
    """A count with thousands separators."""
    return MISSING if value is None else f"{value:,}"


def interval(low: float | None, high: float | None, decimals: int = 0) -> str:
    """An interval; an end without bound is ∞; `–` where both are missing."""
    if low is None and high is None:
        return MISSING
    start = f"{MINUS}∞" if low is None else fixed(low, decimals)
    end = "∞" if high is None else fixed(high, decimals)
    return f"{start} to {end}" if MINUS in f"{start}{end}" else f"{start}–{end}"


def rank_range(rank: int | None, low: int | None, high: int | None) -> str:
    """A rank with its range, such as `2 (1–4)`."""
    if rank is None:
        return MISSING
    if low is None or high is None:
        return str(rank)
    return f"{rank} ({low})" if low == high else f"{rank} ({low}–{high})"


def lettered(letters: str | None) -> str:
    """Letters of a name, four or more neighbours as a range: `a`, `bcd`, `c–k`; `–` where there are none."""
    if not letters:
        return MISSING
    runs = [letters[0]]
    for letter in letters[1:]:
        if ord(letter) == ord(runs[-1][-1]) + 1:
            runs[-1] += letter
        else:
            runs.append(letter)
    return "".join(run if len(run) < 4 else f"{run[0]}–{run[-1]}" for run in runs)
