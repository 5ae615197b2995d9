"""What is known about a fit beside its ranking: as figures of the page, and in words for the terminal.

The page names no rater and no prompt, only what they weigh; the terminal shows names, which are the caller's own.
"""

from collections.abc import Callable, Sequence

from s2s_assets.leaderboard.cross_checks import ENGINES
from s2s_assets.leaderboard.layout import Cell, Head, Table
from s2s_assets.leaderboard.numbers import MISSING, counted, fixed, interval, signed
from s2s_assets.ranking import Diagnostics, Removal

Name = Callable[[str], str]


def figures_table(found: Diagnostics, caption: str, name: Name) -> Table:
    """The headline's figures, a row each, with what they mean."""
    rows = [*_fit_rows(found), *_weight_rows(found, name)]
    heads = (Head("What", "name"), Head("Value"), Head("Meaning", "text"))
    cells = tuple((Cell(what), Cell(text, value), Cell(meaning)) for what, text, value, meaning in rows)
    return Table("diagnostics-figures", caption, heads, cells)


Figure = tuple[str, str, float | None, str]


def _fit_rows(found: Diagnostics) -> list[Figure]:
    rows: list[Figure] = []
    if found.order_effect is not None:
        effect = found.order_effect
        text = f"{signed(effect.shift, 1)} ({interval(effect.low, effect.high, 1)})"
        rows.append(
            ("Order effect, Elo", text, effect.shift, "what an answer gains by being heard first; 95 % interval")
        )
    if found.flexible_thresholds is not None:
        test = found.flexible_thresholds
        meaning = f"p of χ² = {fixed(test.statistic, 1)} on {test.df}, small: not symmetric, or answers go together"
        rows.append(("Symmetric thresholds", fixed(test.p, 3), test.p, meaning))
    if found.misfit_share is not None:
        text = fixed(found.misfit_share, 3)
        rows.append(("Pairs that do not fit", text, found.misfit_share, "share beyond ±1.96 errors; 0.05 is expected"))
    if found.variance is not None:
        for part, share in vars(found.variance).items():
            rows.append((f"Uncertainty from {part}", fixed(share, 2), share, "share of the variance of the strengths"))
    if found.max_t is not None:
        meaning = "standard errors to either side that hold for all differences together"
        rows.append(("Simultaneous half-width", fixed(found.max_t, 2), found.max_t, meaning))
    return rows


def _weight_rows(found: Diagnostics, name: Name) -> list[Figure]:
    rows: list[Figure] = []
    for who, heaviest, most in (
        ("rater", found.heaviest_rater, found.influential_raters),
        ("prompt", found.heaviest_prompt, found.influential_prompts),
    ):
        if heaviest is not None:
            rows.append((f"Busiest {who}", fixed(heaviest.share, 3), heaviest.share, "share of the answers"))
        if most and most[0].shift is not None and most[0].entity is not None:
            moved = f"Elo of {name(most[0].entity)} without that {who}; {_swaps(most[0])}"
            rows.append((f"Most influential {who}", signed(most[0].shift, 1), most[0].shift, moved))
    return rows


def _swaps(removal: Removal) -> str:
    return f"{removal.swaps} pair{'s' * (removal.swaps != 1)} would turn round"


def score_table(found: Diagnostics, caption: str) -> Table:
    """Observed and expected number of answers by |score|."""
    heads = (Head("Score, either way", "name"), Head("Observed"), Head("Expected"))
    rows = tuple(
        (Cell(f"±{s.score}" if s.score else "0"), Cell(counted(s.observed), s.observed), _real(s.expected, 0))
        for s in found.scores
    )
    return Table("diagnostics-scores", caption, heads, rows)


def misfit_table(found: Diagnostics, caption: str, name: Name) -> Table:
    """The pairs whose own answers are farthest from the fit."""
    heads = (
        *(Head("Name", "name"), Head("Against", "name"), Head("Ratings"), Head("Mean score"), Head("Expected")),
        *(Head("Shift of the pair"), Head("In standard errors", order="none")),
    )
    rows = tuple(
        (
            *(Cell(name(m.a)), Cell(name(m.b)), Cell(counted(m.n), m.n)),
            *(_real(m.mean_score, 2, signed), _real(m.expected_score, 2, signed)),
            *(_real(m.shift, 0, signed), _real(m.z, 1, signed)),
        )
        for m in found.misfits
    )
    return Table("diagnostics-misfits", caption, heads, rows)


def order_table(found: Diagnostics, caption: str, name: Name) -> Table:
    """Pairs that another engine orders the other way."""
    heads = (Head("Ahead", "name"), Head("Behind", "name"), Head("Difference"), Head("Turned round by", "text"))
    rows = tuple(
        (Cell(name(d.ahead)), Cell(name(d.behind)), _real(d.difference, 1, signed), Cell(ENGINES[d.engine]))
        for d in found.order_differences
    )
    return Table("order-differences", caption, heads, rows)


def slice_note(found: Diagnostics | None) -> str:
    """Whether the slices of an attribute rank differently at all; nothing where there is no test."""
    if found is None or found.slice_test is None:
        return ""
    test = found.slice_test
    said = "differ by more than chance" if test.p < 0.05 else "are not shown to differ"
    return (
        f"The strengths {said} between {len(test.values)} slices: F = {fixed(test.statistic, 2)} on "
        f"{fixed(test.df, 1)} and {fixed(test.df_error)} degrees, p {_p(test.p)} (two-way clustered)."
    )


def sentences(found: Diagnostics) -> list[str]:
    """The diagnostics of one fit in words, with the names of raters and prompts."""
    said = []
    if found.order_effect is not None:
        effect = found.order_effect
        ends = "no interval" if effect.low is None else interval(effect.low, effect.high, 1)
        said.append(f"heard first gains {signed(effect.shift, 1)} Elo ({ends})")
    if found.flexible_thresholds is not None:
        test = found.flexible_thresholds
        said.append(f"thresholds symmetric: p {_p(test.p)} (LR {fixed(test.statistic, 1)} on {test.df})")
    if found.misfits:
        worst = found.misfits[0]
        said.append(
            f"largest misfit {worst.a} – {worst.b}: mean score {signed(worst.mean_score, 2)} where "
            f"{signed(worst.expected_score, 2)} is expected (z = {fixed(worst.z, 1)})"
        )
    if found.variance is not None:
        shares = ", ".join(f"{part} {100 * share:.0f} %" for part, share in vars(found.variance).items())
        said.append(f"uncertainty from {shares}")
    said += _weights("rater", found.heaviest_rater, found.influential_raters)
    said += _weights("prompt", found.heaviest_prompt, found.influential_prompts)
    turned = sorted({f"{d.ahead} – {d.behind}" for d in found.order_differences})
    said += [f"other engines turn round {', '.join(turned[:5])}{' …' if len(turned) > 5 else ''}"] if turned else []
    note = slice_note(found)
    return [*said, note[:1].lower() + note[1:-1]] if note else said


def _weights(who: str, heaviest: Removal | None, most: Sequence[Removal]) -> list[str]:
    said = []
    if heaviest is not None:
        said.append(f"busiest {who} {heaviest.name} ({100 * heaviest.share:.1f} % of the ratings)")
    if most and most[0].shift is not None:
        said.append(
            f"without {who} {most[0].name} {most[0].entity} would move by {signed(most[0].shift, 1)} Elo, "
            f"{_swaps(most[0])}"
        )
    return said


def _p(p: float) -> str:
    return "under 0.001" if p < 0.001 else f"= {fixed(p, 3)}"


def _real(value: float | None, decimals: int, printed: Callable[[float | None, int], str] = fixed) -> Cell:
    return Cell(MISSING) if value is None else Cell(printed(value, decimals), value)
