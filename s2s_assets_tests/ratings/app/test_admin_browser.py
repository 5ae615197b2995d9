"""The admin pages in a real browser: let in by a link, every page accessible and fitting, a clip played, a rater excluded."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s_assets.ratings import enrol, exclude, invite, next_assignment, status, submit
from s2s_assets.ratings.access import admin_link, make_access
from s2s_assets.ratings.app.admin_tables import TABLES
from s2s_assets.ratings.store import utc_now

pytestmark = pytest.mark.browser
RUBRICS = ("helpfulness", "naturalness", "audio_quality", "overall")
PLAYED = "() => document.querySelectorAll('audio')[1].ended"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough for what a browser sees."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


def fill(lab: Any, clock: Any) -> None:
    """Votes of six raters over two days, one of them always for the second; an exclusion that was lifted, a link."""
    rng = np.random.default_rng(2)
    people = [enrol(lab.ratings, "prolific", f"pid-{k}", clock(), name=f"rater-{k}") for k in range(6)]
    while True:
        given = 0
        for who in people:
            clock.wind(minutes=25)
            if task := next_assignment(lab.ratings, who, f"{who.name}/{clock.now:%d}", rng, clock):
                side = (
                    3 if who is people[0] else int(np.clip(rng.normal("vwxy".index(task.response_b[-1]) - 1, 1), -3, 3))
                )
                submit(lab.ratings, task.nonce, dict.fromkeys(RUBRICS, side), clock, elapsed_ms=20_000)
                given += 1
        if not given:
            break
    invite(lab.ratings, clock(), "prolific", label="pilot with a long name for a narrow screen")
    exclude(lab.ratings, "rater", "rater-5", "Ann Author", "answered from a train", clock())


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_every_admin_page_is_accessible_and_fits(make_lab, browser, axe, clock, width, scheme) -> None:
    lab = make_lab()
    fill(lab, clock)
    pictures = os.environ.get("RATING_APP_PICTURES")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    noise: list[str] = []
    page.on("console", lambda m: noise.append(m.text) if "Content Security" in m.text else None)
    page.on("pageerror", lambda error: noise.append(str(error)))

    def look(name: str) -> None:
        if pictures:
            page.screenshot(path=f"{pictures}/admin-{name}-{width}-{scheme}.png", full_page=True)
        assert axe(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name

    with lab.serving() as server:
        page.goto(admin_link(server.address, make_access(lab.ratings, utc_now())))
        look("open")
        page.click("text=Open >> nth=-1")
        page.wait_for_url("**/admin")
        look("overview")
        page.goto(f"{server.address}/admin/quality")
        look("quality")
        for name in TABLES:
            page.goto(f"{server.address}/admin/table/{name}")
            look(name)
        page.goto(f"{server.address}/admin/table/raters")
        page.click("th a:has-text('answers')")
        assert page.locator("th[aria-sort]").inner_text().startswith("answers")
        page.fill("input[type=search]", "RATER-0")
        page.click("button:has-text('Filter')")
        page.click("td a")
        look("rater")
        done = status(lab.ratings)["done"]
        page.fill("input[name=author]", "Ann")
        page.fill("input[name=reason]", "always the second")
        page.click("button:has-text('Exclude')")
        page.locator("text=in force").wait_for()
        look("rater-excluded")
        assert status(lab.ratings)["done"] < done
        page.goto(f"{server.address}/admin/response?id=r-0-v")
        page.evaluate("() => document.querySelectorAll('audio')[1].play()")
        page.wait_for_function(PLAYED)
        look("response")
        page.click("button:has-text('Close admin')")
        page.locator("h1:has-text('closed')").wait_for()
        look("ended")
        page.goto(f"{server.address}/admin")
        look("refused")
        assert "people who run the study" in page.locator("h1").inner_text()
    assert noise == []
    context.close()
