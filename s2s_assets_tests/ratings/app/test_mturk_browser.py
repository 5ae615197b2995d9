"""The HIT that the docs give leads MTurk's workers into the study, in a tab of its own; in a frame there is nothing."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import select

from s2s_assets.ratings import invitations
from s2s_assets.ratings.app_schema import sitting
from s2s_assets.ratings.schema import rater

pytestmark = pytest.mark.browser
DOCS = Path(__file__).parents[3] / "docs" / "rating-app.md"
WORKER = "workerId=A1WORKER&assignmentId=3XASSIGN&hitId=3HIT&turkSubmitTo=https%3A%2F%2Fwww.mturk.com"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough for what a browser sees."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


def hit_text(address: str) -> str:
    """The HIT that the docs give, without Amazon's own elements."""
    (text,) = re.findall(r"```html\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return str(text).replace("LINK", address).partition("</script>\n")[2]


def test_the_hit_of_the_docs_leads_into_the_study(make_lab: Any, browser: Any) -> None:
    lab = make_lab()
    with lab.serving() as server:
        address = lab.link(server.address, panel="mturk")
        context = browser.new_context()
        page = context.new_page()
        page.route(
            "https://hit.example/**", lambda route: route.fulfill(content_type="text/html", body=hit_text(address))
        )
        page.goto(f"https://hit.example/task?{WORKER}")
        with context.expect_page() as opened:
            page.click("text=the study")
        study = opened.value
        study.wait_for_url("**/consent")
        study.check("#agree")
        study.click("button.main")
        study.wait_for_url("**/sound")
        page.goto("https://hit.example/task?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=3HIT")
        with context.expect_page() as opened:
            page.click("text=the study")
        opened.value.wait_for_load_state()
        assert "preview" in opened.value.locator("main").inner_text()
        context.close()
    (made,) = invitations(lab.ratings)
    with lab.ratings.reading() as connection:
        came = connection.execute(select(rater.c.external_id, sitting.c["claim", "invitation_id"]).join(sitting)).all()
    assert [tuple(row) for row in came] == [("A1WORKER", "3XASSIGN", made.id)]


@contextmanager
def another_site(folder: Path) -> Iterator[str]:
    """A server of a folder's files, under a name that makes its pages foreign to the app's."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://localhost:{site.server_port}"
        site.shutdown()


def test_nothing_is_shown_in_a_foreign_frame(make_lab: Any, browser: Any, tmp_path: Path) -> None:
    lab = make_lab()
    with lab.serving() as server, another_site(tmp_path) as other:
        address = lab.link(server.address, panel="mturk")
        (tmp_path / "inner.html").write_text("<main>shown</main>")
        (tmp_path / "hit.html").write_text(
            f'<iframe src="{address}?{WORKER}"></iframe><iframe src="inner.html"></iframe>'
        )
        context = browser.new_context()
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(f"{other}/hit.html")
        study, control = page.main_frame.child_frames
        assert control.locator("main").inner_text() == "shown"
        assert study.url.startswith("chrome-error:")
        assert any("frame-ancestors" in text or "X-Frame-Options" in text for text in said), said
        context.close()
