"""The admin pages in a real browser: let in by a link, every page accessible and fitting, a clip played, a rater excluded."""

import os
from collections.abc import Callable
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
    """Votes of six raters over two days, one of them always for the second, one too fast; an exclusion that was lifted, a link."""
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
                took_ms = 3_000 if who is people[1] else 20_000
                submit(lab.ratings, task.nonce, dict.fromkeys(RUBRICS, side), clock, elapsed_ms=took_ms)
                given += 1
        if not given:
            break
    invite(lab.ratings, clock(), "prolific", label="pilot with a long name for a narrow screen")
    exclude(lab.ratings, "rater", "rater-5", "Ann Author", "answered from a train", clock())


def links(page: Any, address: str, look: Callable[[str], None]) -> None:
    """Make links by keys alone, save them, and revoke one."""
    page.goto(f"{address}/admin/invitations")
    look("invitations")
    keys = page.keyboard
    page.locator("input[name=count]").focus()
    keys.press("ControlOrMeta+a")
    keys.type("3")
    keys.press("Tab")
    keys.type("school class")
    keys.press("Tab")
    keys.press("Tab")
    with page.expect_navigation():
        keys.press("Enter")
    told = page.locator("code").all_inner_texts()
    assert len(told) == 3
    look("links")
    with page.expect_download() as saved:
        page.click("text=Save as CSV")
    assert saved.value.suggested_filename == "invitations.csv"
    assert all(link in saved.value.path().read_text() for link in told)
    page.goto(f"{address}/admin/invitations?find=class+2")
    page.click("td a")
    look("invitation")
    page.fill("input[name=author]", "Ann")
    page.fill("input[name=reason]", "posted on a wall")
    page.click("button:has-text('Revoke')")
    page.locator("text=posted on a wall").wait_for()
    look("invitation-revoked")
    here = [link.replace("http://127.0.0.1:8800", address) for link in told]
    page.goto(here[1])
    assert page.locator("form").count() == 0
    page.goto(here[0])
    assert page.locator("#agree").count() == 1
    page.goto(f"{address}/admin")


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
        for name in ("quality", "health"):
            page.goto(f"{server.address}/admin/{name}")
            look(name)
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
        page.click("dd a[href*='/admin/prompt?']")
        look("prompt")
        page.goto(f"{server.address}/admin/table/flags?find=too_fast")
        page.click("td a[href*='/admin/rating?']")
        assert page.locator("audio").count() == 3
        look("rating")
        links(page, server.address, look)
        page.click("button:has-text('Close admin')")
        page.locator("h1:has-text('closed')").wait_for()
        look("ended")
        page.goto(f"{server.address}/admin")
        look("refused")
        assert "people who run the study" in page.locator("h1").inner_text()
    assert noise == []
    context.close()
