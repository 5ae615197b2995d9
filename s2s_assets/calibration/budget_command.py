"""`s2s budget`: how many raters, prompts and ratings a study needs, from a pilot or from assumptions."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from s2s_assets.calibration.assumptions import Assumptions, assume_option
from s2s_assets.calibration.budget import budget
from s2s_assets.calibration.budget_files import Budget, foretold_of_pilot, write_budget
from s2s_assets.calibration.budget_text import show
from s2s_assets.calibration.goals import Decided, Within
from s2s_assets.ranking import ELO_PER_STRENGTH, VarianceComponents, assumed_components, pilot_components
from s2s_assets.ratings import Reading, by_option, families_option, reading_options
from s2s_assets.study import OVERALL, By, InputError, PilotError, families_of
from s2s_assets.study.console import emit, guard, json_option, progress, remark, writing

_RATERS, _PROMPTS = (20, 50, 100, 200), (100, 400, 800)
"""Tried without a pilot."""
_TIMES = (1, 2, 4)
"""Of a pilot's own numbers, tried with one."""


class _Finite(click.FloatRange):
    """A range of real numbers, which NaN and ∞ are not in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number.

        Raises:
            BadParameter: it is none, or not in the range.
        """
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def _counts(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, ...]:
    """`20,50,100` as numbers."""
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected whole numbers, such as 20,50,100") from None


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@assume_option
@click.option("--within", type=_Finite(min=0, min_open=True), help="Every 95 % interval within ± so many Elo.")
@click.option("--pair", nargs=2, help="Two names to tell apart, by the difference that the pilot observed.")
@click.option(
    "--difference",
    type=_Finite(min=0, min_open=True),
    help="The true difference in Elo that is to be decided; without --pair of any two.",
)
@click.option(
    "--power",
    type=_Finite(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="With which a difference is to be decided, at 5 %, two-sided.",
)
@click.option("--simultaneous", is_flag=True, help="One error rate for all pairs together, as letters have it.")
@click.option("--raters", callback=_counts, help="Numbers to try: 20,50,100. Default: the pilot's, twice, four times.")
@click.option("--prompts", callback=_counts, help="Numbers to try. Default: the pilot's, twice, four times.")
@click.option(
    "--ratings-per-pair", callback=_counts, default="1,2,4", show_default=True, help="Ratings of a pair to look at."
)
@click.option(
    "--pairs-per-prompt",
    type=_Finite(min=1),
    help="Pairs compared on a prompt. Default: the pilot's; assumed: as many as entities, one tour.",
)
@click.option("--ratings-per-rater", type=_Finite(min=1), help="A rater gives at most so many, on average.")
@click.option("--even", is_flag=True, help="All raters equally busy; by default they are as uneven as in the pilot.")
@click.option("--rubric", help="The pilot's rubric. Default: overall, or the only one.")
@by_option
@families_option
@reading_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the table and the plots.")
@json_option
@guard
def command(
    file: Path | None,
    assume: Assumptions | None,
    within: float | None,
    pair: tuple[str, str] | None,
    difference: float | None,
    power: float,
    simultaneous: bool,
    raters: tuple[int, ...],
    prompts: tuple[int, ...],
    ratings_per_pair: tuple[int, ...],
    pairs_per_prompt: float | None,
    ratings_per_rater: float | None,
    even: bool,
    rubric: str | None,
    by: By,
    families: Path | None,
    reading: Reading,
    out: Path | None,
    as_json: bool,
) -> None:
    """Plan a study: the raters, prompts and ratings of a pair that it needs.

    FILE is a pilot, a ratings file as `s2s rank` takes it; --assume plans without one. Nothing is simulated: the parts of the
    pilot's variance (raters, prompts, pairs on a prompt, chance) are carried over to studies of other sizes.
    """
    if (file is None) == (assume is None):
        raise InputError("expected a ratings FILE or --assume, and not both")
    if out is not None:
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
    foretold = None
    if file is not None:
        components, source = _of_pilot(file, reading, rubric, by, families)
        foretold = foretold_of_pilot(components)
        components = components.resized(_pairs(components, pairs_per_prompt))
    elif assume is not None:
        components = assumed_components(**assume.arguments(), pairs_per_prompt=pairs_per_prompt)
        source = {"file": None, "assumed": assume.document(), "input": None, "rubric": None, "by": None}
    if even:
        components = components.even()
    narrow = None if within is None else Within(within)
    decided = _decided(components, pair, difference, power, simultaneous)
    raters, prompts = _tried(components, raters, prompts)
    with progress("looking at designs", len(set(raters)) * len(set(prompts))) as advance:
        choices = budget(
            components,
            raters=raters,
            prompts=prompts,
            ratings_per_pair=ratings_per_pair,
            goals=[goal for goal in (narrow, decided) if goal is not None],
            most_per_rater=ratings_per_rater,
            progress=advance,
        )
    found = Budget(
        components=components,
        choices=choices,
        within=narrow,
        decided=decided,
        observed=decided is not None and difference is None,
        most_per_rater=ratings_per_rater,
        foretold=foretold,
        source=source,
    )
    if out is not None:
        with writing(out):
            write_budget(found, out)
        remark(f"written: {out / 'budget.csv'}, .json, .parquet and the plots")
    if as_json:
        emit(found.document())
    else:
        show(found)


def _of_pilot(
    file: Path, reading: Reading, rubric: str | None, by: By, families: Path | None
) -> tuple[VarianceComponents, dict[str, Any]]:
    read = reading.read(file, remark)
    wanted = _rubric(file, read.frame["rubric"].unique().sort().to_list(), rubric)
    try:
        components = pilot_components(
            read.frame.drop("excluded_by", strict=False),
            rubric=wanted,
            by=by,
            families=families_of(families) if by == "family" else {},
        )
    except PilotError as error:
        raise PilotError(
            f"{file}: {error}. Without such a pilot: s2s budget --assume raters=0.35,prompts=0.5,entities=19"
        ) from error
    source = {"file": click.format_filename(file.name), "assumed": None, "input": read.summary()}
    return components, source | {"rubric": wanted, "by": by}


def _rubric(file: Path, present: Sequence[str], rubric: str | None) -> str:
    """The rubric asked for; without one `overall`, or the only one there is."""
    wanted = rubric or (present[0] if len(present) == 1 else OVERALL)
    if wanted not in present:
        raise InputError(f"{file}: no rubric {wanted!r}; choose one of {', '.join(present)} with --rubric")
    return wanted


def _pairs(components: VarianceComponents, pairs: float | None) -> float:
    """Pairs on a prompt: those asked for, else the pilot's."""
    n = len(components.entities)
    if pairs is not None and pairs > n * (n - 1) / 2:
        raise InputError(f"--pairs-per-prompt {pairs:g}: {n} entities make {n * (n - 1) // 2} pairs")
    return components.arrangement.pairs_per_prompt if pairs is None else pairs


def _decided(
    components: VarianceComponents,
    pair: tuple[str, str] | None,
    difference: float | None,
    power: float,
    simultaneous: bool,
) -> Decided | None:
    """What is to be told apart, by an observed difference where none is given."""
    if pair is None:
        return None if difference is None else Decided(difference, power, None, simultaneous)
    if components.pilot is None:
        raise InputError("--pair names entities of a pilot; with --assume, --difference says what any two differ by")
    unknown = [name for name in pair if name not in components.entities]
    if unknown or pair[0] == pair[1]:
        wrong = f"no {unknown[0]!r}" if unknown else "two different names are needed"
        raise InputError(f"--pair: {wrong}; the pilot has {', '.join(components.entities)}")
    a, b = (components.entities.index(name) for name in pair)
    observed = float(ELO_PER_STRENGTH * abs(components.strengths[a] - components.strengths[b]))
    if difference is None and observed == 0:
        raise InputError(f"--pair: {pair[0]} and {pair[1]} do not differ in the pilot; give --difference")
    return Decided(observed if difference is None else difference, power, (a, b), simultaneous)


def _tried(
    components: VarianceComponents, raters: tuple[int, ...], prompts: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pilot = components.pilot
    if pilot is None:
        return raters or _RATERS, prompts or _PROMPTS
    return raters or tuple(n * pilot.raters for n in _TIMES), prompts or tuple(n * pilot.prompts for n in _TIMES)
