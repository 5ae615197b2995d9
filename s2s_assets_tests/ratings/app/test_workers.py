"""Sixteen raters at a real server of several processes: these are killed while forms come in; rounds open among votes.

Browsers send the same forms again, click twice, leave tasks until their lease has run out, and answer those late.
"""

import json
import os
import random
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import polars as pl
from sqlalchemy import func, select

from s2s_assets.ratings import (
    DRAWS,
    RatingsStore,
    all_pairs,
    invite,
    open_round,
    round_due,
    round_rows,
    rounds,
    status,
    upsert_tasks,
    utc_now,
)
from s2s_assets.ratings.app_schema import sitting
from s2s_assets.ratings.consents import consent_of
from s2s_assets.ratings.invitations import Claims, invited
from s2s_assets.ratings.rounds import count_votes
from s2s_assets.ratings.schema import answer, assignment, media, pair, slot
from s2s_assets.ratings.sittings import begin
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import Uncertainty, load_study

RATERS, PROMPTS, KILLS, BREAKS = 16, 5, 4, 3
PAIRS = 6 * PROMPTS
SHARE = 0.2
"""Of the votes that may be adaptive."""
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

    def __init__(self, address: str, cookie: str, killer: Killer | None, luck: random.Random) -> None:
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
                if self.killer is not None and method == "POST":
                    self.killer.form_goes_out()
                return self.client.request(method, path, **more)
            except httpx.HTTPError:
                if self.killer is None:
                    raise
                self.killer.broken += method == "POST"
        raise AssertionError("no answer after 50 tries")


class Crowd:
    """Raters at a server, and all that they were told is saved; something may be done after each page."""

    def __init__(
        self,
        ratings: RatingsStore,
        server: Any,
        killer: Killer | None = None,
        after_page: Callable[[], None] = lambda: None,
    ) -> None:
        self.ratings = ratings
        self.address = server.address
        self.killer = killer
        self.after_page = after_page
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
                self.after_page()
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
        sat, token = begin(
            self.ratings, self.link, Claims(str(number), str(session)), "en", consent_of("1", "en", ["I agree."]), now
        )
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


def all_at_once(crowd: Crowd) -> None:
    """Sixteen raters, until nothing is left for any of them."""
    with ThreadPoolExecutor(RATERS + 1) as pool:
        killing = [] if crowd.killer is None else [pool.submit(crowd.killer.run)]
        raters = [pool.submit(crowd.rate, number) for number in range(RATERS)]
        wait(raters)
        if crowd.killer is not None:
            crowd.killer.end()
        for one in (*killing, *raters):
            one.result()


def clips_take_no_time(ratings: RatingsStore) -> None:
    with ratings.writing() as connection:
        connection.execute(media.update().values(duration_s=0.001))


def votes_by_pair(ratings: RatingsStore) -> Counter[int]:
    """How many pairs have how many votes."""
    votes = (
        select(assignment.c.pair_id, func.count()).where(assignment.c.state == "done").group_by(assignment.c.pair_id)
    )
    with ratings.reading() as connection:
        return Counter(n for _, n in connection.execute(votes).tuples())


def test_no_vote_is_lost_or_doubled_when_workers_are_killed_in_mid_submit(make_lab) -> None:
    lab = make_lab('tasks: 9, control_share: 0, headphones: "off", prompt_per_rater: 9', prompts=PROMPTS)
    ratings = lab.ratings
    clips_take_no_time(ratings)
    with lab.serving("--workers", "2") as server:
        killer = Killer(server)
        crowd = Crowd(ratings, server, killer)
        all_at_once(crowd)
        last = RATERS
        while status(ratings)["done"] < 2 * PAIRS and last < 60:
            crowd.rate(last)
            last += 1
    assert killer.kills >= KILLS
    assert killer.broken >= 1
    assert crowd.late >= 1
    assert votes_by_pair(ratings) == {2: PAIRS}
    with ratings.reading() as connection:
        assert set(connection.execute(select(pair.c.taken)).scalars()) == {2}
        stored: dict[str, dict[str, int]] = {}
        joined = answer.join(assignment, assignment.c.id == answer.c.assignment_id)
        columns = (*assignment.c["nonce", "state"], *answer.c["rubric", "screen_value"])
        for nonce, state, rubric, value in connection.execute(select(*columns).select_from(joined)):
            assert state in ("done", "late")
            assert rubric not in stored.setdefault(nonce, {})
            stored[nonce][rubric] = value
    assert stored == {nonce: scores for nonce, scores in crowd.saved.items() if "overall" in scores}


class Rounds:
    """Opens a round of adaptive pairs whenever one is due; a new fit is there as soon as the last one had its round."""

    def __init__(self, lab: Any) -> None:
        self.ratings = lab.ratings
        self.study = load_study(lab.settings.study).study
        self.store = StudyStore(open_store(lab.settings.store), "lab")
        self.plan, self.media = lab.plan, lab.media
        heard = {
            (p, c, r) for e in "ab" for p, c, r in lab.plan.select("prompt", f"config_{e}", f"response_{e}").rows()
        }
        cells = pl.DataFrame(sorted(heard), schema=["prompt", "config", "response_id"], orient="row")
        self.cells = cells.with_columns(category=pl.lit("facts"), level=pl.lit("L1"), acoustic=pl.lit("clean"))
        self.turn = threading.Lock()
        self.seen: list[tuple[int, int]] = []
        """Votes given so far, the plan's and adaptive ones, at each look."""
        self.fit_again()

    def fit_again(self) -> None:
        fit = pl.DataFrame({"n": [len(rounds(self.store))]})
        self.store.set_head(DRAWS, None, self.store.write_table(DRAWS, None, fit).version)

    def look(self) -> None:
        with self.turn:
            votes = count_votes(self.ratings)
            self.seen.append((votes.baseline_given, votes.adaptive_given))
            due = round_due(self.store, self.ratings, self.study)
            if isinstance(due, int):
                open_round(self.store, self.study, self.plan, self.cells, (), self.known(), due)
                upsert_tasks(self.ratings, all_pairs(self.plan, round_rows(self.store)), self.media)
                self.fit_again()

    def known(self) -> Uncertainty:
        """A fit that is least sure of its first config."""
        configs = sorted({*self.plan["config_a"], *self.plan["config_b"]})
        return Uncertainty(
            fit="overall/config/all/all/all",
            entities=tuple(configs),
            covariance=np.diag([0.9, 0.3, 0.2, 0.1]),
            information=0.2 * (1 - np.eye(4)),
            entity_of=dict(zip(configs, configs, strict=True)),
            versions={DRAWS: str(self.store.head(DRAWS, None))},
        )

    @property
    def over(self) -> bool:
        """Whether no round will follow, and nobody is still asked about the last one."""
        due, counts = round_due(self.store, self.ratings, self.study), status(self.ratings)
        return isinstance(due, str) and "no whole pair is left" in due and counts["done"] == counts["slots"]


def test_rounds_that_open_among_votes_keep_to_their_share_and_every_pair_to_its_votes(make_lab) -> None:
    asked = {"sessions: ": f"pairing: {{adaptive: {{share: {SHARE}, by: config, rounds: 2, after: 0.5}}}}\nsessions: "}
    one_page = {"group: humanness": "group: content", "group: technical": "group: content"}
    rules = 'tasks: 9, control_share: 0, headphones: "off", prompt_per_rater: 9'
    lab = make_lab(rules, prompts=8, pairs=("vw", "wx", "xy"), **asked, **one_page)
    ratings, opened = lab.ratings, Rounds(lab)
    clips_take_no_time(ratings)
    with lab.serving("--workers", "3") as server:
        crowd = Crowd(ratings, server, after_page=opened.look)
        all_at_once(crowd)
        last = RATERS
        while not opened.over and last < 60:
            opened.look()  # a page that was left and sent later is followed by no look
            crowd.rate(last)
            last += 1
        assert len(server.workers()) == 3
    opened.look()
    assert all(adaptive <= SHARE * (planned + adaptive) for planned, adaptive in opened.seen)
    assert opened.seen[-1] == (48, 12)
    assert sum(one.pairs for one in rounds(opened.store)) == 6
    assert len(rounds(opened.store)) >= 2
    assert votes_by_pair(ratings) == {2: 24 + 6}
    assert status(ratings)["slots"] == status(ratings)["done"] == 60
    joined = assignment.join(slot, (slot.c.pair_id == assignment.c.pair_id) & (slot.c.slot == assignment.c.slot))
    joined = joined.join(answer, answer.c.assignment_id == assignment.c.id)
    columns = (*assignment.c["pair_id", "slot", "rater_id", "state"], answer.c.rubric, answer.c.source)
    with ratings.reading() as connection:
        rows = connection.execute(select(*columns, slot.c.source.label("of")).select_from(joined)).all()
        given = connection.execute(select(assignment.c.pair_id, assignment.c.rater_id)).all()
    assert {(row.source, row.of) for row in rows} == {("baseline", "baseline"), ("adaptive", "adaptive")}
    voted = [(row.pair_id, row.slot) for row in rows if row.rubric == "overall" and row.state == "done"]
    assert len(voted) == len(set(voted)) == 60
    assert len(given) == len(set(given)), "no pair twice to one rater"
