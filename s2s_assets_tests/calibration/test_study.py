"""The study as a whole: its verdicts, its page, its command."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from s2s_assets.calibration import Design, commands
from s2s_assets.calibration.designs import CLUSTERS
from s2s_assets.calibration.estimates import Estimate
from s2s_assets.calibration.report import bar_rows, figures, page
from s2s_assets.calibration.study import Calibration, Effort, calibrate, steps_of

TINY = Effort(
    "quick",
    replications=4,
    resamples=10,
    large=2,
    cluster_replications=2,
    cluster_resamples=10,
    coverage=(
        Design("plain", 3, 30, 100, 400),
        Design("equal", 3, 30, 100, 400, strengths_sd=0.0),
        Design("few | <raters>", 3, 5, 20, 300),
    ),
    clusters=(replace(CLUSTERS[0], rubrics=("p", "q", "r", "s"), groups=(0, 0, 1, 1), loadings=(), ratings=600),),
)


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate(TINY)


def test_processes_change_nothing(found: Calibration) -> None:
    steps: list[int] = []
    assert calibrate(TINY, jobs=2, advance=steps.append) == found
    assert sum(steps) == steps_of(TINY) == 3 * 4 + 2 * 2 + 2


def test_every_bar_is_asked_of_the_designs_that_it_is_for(found: Calibration) -> None:
    asked = [(v.bar, v.design) for v in found.verdicts]
    assert asked == [
        *((bar, design) for bar in ("sandwich", "bootstrap", "pairs") for design in ("plain", "equal")),
        ("clusters", "one axis"),
    ]


@pytest.mark.parametrize(
    ("value", "error", "met"),
    [(0.95, 0.001, True), (0.929, 0.001, True), (0.92, 0.004, False), (0.972, 0.0015, True), (0.98, 0.004, False)],
)
def test_the_sandwich_may_be_two_errors_off(found: Calibration, value: float, error: float, met: bool) -> None:
    plain = replace(found.coverage[0], sandwich=Estimate(value, error))
    changed = replace(found, coverage=(plain, *found.coverage[1:]))
    assert changed.verdicts[0].met == met


@pytest.mark.parametrize(("bar", "worst"), [("bootstrap", 0.949), ("pairs", 0.071), ("clusters", 0.101)])
def test_what_is_not_met_is_said(found: Calibration, bar: str, worst: float) -> None:
    bad = Estimate(worst, 0.01)
    plain = replace(
        found.coverage[0],
        sandwich=Estimate(0.95, 0.01),
        bootstrap=bad if bar == "bootstrap" else Estimate(0.97, 0.01),
        simultaneous=replace(found.coverage[0].simultaneous, missed=bad if bar == "pairs" else Estimate(0.05, 0.01)),
    )
    axis = replace(found.clusters[0], reproduced=bad if bar == "clusters" else Estimate(0.0, 0.01))
    changed = Calibration(TINY, (plain,), (axis,))
    assert [v.bar for v in changed.verdicts if not v.met] == [bar]
    rows = bar_rows(changed.verdicts)
    assert [row[3] for row in rows].count("yes") == 3
    assert f"**no: {'one axis' if bar == 'clusters' else 'plain'}**" in page(changed, "figures")


def test_the_page_has_every_design_in_whole_tables(found: Calibration) -> None:
    text = page(found, "figures")
    assert "$" not in text
    for design in ("plain", "equal", "one axis"):
        assert f"| {design} |" in text
    assert re.search(r"\d\.\d ± \d", text)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 6
    assert {name for name in figures(found) if f"(figures/{name}.svg)" in text} == {"coverage", "pairs", "clusters"}


def test_the_command_writes_page_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "QUICK", replace(TINY, coverage=TINY.coverage[:2], clusters=()))
    out = tmp_path / "new" / "report.md"
    result = CliRunner().invoke(commands.command, ["--jobs", "1", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert list(document) == ["method_versions", "effort", "coverage", "clusters", "bars"]
    assert document["effort"]["replications"] == 4
    assert {b["bar"] for b in document["bars"]} == {"sandwich", "bootstrap", "pairs"}
    assert sorted(p.name for p in (tmp_path / "new" / "report").iterdir()) == sorted(
        f"{name}.{kind}" for name in ("clusters", "coverage", "pairs") for kind in ("png", "svg")
    )
    assert "(report/coverage.svg)" in out.read_text("utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", out.read_text("utf-8")):
        assert (out.parent / link).is_file()


@pytest.mark.parametrize("name", ["page.txt", "file/page.md"])
def test_a_place_that_cannot_be_written_ends_in_2_before_any_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(commands.command, ["--full", "--out", str(tmp_path / name)])
    assert result.exit_code == 2
    assert "--out" in result.output
