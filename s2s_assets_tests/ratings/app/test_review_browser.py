"""The recordings review in a real browser: accessible and fitting, a take heard and seen, judged by keyboard alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from s2s_assets.ratings import verdicts_given, verdicts_in_force
from s2s_assets.ratings.access import make_access
from s2s_assets.ratings.store import utc_now

pytestmark = pytest.mark.browser
LOADED = "() => [...document.querySelectorAll('audio')].every(a => a.ended)"
DRAWN = """() => Promise.all([...document.querySelectorAll('svg image')].map(one => {
  const picture = new Image(); picture.src = one.getAttribute('href');
  return picture.decode().then(() => picture.naturalWidth) }))"""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough for what a browser sees."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (320, "dark")])
def test_a_script_is_reviewed(make_lab, with_takes, browser, axe, width, scheme) -> None:
    lab = with_takes(make_lab(prompts=3))
    pictures = os.environ.get("RATING_APP_PICTURES")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    noise: list[str] = []
    page.on("console", lambda m: noise.append(m.text) if m.type == "error" and "422" not in m.text else None)
    page.on("pageerror", lambda error: noise.append(str(error)))

    def look(name: str) -> None:
        if pictures:
            page.screenshot(path=f"{pictures}/review-{name}-{width}-{scheme}.png", full_page=True)
        assert axe(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name

    with lab.serving() as server:
        page.goto(f"{server.address}/admin/open/{make_access(lab.ratings, utc_now())}")
        page.click("text=Open >> nth=-1")
        page.wait_for_url("**/admin")
        page.click("nav a:has-text('Recordings')")
        look("scripts")
        page.click("td a:has-text('p0')")
        assert page.evaluate(DRAWN) == [640, 640, 640]
        page.evaluate("() => document.querySelectorAll('audio').forEach(a => { a.muted = true; a.play() })")
        page.wait_for_function(LOADED)
        look("script")
        refuse_and_select(page, look)
        assert [(v.recording, v.selected, v.why) for v in verdicts_in_force(lab.ratings)] == [
            ("p0-b", True, "the clearer voice")
        ]
        page.click("a:has-text('Next to review')")
        assert page.locator("h1").inner_text() == "Script p1"
        assert page.locator("input[name=author]").first.input_value() == "Ann"
        page.locator("#take-p1-a input[value=accept]").check()
        page.locator("#take-p1-a button").dblclick()
        page.locator("text=in force").wait_for()
        assert [v.recording for v in verdicts_given(lab.ratings)] == ["p0-b", "p1-a"]
    assert noise == []
    context.close()


def refuse_and_select(page: Any, look: Any) -> None:
    """Send a verdict without a reason, then select the second take: by keyboard alone."""
    first = page.locator("#take-p0-a")
    first.locator("input[value=reject]").focus()
    page.keyboard.press("Space")
    first.locator("input[name=author]").focus()
    page.keyboard.type("Ann")
    page.keyboard.press("Enter")
    page.locator("[role=alert]").wait_for()
    assert first.locator("[role=alert]").inner_text().endswith("whoever records it again goes by it")
    assert first.locator("input[value=reject]").is_checked()
    assert page.url.endswith("/admin/judge#take-p0-a")
    look("refused")
    second = page.locator("#take-p0-b")
    second.locator("input[value=select]").focus()
    page.keyboard.press("Space")
    second.locator("input[name=reason]").focus()
    page.keyboard.type("the clearer voice")
    second.locator("button").focus()
    page.keyboard.press("Enter")
    page.locator("text=in force").wait_for()
    assert "taken" in second.locator("h2").inner_text()
    look("judged")
