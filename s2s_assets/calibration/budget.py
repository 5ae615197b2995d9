"""How many raters, prompts and ratings of a pair a study needs: a search over what `foretell.py` foretells.

For each number of raters and prompts: the smallest number m of ratings of a pair that reaches every goal (more never
widen an interval, so by bisection up to m = R, or to what a rater may give), or which parts of the variance alone are
too much already. Among the choices that reach the goals, one is *efficient* where no other needs at most as many
raters, prompts and ratings, and fewer of one.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from s2s_assets.calibration.foretell import Plan, foretell
from s2s_assets.calibration.goals import Decided, Goal
from s2s_assets.ranking import VarianceComponents
from s2s_assets.study import InputError, plural

BUDGET_VERSION = "budget-1"
"""Changes whenever the same pilot would be given other numbers."""
_PLATEAU = 16
"""Ratings of a pair up to which a curve is followed at least, to where it flattens."""


@dataclass(frozen=True)
class Point:
    """A study that is looked at for what it would have."""

    plan: Plan
    ratings: int
    half_width: float
    """Of the widest sandwich interval, in Elo."""
    entity: str
    """Whose it is."""
    half_width_bootstrap: float
    """Of the widest bootstrap interval."""
    power: float | None
    """Of the difference asked about; None where none was."""


@dataclass(frozen=True)
class Choice:
    """What a number of raters and prompts comes to."""

    raters: int
    prompts: int
    needed: Point | None
    """The study with fewest ratings that reaches all goals; None without goals, or where none does."""
    reason: str | None
    """Why none does."""
    points: tuple[Point | None, ...]
    """At each number of ratings of a pair that was asked about; None where there are too few raters for it."""
    curve: tuple[Point, ...]
    """From one rating of a pair up."""
    efficient: bool = False
    """No other choice that reaches the goals is below it in one of raters, prompts and ratings, and above it in none."""
    fewest: bool = False
    """None has fewer ratings."""


def budget(
    components: VarianceComponents,
    *,
    raters: Sequence[int],
    prompts: Sequence[int],
    ratings_per_pair: Sequence[int] = (1, 2, 4),
    goals: Sequence[Goal] = (),
    most_per_rater: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Choice, ...]:
    """What each number of raters and prompts comes to.

    Args:
        components: of a pilot, or assumed; `VarianceComponents.resized` changes the pairs on a prompt.
        raters: numbers to try, from 2.
        prompts: numbers to try, from 2.
        ratings_per_pair: ratings of a pair on a prompt to look at.
        goals: what is to be reached, all of it.
        most_per_rater: ratings that one rater gives at most, on average.
        progress: told of each choice that is done.

    Returns:
        Choices by raters, then prompts.

    Raises:
        InputError: a number that makes no study.
    """
    if min((*raters, *prompts)) < 2 or min(ratings_per_pair) < 1:
        raise InputError("a study has at least 2 raters, 2 prompts and 1 rating of a pair")
    asked = sorted(set(ratings_per_pair))
    choices = []
    for r, p in itertools.product(sorted(set(raters)), sorted(set(prompts))):
        choices.append(_choice(components, r, p, asked, goals, most_per_rater))
        if progress is not None:
            progress(1)
    return tuple(_compared(choices))


def point_of(components: VarianceComponents, plan: Plan, goals: Sequence[Goal]) -> Point:
    """A study looked at."""
    found = foretell(components, plan)
    widths = found.half_widths
    decided = [goal.value(found) for goal in goals if isinstance(goal, Decided)]
    return Point(
        plan=plan,
        ratings=_ratings(components, plan),
        half_width=float(widths.max()),
        entity=components.entities[int(widths.argmax())],
        half_width_bootstrap=float(found.bootstrap_half_widths.max()),
        power=min(decided) if decided else None,
    )


def _ratings(components: VarianceComponents, plan: Plan) -> int:
    return round(plan.prompts * components.arrangement.pairs_per_prompt * plan.ratings_per_pair)


def _choice(
    components: VarianceComponents,
    raters: int,
    prompts: int,
    asked: Sequence[int],
    goals: Sequence[Goal],
    most_per_rater: float | None,
) -> Choice:
    plan = Plan(raters, prompts, 1)
    per_rating = prompts * components.arrangement.pairs_per_prompt / raters
    most = raters if most_per_rater is None else min(raters, math.floor(most_per_rater / per_rating + 1e-9))
    needed, reason = _needed(components, plan, goals, most) if goals else (None, None)
    points = [point_of(components, replace(plan, ratings_per_pair=m), goals) if m <= raters else None for m in asked]
    farthest = min(max(*asked, needed or 1, _PLATEAU), raters)
    curve = [point_of(components, replace(plan, ratings_per_pair=m), goals) for m in _spaced(farthest)]
    reached = None if needed is None else point_of(components, replace(plan, ratings_per_pair=needed), goals)
    return Choice(raters, prompts, reached, reason, tuple(points), tuple(curve))


def _needed(
    components: VarianceComponents, plan: Plan, goals: Sequence[Goal], most: int
) -> tuple[int | None, str | None]:
    """The smallest number of ratings of a pair that reaches all goals, or why none up to the most does."""
    if most < 1:
        each = plan.prompts * components.arrangement.pairs_per_prompt / plan.raters
        return None, f"one rating of each pair is {each:,.0f} a rater already"

    def missed(m: int) -> Goal | None:
        found = foretell(components, replace(plan, ratings_per_pair=m))
        return next((goal for goal in goals if not goal.reached(found)), None)

    goal = missed(most)
    if goal is not None:
        return None, _why(components, replace(plan, ratings_per_pair=most), goal)
    low, high = 0, most  # missed, reached
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if missed(middle) is None else (middle, high)
    return high, None


def _why(components: VarianceComponents, plan: Plan, goal: Goal) -> str:
    """Which parts alone are too much already."""
    for who, parts in (
        ("raters alone", ("raters",)),
        ("prompts alone", ("prompts", "items")),
        ("raters and prompts", ("raters", "prompts", "items")),
    ):
        found = foretell(components, plan, parts)
        if not goal.reached(found):
            return f"{who} {goal.left(found)}"
    given = plural(int(plan.ratings_per_pair), "rating")
    return f"{given} a pair, all that these raters can give, {goal.left(foretell(components, plan))}"


def _spaced(most: int, count: int = 12) -> list[int]:
    """Whole numbers from 1 to the most, about evenly apart on a scale of ratios."""
    return sorted({round(m) for m in np.geomspace(1, most, count)})


def _compared(choices: Sequence[Choice]) -> Iterator[Choice]:
    reaching = [(c.raters, c.prompts, c.needed.ratings) for c in choices if c.needed is not None]
    for choice in choices:
        if choice.needed is None:
            yield choice
            continue
        own = (choice.raters, choice.prompts, choice.needed.ratings)
        better = any(o != own and all(x <= y for x, y in zip(o, own, strict=True)) for o in reaching)
        fewest = own[2] == min(o[2] for o in reaching)
        yield replace(choice, efficient=not better, fewest=fewest)
