"""Sixteen raters at a real server of several processes, which are killed while forms come in.

Browsers send the same forms again, click twice, leave tasks until their lease has run out, and answer those late.
"""

import json
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import func, select

from s2s_assets.ratings import RatingsStore, invite, status, utc_now
from s2s_assets.ratings.app_schema import sitting
from s2s_assets.ratings.invitations import Claims, invited
from s2s_assets.ratings.schema import answer, assignment, media, pair
from s2s_assets.ratings.sittings import begin

RATERS, PROMPTS, KILLS, BREAKS = 16, 5, 4, 3
PAIRS = 6 * PROMPTS
PLAYED = json.dumps({role: {"coverage": 1, "plays": 1, "rate": 1} for role in ("prompt", "first", "second")})


@dataclass
class Killer:
    """Kills one of the workers now and then, a moment after a form was sent."""

    server: Any
    luck: random.Random = field(default_factory=lambda: random.Random(6))
    sent: int = 0
    kills: int = 0
    broken: int = 0
    over: bool = False
    due: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def form_goes_out(self) -> None:
        self.sent += 1
        if self.sent % 11 == 0:
            self.due.release()

    def run(self) -> None:
        while self.due.acquire() and not self.over:
            threading.Event().wait(self.luck.uniform(0, 0.03))
            workers = self.server.workers()
            if workers and (self.kills < KILLS or self.broken < BREAKS):
                os.kill(self.luck.choice(workers), signal.SIGKILL)
                self.kills += 1

    def end(self) -> None:
        self.over = True
        self.due.release()


class Browser:
    """A rater's: sends a form until there is an answer, some of them twice, and may leave a task before its last page."""

    def __init__(self, address: str, cookie: str, killer: Killer, luck: random.Random) -> None:
        headers = {"sec-fetch-site": "same-origin"}
        self.client = httpx.Client(base_url=address, cookies={"s2s": cookie}, headers=headers, timeout=60)
        self.killer = killer
        self.luck = luck
        self.left: tuple[str, dict[str, int]] | None = None

    def rate(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Nonce and scores of each page that is saved, until nothing more is shown or a task is left."""
        while 'name="nonce"' in (page := self.ask("GET", "/task", follow_redirects=True).text):
            nonce = re.findall(r'name="nonce" value="([^"]+)"', page)[0]
            asked = dict.fromkeys(re.findall(r'name="q\.([^"]+)"', page))
            scores = {name: self.luck.randint(-3, 3) for name in asked}
            if "overall" in scores and self.luck.random() < 0.2:
                self.left = nonce, scores
                return
            assert self.send(nonce, scores)
            yield nonce, scores
            if self.luck.random() < 0.3:
                assert self.send(nonce, dict.fromkeys(scores, 0))

    def send(self, nonce: str, scores: dict[str, int]) -> bool:
        """Whether the browser is told to go on, as after all that is saved."""
        form = {"nonce": nonce, "played": PLAYED, **{f"q.{name}": str(score) for name, score in scores.items()}}
        return self.ask("POST", "/task", data=form).headers.get("location") == "/task"

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        for _ in range(50):
            try:
                if method == "POST":
                    self.killer.form_goes_out()
                return self.client.request(method, path, **more)
            except httpx.HTTPError:
                self.killer.broken += method == "POST"
        raise AssertionError("no answer after 50 tries")


class Crowd:
    """Raters at a server, and all that they were told is saved."""

    def __init__(self, ratings: RatingsStore, server: Any) -> None:
        self.ratings = ratings
        self.address = server.address
        self.killer = Killer(server)
        self.link = invited(ratings, invite(ratings, utc_now(), "generic"))
        self.saved: dict[str, dict[str, int]] = {}
        self.late = 0

    def rate(self, number: int) -> None:
        """One rater's sittings, until one brings nothing. What was left in one is sent when the next is over."""
        luck, before, session, going = random.Random(number), None, 0, True
        while going or before is not None:
            browser, going = Browser(self.address, self._cookie(number, session), self.killer, luck), False
            for nonce, scores in browser.rate():
                self.saved.setdefault(nonce, {}).update(scores)
                going = True
            self._send_late(before)
            before, session = browser, session + 1
            if browser.left is None:
                before = None
            else:
                self._let_run_out(browser.left[0])

    def _cookie(self, number: int, session: int) -> str:
        """Of a sitting whose checks and training are behind it."""
        now = utc_now()
        sat, token = begin(self.ratings, self.link, Claims(str(number), str(session)), "en", "1", now)
        with self.ratings.writing() as connection:
            passed = {"sound_at": now, "headphones": "off", "trained_at": now}
            connection.execute(sitting.update().where(sitting.c.id == sat.id).values(passed))
        return token

    def _let_run_out(self, nonce: str) -> None:
        with self.ratings.writing() as connection:
            mine = (assignment.c.nonce == nonce) & (assignment.c.state == "leased")
            connection.execute(assignment.update().where(mine).values(expires_at=assignment.c.leased_at))

    def _send_late(self, browser: Browser | None) -> None:
        """The last page of a task that was left, unless a later sitting has taken it over."""
        if browser is None or browser.left is None:
            return
        nonce, scores = browser.left
        if browser.send(nonce, scores):
            self.saved.setdefault(nonce, {}).setdefault("overall", scores["overall"])
            self.late += 1


def test_no_vote_is_lost_or_doubled_when_workers_are_killed_in_mid_submit(make_lab) -> None:
    lab = make_lab('tasks: 9, control_share: 0, headphones: "off", prompt_per_rater: 9', prompts=PROMPTS)
    ratings = lab.ratings
    with ratings.writing() as connection:
        connection.execute(media.update().values(duration_s=0.001))
    with lab.serving("--workers", "2") as server:
        crowd = Crowd(ratings, server)
        with ThreadPoolExecutor(RATERS + 1) as pool:
            killing = pool.submit(crowd.killer.run)
            raters = [pool.submit(crowd.rate, number) for number in range(RATERS)]
            wait(raters)
            crowd.killer.end()
            for one in (killing, *raters):
                one.result()
        last = RATERS
        while status(ratings)["done"] < 2 * PAIRS and last < 60:
            crowd.rate(last)
            last += 1
    assert crowd.killer.kills >= KILLS
    assert crowd.killer.broken >= 1
    assert crowd.late >= 1
    with ratings.reading() as connection:
        votes = (
            select(assignment.c.pair_id, func.count())
            .where(assignment.c.state == "done")
            .group_by(assignment.c.pair_id)
        )
        assert Counter(n for _, n in connection.execute(votes).tuples()) == {2: PAIRS}
        assert set(connection.execute(select(pair.c.taken)).scalars()) == {2}
        stored: dict[str, dict[str, int]] = {}
        joined = answer.join(assignment, assignment.c.id == answer.c.assignment_id)
        columns = (*assignment.c["nonce", "state"], *answer.c["rubric", "screen_value"])
        for nonce, state, rubric, value in connection.execute(select(*columns).select_from(joined)):
            assert state in ("done", "late")
            assert rubric not in stored.setdefault(nonce, {})
            stored[nonce][rubric] = value
    assert stored == {nonce: scores for nonce, scores in crowd.saved.items() if "overall" in scores}
