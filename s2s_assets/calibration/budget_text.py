"""A budget as tables and words for the terminal."""

from collections.abc import Iterator

from rich.table import Table

from s2s_assets.calibration.budget import Choice, Point
from s2s_assets.calibration.budget_files import Budget, effects, widest
from s2s_assets.study import plural
from s2s_assets.study.console import people, whole

_EFFECTS = {
    "raters": "rater",
    "prompts": "prompt",
    "items": "pair on a prompt",
    "units": "rater on a prompt",
    "noise": "single rating",
}

_UNEVEN = 0.9
"""Share of the raters that their effective number is below where that is said."""


def show(found: Budget) -> None:
    """Print what the pilot has, what is asked, and what each number of raters and prompts comes to."""
    for line in (*_pilot(found), _effects(found), _goal(found)):
        people.print(line)
    for note in found.components.notes:
        people.print(f"  note: {note}")
    people.print(_table(found))
    if any(choice.efficient for choice in found.choices):
        people.print("* no other line needs at most as many raters, prompts and ratings, and fewer of one")


def _pilot(found: Budget) -> Iterator[str]:
    components, source, pilot = found.components, found.source, found.components.pilot
    planned = f"{components.arrangement.pairs_per_prompt:.3g} pairs a prompt"
    if pilot is None:
        yield f"assumed: {plural(len(components.entities), 'entity', 'entities')}, {planned}"
        return
    few = pilot.effective_raters < _UNEVEN * pilot.raters
    uneven = f" (worth {pilot.effective_raters:.0f} equally busy ones)" if few else ""
    yield (
        f"{source['rubric']} by {source['by']}: a pilot of {plural(pilot.ratings, 'rating')}, "
        f"{plural(pilot.raters, 'rater')}{uneven}, {plural(pilot.prompts, 'prompt')}, "
        f"{pilot.pairs_per_prompt:.3g} pairs a prompt, {pilot.ratings_per_pair:.3g} ratings a pair"
    )
    half = widest(components)
    if half is not None:
        yield f"its widest 95 % interval: ±{half[0]:.0f} Elo ({half[1]}); foretold for its size: ±{found.foretold:.0f}"
    if components.arrangement.pairs_per_prompt != pilot.pairs_per_prompt:
        yield f"planned with {planned}"


def _effects(found: Budget) -> str:
    said = ", ".join(f"{_EFFECTS[part]} {size:.0f}" for part, size in effects(found.components).items())
    return f"what one adds to an entity, Elo (it shrinks with the root of their number): {said}"


def _goal(found: Budget) -> str:
    asked = []
    if found.within is not None:
        asked.append(f"every 95 % interval within ±{found.within.elo:g} Elo")
    if found.decided is not None:
        decided, names = found.decided, found.components.entities
        pair = "any two" if decided.pair is None else f"{names[decided.pair[0]]} against {names[decided.pair[1]]}"
        size = f"{decided.difference:.3g} Elo{', as observed' if found.observed else ''}"
        together = ", all pairs together" if decided.simultaneous else ""
        asked.append(f"{pair} ({size}) decided with power {decided.power:g} at 5 %{together}")
    if found.most_per_rater is not None:
        asked.append(f"at most {found.most_per_rater:g} ratings a rater")
    return (
        f"asked: {'; '.join(asked)}" if asked else "nothing asked: --within, --pair or --difference say what is needed"
    )


def _table(found: Budget) -> Table:
    """A line for each number of raters and prompts."""
    power, asked = found.decided is not None, found.within is not None or found.decided is not None
    table = Table(box=None)
    given = sorted({p.plan.ratings_per_pair for c in found.choices for p in c.points if p is not None})
    shown = "power" if power and found.within is None else "±Elo"
    titles = ["raters", "prompts", *(f"{shown} at {m} a pair" for m in given)]
    titles += ["ratings a pair", "ratings", "a rater", "±Elo", "bootstrap"] if asked else []
    titles += ["power"] if power else []
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for choice in found.choices:
        at = [_shown(point, shown) for point in choice.points][: len(given)]
        table.add_row(f"{choice.raters:,}", f"{choice.prompts:,}", *at, *(_needed(choice, power) if asked else [""]))
    return whole(table)


def _shown(point: Point | None, what: str) -> str:
    if point is None:
        return "–"
    return f"{point.power:.2f}" if what == "power" else f"{point.half_width:.0f}"


def _needed(choice: Choice, power: bool) -> list[str]:
    point = choice.needed
    if point is None:
        return ["–"] * (6 if power else 5) + [f"not reachable: {choice.reason}"]
    cells = [
        str(point.plan.ratings_per_pair),
        f"{point.ratings:,}",
        f"{point.ratings / choice.raters:,.0f}",
        f"{point.half_width:.1f}",
        f"{point.half_width_bootstrap:.1f}",
    ]
    cells += [f"{point.power:.2f}"] if power else []
    return [*cells, f"{'*' if choice.efficient else ''}{' fewest ratings' if choice.fewest else ''}".strip()]
