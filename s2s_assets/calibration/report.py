"""The page and the figures of a calibration: tables with every number's Monte-Carlo error, bars, and whether they are met."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

from s2s_assets.calibration.clusters import ClusterStudy
from s2s_assets.calibration.coverage import Claims, Coverage
from s2s_assets.calibration.designs import LEAST_PROMPTS, LEAST_RATERS, null
from s2s_assets.calibration.estimates import Estimate
from s2s_assets.calibration.simulate import Design
from s2s_assets.calibration.study import CALIBRATION_VERSION, Calibration, Effort, Verdict
from s2s_assets.leaderboard import Dot, DotRow, dot_chart
from s2s_assets.ranking import DIAGNOSTICS_VERSION, METHOD_VERSION
from s2s_assets.rubrics import METHOD_VERSION as CLUSTERS_VERSION

BARS = {
    "sandwich": "Sandwich intervals cover 93 to 97 %",
    "bootstrap": "Bootstrap intervals cover at least 95 %",
    "pairs": "A simultaneous interval of a difference misses in at most 5 % of studies",
    "clusters": "Without clusters a partition is reproduced in at most 10 % of studies",
}
"""What must hold, by the name that verdicts give it."""
_PAGE = Template((Path(__file__).parent / "page.md").read_text(encoding="utf-8"))
_MISSING = "–"
Cells = Sequence[str]
_DESIGN_HEADS = ("Design", "Names", "Raters", "Prompts", "Ratings", "Effects of raters", "of prompts", "Besides")
_COVERAGE_HEADS = (
    *("Design", "Sandwich, %", "Bootstrap, %", "SE ratio", "of the bootstrap"),
    *("Width, Elo", "of the bootstrap", "Truth"),
)
_PAIR_HEADS = (
    *("Design", "Some interval misses, %: simultaneous", "pairwise"),
    *("False claim, %: simultaneous", "pairwise", "overlap"),
)
_FOUND_HEADS = ("Design", "True differences found, %: simultaneous", "pairwise", "overlap")
_CLUSTER_HEADS = (
    *("Design", "Reproduced, %", "and as planted, %"),
    *("Reliability", "by chance, 95 %", "above it, %", "ARI with 7 + 5"),
)


def versions() -> dict[str, str]:
    """The versions of everything that the numbers depend on."""
    return {
        "ranking": METHOD_VERSION,
        "diagnostics": DIAGNOSTICS_VERSION,
        "clusters": CLUSTERS_VERSION,
        "calibration": CALIBRATION_VERSION,
    }


def sizes(effort: Effort) -> dict[str, int]:
    """How much was simulated, in numbers."""
    return {name: value for name, value in vars(effort).items() if isinstance(value, int)}


def versions_line(effort: str) -> str:
    """The page's second line: what made it."""
    said = ", ".join(f"{what} `{version}`" for what, version in versions().items())
    return f"Made by `s2s calibrate --{effort}` with {said}."


def page(found: Calibration, figures: str) -> str:
    """The page in Markdown.

    Args:
        found: the calibration.
        figures: where the figures lie, seen from the page.
    """
    effort, of_all = found.effort, found.coverage
    different = [c for c in of_all if not null(c.design)]
    tables = {
        "bars": _table(("What must hold", "Designs", "Found, %", "Met"), _verdict_rows(found.verdicts)),
        "designs": _table(_DESIGN_HEADS, [_design_row(c.design) for c in of_all]),
        "coverage": _table(_COVERAGE_HEADS, [_coverage_row(c) for c in of_all]),
        "pairs": _table(_PAIR_HEADS, [_pairs_row(c) for c in of_all]),
        "differences": _table(_FOUND_HEADS, [_found_row(c) for c in different]),
        "clusters": _table(_CLUSTER_HEADS, [_cluster_row(c) for c in found.clusters]),
    }
    numbers = {name: f"{n:,}" for name, n in sizes(effort).items()}
    return _PAGE.substitute(
        made_by=versions_line(effort.name),
        in_words="\n\n".join(_in_words(found)),
        figures=figures,
        least_raters=LEAST_RATERS,
        least_prompts=LEAST_PROMPTS,
        **tables,
        **numbers,
    )


def figures(found: Calibration) -> dict[str, str]:
    """The figures as SVG, by name."""
    coverage = [DotRow(c.design.name, (_dot(c.sandwich), _dot(c.bootstrap))) for c in found.coverage]
    pairs = [DotRow(c.design.name, (_dot(c.simultaneous.missed), _dot(c.pairwise.missed))) for c in found.coverage]
    clusters = [
        DotRow(c.design.name, (_dot(c.reproduced), None if c.noise_only else _dot(c.found))) for c in found.clusters
    ]
    unit = "% of studies, with two Monte-Carlo errors"
    return {
        "coverage": dot_chart(
            coverage,
            ("sandwich", "bootstrap"),
            "Coverage of 95 % intervals",
            "% of names, with two Monte-Carlo errors; shaded: the sandwich's bar",
            band=(93.0, 97.0),
        ),
        "pairs": dot_chart(
            pairs,
            ("simultaneous intervals", "pairwise intervals"),
            "Studies in which the interval of some difference misses",
            f"{unit}; shaded: the bar of simultaneous ones",
            band=(0.0, 5.0),
        ),
        "clusters": dot_chart(
            clusters, ("reproduced", "reproduced, and the planted one"), "Studies with a reproduced partition", unit
        ),
    }


def bar_rows(verdicts: Sequence[Verdict]) -> list[tuple[str, str, str, str]]:
    """By bar: what must hold, for how many designs, what was found, and whether it is met."""
    rows = []
    for bar, said in BARS.items():
        of_bar = [v for v in verdicts if v.bar == bar]
        known = [(v.found.value, v) for v in of_bar if v.found is not None]
        ends = [pick(known, key=lambda k: k[0])[1] for pick in (min, max)] if known else []
        failing = ", ".join(v.design for v in of_bar if not v.met)
        found = " to ".join(dict.fromkeys(f"{_percent(v.found)} ({v.design})" for v in ends))
        rows.append((said, str(len(of_bar)), found or _MISSING, f"no: {failing}" if failing else "yes"))
    return rows


def _verdict_rows(verdicts: Sequence[Verdict]) -> list[Cells]:
    return [(said, n, found, met if met == "yes" else f"**{met}**") for said, n, found, met in bar_rows(verdicts)]


def _in_words(found: Calibration) -> list[str]:
    """What the tables come to, in their own numbers."""
    widths = [
        (c.bootstrap_width.value / c.sandwich_width.value, c)
        for c in found.coverage
        if c.sandwich_width is not None and c.bootstrap_width is not None
    ]
    ratios = [ratio for ratio, c in widths if c.judged]
    said = []
    if ratios:
        said.append(
            f"The bootstrap's intervals are {min(ratios):.2f} to {max(ratios):.2f} times as wide as the sandwich's in these "
            "designs:\nit counts the noise of a single answer more than once (Owen 2007)."
        )
    equal = [c for c in found.coverage if null(c.design)]
    if equal:
        said.append(
            "Where all names are equal some pair is told apart, in % of studies, "
            f"by simultaneous intervals {_range(c.simultaneous.false for c in equal)},\n"
            f"by pairwise ones {_range(c.pairwise.false for c in equal)}, "
            f"by overlap {_range(c.overlap.false for c in equal)}."
        )
    return said


def _range(values: Iterable[Estimate]) -> str:
    known = sorted(100 * v.value for v in values)
    return " to ".join(dict.fromkeys((f"{known[0]:.1f}", f"{known[-1]:.1f}")))


def _design_row(design: Design) -> Cells:
    besides = [
        f"{design.pairs_per_unit} pairs by a rater on a prompt" if design.pairs_per_unit > 1 else "",
        f"loads of raters log-normal, sd {design.load_sd:g}" if design.load_sd else "",
        "all names equal" if null(design) else "",
    ]
    sizes = (design.entities, design.raters, design.prompts, design.ratings)
    effects = (f"{design.rater_sd:g}", f"{design.prompt_sd:g}")
    return (design.name, *(f"{n:,}" for n in sizes), *effects, "; ".join(filter(None, besides)))


def _coverage_row(c: Coverage) -> Cells:
    return (
        _name(c),
        _percent(c.sandwich),
        _percent(c.bootstrap),
        _number(c.sandwich_ratio, 2),
        _number(c.bootstrap_ratio, 2),
        _number(c.sandwich_width, 1),
        _number(c.bootstrap_width, 1),
        _MISSING if c.truth_error is None else f"{c.truth_error:.2f}",
    )


def _pairs_row(c: Coverage) -> Cells:
    missed = (_percent(c.simultaneous.missed), _percent(c.pairwise.missed))
    return (_name(c), *missed, *(_percent(claims.false) for claims in _ways(c)))


def _found_row(c: Coverage) -> Cells:
    return (_name(c), *(_percent(claims.found) for claims in _ways(c)))


def _ways(c: Coverage) -> tuple[Claims, Claims, Claims]:
    return c.simultaneous, c.pairwise, c.overlap


def _cluster_row(c: ClusterStudy) -> Cells:
    return (
        c.design.name,
        _percent(c.reproduced),
        _MISSING if c.noise_only else _percent(c.found),
        _number(c.reliability, 2),
        _number(c.chance_high, 2),
        _percent(c.above_chance),
        _number(c.agreement, 2),
    )


def _name(c: Coverage) -> str:
    failed = f" ({c.failed} studies without intervals)" if c.failed else ""
    return f"{c.design.name if c.judged else f'*{c.design.name}*'}{failed}"


def _dot(found: Estimate | None) -> Dot | None:
    if found is None:
        return None
    value, reach = 100 * found.value, 200 * found.error
    return Dot(value, max(value - reach, 0.0), min(value + reach, 100.0))


def _percent(found: Estimate | None) -> str:
    return _MISSING if found is None else f"{100 * found.value:.1f} ± {100 * found.error:.1f}"


def _number(found: Estimate | None, decimals: int) -> str:
    return _MISSING if found is None else f"{found.value:.{decimals}f} ± {found.error:.{decimals}f}"


def _table(heads: Cells, rows: Sequence[Cells]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    rule = "| --- | " + " | ".join("---:" for _ in heads[1:]) + " |"
    return "\n".join([lines[0], rule, *lines[1:]])
