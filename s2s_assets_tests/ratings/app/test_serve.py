"""The server as a process: one line, several workers, a worker that dies, a port that is taken."""

import json
import os
import re
import signal
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from s2s_assets.cli import main


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """Processes, not databases, are looked at here."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


def test_one_line_tells_the_address_once_it_answers(lab) -> None:
    with lab.serving() as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.address)
        assert httpx.get(f"{server.address}/health").json() == {"ok": True}
        server.process.terminate()
        assert server.process.stdout is not None
        assert server.process.stdout.read() == ""


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(lab) -> None:
    with lab.serving("--workers", "2") as server:
        before = server.workers()
        assert len(before) == 2
        with httpx.Client(base_url=server.address, follow_redirects=True) as ann:
            ann.headers["sec-fetch-site"] = "same-origin"
            text = re.findall(r'name="text" value="([^"]+)"', ann.get(lab.link(server.address)).text)[0]
            assert "Can you hear" in ann.post("/consent", data={"agree": "yes", "text": text}).text
            os.kill(before[0], signal.SIGKILL)
            pages = []
            while before[0] in server.workers() or len(server.workers()) < 2 or len(pages) < 5:
                try:
                    pages.append(ann.get("/sound").status_code)
                except httpx.HTTPError:
                    continue
            assert set(pages) == {200}


def test_a_port_that_is_taken_is_said_once(lab) -> None:
    with lab.serving() as server:
        taken = CliRunner().invoke(main, ["ratings", "serve", "--port", str(server.port)], env=lab.environment)
    assert taken.exit_code == 2
    assert "choose another --port" in taken.output


def test_links_are_made_listed_and_revoked(lab) -> None:
    def run(*words: str):
        done = CliRunner().invoke(main, ["ratings", *words, "--json"], env=lab.environment)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    made = run("invite", "--label", "pilot")
    assert made["url"].startswith("http://127.0.0.1:8800/i/")
    panel = run("invite", "--panel", "prolific", "--url", "https://rate.example.org/")
    assert panel["url"].startswith("https://rate.example.org/i/")
    assert panel["url"].endswith("?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}")
    assert set(panel["codes"]) == {"done", "failed", "no_work"}
    listed = run("invitations")
    assert [(one["panel"], one["label"], one["revoked_at"]) for one in listed] == [
        ("personal", "pilot", None),
        ("prolific", "", None),
    ]
    number = listed[0]["invitation"]
    assert run("revoke", str(number), "--by", "ada", "--reason", "lost") == {"invitation": number, "changed": True}
    gone = run("invitations")[0]
    assert gone["revoked_at"] is not None
    assert (gone["revoked_by"], gone["revoked_reason"]) == ("ada", "lost")
