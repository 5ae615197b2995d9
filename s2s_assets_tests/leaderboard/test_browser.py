"""The page in a real browser: nothing asked of the network, sorting, a phone's width, both schemes, WCAG A and AA."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from s2s_assets.leaderboard import BoardInputs, build_board

pytestmark = pytest.mark.browser

Make = Callable[..., BoardInputs]
COLUMN = """([table, column]) => [...document.querySelectorAll('table')[table].tBodies[0].rows]
  .map(row => row.cells[column].dataset.v ?? null)"""
AXE = """() => axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}})
  .then(found => found.violations.map(v => `${v.id}: ${v.nodes[0].html.slice(0, 120)}`))"""
WIDE = """() => [...document.querySelectorAll('body, p, h1, h2, summary, figure, .scroll')]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


@contextmanager
def opened(browser: Any, page: Path, width: int = 1280, **options: Any) -> Iterator[Any]:
    """A page opened from its file, offline; `noise` gathers errors and requests that leave the folder."""
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, **options)
    view = context.new_page()
    view.noise = []
    view.on("console", lambda m: view.noise.append(m.text) if m.type == "error" else None)
    view.on("pageerror", lambda e: view.noise.append(str(e)))
    view.on("dialog", lambda d: (view.noise.append(d.message), d.dismiss()))
    view.on("request", lambda r: None if r.url == page.as_uri() else view.noise.append(r.url))
    view.goto(page.as_uri())
    view.evaluate("() => document.querySelectorAll('details').forEach(d => { d.open = true; })")
    yield view
    assert view.noise == []
    context.close()


@pytest.fixture
def written(tmp_path: Path) -> Callable[[BoardInputs], Path]:
    """Writes a board's files; returns the page."""

    def write(inputs: BoardInputs) -> Path:
        for name, data in build_board(inputs).files.items():
            (tmp_path / name).write_bytes(data)
        return tmp_path / "index.html"

    return write


def test_sorting_is_numeric_with_missing_values_last(browser: Any, written: Callable[..., Path], full: Make) -> None:
    with opened(browser, written(full())) as page:
        elo = page.locator("table").first.locator("th button", has_text="Elo")
        page.evaluate("""() => { const cells = [...document.querySelector('table').tBodies[0].rows].map(r => r.cells[2]);
          ['999', '1000', null, '-5'].forEach((v, i) => v === null ? delete cells[i].dataset.v : cells[i].dataset.v = v); }""")
        elo.click()
        rising = page.evaluate(COLUMN, [0, 2])
        elo.click()
        falling = page.evaluate(COLUMN, [0, 2])
        states = page.locator("table").first.locator("th[aria-sort]").evaluate_all("h => h.map(x => x.ariaSort)")
    assert rising[0] == "-5"
    assert rising[-2:] == ["1000", None] or rising[-1] is None
    assert [float(v) for v in rising[:-1]] == sorted(float(v) for v in rising[:-1])
    assert falling[:-1] == rising[:-1][::-1]
    assert falling[-1] is None
    assert states.count("descending") == 1
    assert "ascending" not in states


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_page_is_accessible_and_fits(
    browser: Any, written: Callable[..., Path], full: Make, width: int, scheme: str
) -> None:
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0]) / "axe.min.js"
    with opened(browser, written(full()), width, color_scheme=scheme, bypass_csp=True) as page:
        page.add_script_tag(path=str(source))
        assert page.evaluate(AXE) == []
        assert page.evaluate(WIDE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_script_the_boards_are_there_and_hostile_names_do_nothing(
    browser: Any, written: Callable[..., Path], foreign: Make, hostile: tuple[str, ...]
) -> None:
    path = written(foreign(hostile))
    with opened(browser, path, java_script_enabled=False) as page:
        assert page.locator("table").first.locator("tbody tr:visible").count() == len(hostile)
    with opened(browser, path) as page:
        assert page.locator("img").count() == 0
        assert hostile[0] in page.locator("table").first.inner_text()
