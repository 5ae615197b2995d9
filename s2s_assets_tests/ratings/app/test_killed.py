"""Workers of a real server are killed while raters send their answers; browsers send the same forms again."""

import json
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import func, select

from s2s_assets.ratings import RatingsStore, enrol, invite, status, utc_now
from s2s_assets.ratings.app_schema import reply, sitting, task
from s2s_assets.ratings.invitations import Claims, Invitation, invited
from s2s_assets.ratings.schema import answer, assignment, media, pair
from s2s_assets.ratings.sittings import begin

RATERS, KILLS, BREAKS = 8, 4, 3
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
            if len(workers) == 2 and (self.kills < KILLS or self.broken < BREAKS):
                os.kill(self.luck.choice(workers), signal.SIGKILL)
                self.kills += 1

    def end(self) -> None:
        self.over = True
        self.due.release()


class Browser:
    """Sends what it has until it gets an answer, and notes what it was told is saved."""

    def __init__(self, address: str, cookie: str, killer: Killer, luck: random.Random) -> None:
        headers = {"sec-fetch-site": "same-origin"}
        self.client = httpx.Client(base_url=address, cookies={"s2s": cookie}, headers=headers, timeout=60)
        self.killer = killer
        self.luck = luck

    def rate(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Nonce and scores of each page that is saved."""
        while 'name="nonce"' in (page := self.ask("GET", "/task", follow_redirects=True).text):
            nonce = re.findall(r'name="nonce" value="([^"]+)"', page)[0]
            asked = dict.fromkeys(re.findall(r'name="q\.([^"]+)"', page))
            scores = {name: self.luck.randint(-3, 3) for name in asked}
            self.send(nonce, scores)
            yield nonce, scores
            if self.luck.random() < 0.3:
                self.send(nonce, dict.fromkeys(scores, 0))

    def send(self, nonce: str, scores: dict[str, int]) -> None:
        form = {"nonce": nonce, "played": PLAYED, **{f"q.{name}": str(score) for name, score in scores.items()}}
        assert self.ask("POST", "/task", data=form).headers["location"] == "/task"

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        for _ in range(50):
            try:
                if method == "POST":
                    self.killer.form_goes_out()
                return self.client.request(method, path, **more)
            except httpx.HTTPError:
                self.killer.broken += method == "POST"
        raise AssertionError("no answer after 50 tries")


def trained(ratings: RatingsStore, link: Invitation, person: str, session: str) -> str:
    """The cookie of a sitting whose checks and training are behind it."""
    now = utc_now()
    enrol(ratings, "generic", person, now)
    sat, token = begin(ratings, link, Claims(person, session), "en", "1", now)
    with ratings.writing() as connection:
        passed = {"sound_at": now, "headphones": "off", "trained_at": now}
        connection.execute(sitting.update().where(sitting.c.id == sat.id).values(passed))
    return token


def test_no_vote_is_lost_or_doubled_when_workers_are_killed_in_mid_submit(make_lab) -> None:
    lab = make_lab('tasks: 9, control_share: 0, headphones: "off", prompt_per_rater: 9', prompts=4)
    ratings = lab.ratings
    with ratings.writing() as connection:
        connection.execute(media.update().values(duration_s=0.001))
    link = invited(ratings, invite(ratings, utc_now(), "generic"))
    saved: dict[str, dict[str, int]] = {}

    def sit(number: int) -> int:
        cookie, luck = trained(ratings, link, str(number), str(len(saved))), random.Random(number)
        done = 0
        for nonce, scores in Browser(server.address, cookie, killer, luck).rate():
            saved.setdefault(nonce, {}).update(scores)
            done += 1
        return done

    def sit_again_and_again(number: int) -> None:
        while sit(number):
            pass

    with lab.serving("--workers", "2") as server:
        killer = Killer(server)
        with ThreadPoolExecutor(RATERS + 1) as pool:
            killing = pool.submit(killer.run)
            raters = [pool.submit(sit_again_and_again, number) for number in range(RATERS)]
            for one in raters:
                one.exception()
            killer.end()
            for one in (killing, *raters):
                one.result()
        late = RATERS
        while status(ratings)["done"] < 48 and late < 40:
            sit(late)
            late += 1
    assert killer.kills >= KILLS
    assert killer.broken >= 1
    with ratings.reading() as connection:
        votes = connection.execute(
            select(assignment.c.pair_id, func.count())
            .where(assignment.c.state == "done")
            .group_by(assignment.c.pair_id)
        ).tuples()
        assert Counter(n for _, n in votes) == {2: 24}
        assert set(connection.execute(select(pair.c.taken)).scalars()) == {2}
        assert set(connection.execute(select(assignment.c.state)).scalars()) == {"done"}
        stored: dict[str, dict[str, int]] = {}
        joined = answer.join(assignment, assignment.c.id == answer.c.assignment_id)
        columns = (assignment.c.nonce, answer.c.rubric, answer.c.screen_value)
        for nonce, rubric, value in connection.execute(select(*columns).select_from(joined)):
            assert rubric not in stored.setdefault(nonce, {})
            stored[nonce][rubric] = value
        replies = connection.execute(select(func.count()).select_from(reply)).scalar_one()
        assert set(connection.execute(select(task.c.state)).scalars()) == {"done"}
    assert stored == saved
    assert replies == sum(map(len, saved.values()))
