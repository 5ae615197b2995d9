"""200 raters at once at the rating app: two server processes, Postgres, all of it on this machine.

Each rater comes by a link, consents, hears the tones, skips the headphone check, does the training pair, and rates: a page is
shown, its three recordings are fetched, a heartbeat tells of each, and some ten seconds later the page's answers are sent.
Every request counts, with the time until its last byte has arrived; what the load itself takes of the cores is in it.

Bars: no error, and p99 of the pages (what is shown and what is sent) within 250 ms; exit status 1 where one is missed.

Run from the project's root: `python s2s_assets_tests/bench_load.py`. It starts a Postgres of its own.
"""

import argparse
import asyncio
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import httpx
import numpy as np

from s2s_assets.ratings import RatingsStore, invite, status, utc_now
from s2s_assets.ratings.check_sounds import tones_due
from s2s_assets.ratings.sittings import by_token
from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets_tests.bench_handing import STUDY, fill, postgres, write_study

BAR_MS = 250.0
PAGES = ("link", "consent", "sound", "headphones", "page, new task", "page, same task", "answers")
_ROLES = ("prompt", "first", "second")


class Watch:
    """What was asked, how long it took, and what went wrong."""

    def __init__(self) -> None:
        self.took_ms: dict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()

    async def ask(self, client: httpx.AsyncClient, kind: str, method: str, path: str, **more: object) -> httpx.Response:
        """One request, counted under its kind."""
        start = time.perf_counter()
        try:
            response = await client.request(method, path, **more)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            self.errors[f"{kind}: {type(error).__name__}"] += 1
            raise
        self.took_ms[kind].append(1000 * (time.perf_counter() - start))
        if response.status_code >= 400:
            self.errors[f"{kind}: {response.status_code}"] += 1
        return response

    def table(self) -> Iterator[str]:
        """Lines to print."""
        for kind, took_ms in [*self.took_ms.items(), ("all pages", self.of_pages())]:
            p50, p99 = np.quantile(took_ms, [0.5, 0.99])
            yield f"{kind:16} {len(took_ms):6} requests  p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  max {max(took_ms):6.1f} ms"

    def of_pages(self) -> list[float]:
        """Times of all pages."""
        return [ms for kind in PAGES for ms in self.took_ms[kind]]


class Person:
    """One rater's way, in a browser that keeps its connection and comes from an address of its own."""

    def __init__(self, number: int, store: RatingsStore, watch: Watch, address: str, action_s: float) -> None:
        source = f"127.0.{1 + number // 250}.{1 + number % 250}"
        self.client = httpx.AsyncClient(
            base_url=address,
            transport=httpx.AsyncHTTPTransport(local_address=source),
            headers={"sec-fetch-site": "same-origin", "accept-language": "en"},
            timeout=30,
        )
        self.number, self.store, self.watch, self.action_s = number, store, watch, action_s
        self.luck = random.Random(number)
        self.page, self.seen = "", ""

    async def pause(self, share: float = 1.0) -> None:
        """Some ten seconds, or part of them."""
        await asyncio.sleep(share * self.action_s * self.luck.uniform(0.9, 1.1))

    async def rate(self, link: str) -> None:
        """From the link until there is nothing more to do."""
        await self.begin(link)
        while 'name="nonce"' in self.page:
            await self.do_page()

    async def begin(self, link: str) -> None:
        """Link, consent, sound, headphones."""
        await self.watch.ask(self.client, "link", "GET", link)
        await self.show("consent", "/consent")
        for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', self.page):
            await self.watch.ask(self.client, "static", "GET", name)
        await self.pause()
        text = re.findall(r'name="text" value="([^"]+)"', self.page)[0]
        await self.send("consent", "/consent", agree="yes", text=text)
        token = next(value for name, value in self.client.cookies.items() if name == "s2s")
        sat = by_token(self.store, token)
        assert sat is not None
        await self.watch.ask(self.client, "check sound", "GET", "/sound/0")
        await self.pause()
        await self.send("sound", "/sound", attempt="0", answer=str(tones_due(sat.name, 0)))
        await self.watch.ask(self.client, "check sound", "GET", "/headphones/0/0")
        await self.pause()
        await self.send("headphones", "/headphones", skip="yes")

    async def do_page(self) -> None:
        """Hear what is new, answer what is asked."""
        nonce = re.findall(r'name="nonce" value="([^"]+)"', self.page)[0]
        played = {role: {"coverage": 1, "plays": 1, "rate": 1} for role in _ROLES}
        if nonce != self.seen:
            self.seen = nonce
            for path in re.findall(r'data-src="([^"]+)"', self.page):
                await self.watch.ask(self.client, "recording", "GET", path)
            for k in range(3):
                await self.pause(0.33)
                told = json.dumps({role: played[role] for role in _ROLES[: k + 1]})
                await self.watch.ask(self.client, "heartbeat", "POST", "/beat", data={"nonce": nonce, "played": told})
            await self.pause(0.1)
        else:
            await self.pause()
        asked = dict.fromkeys(re.findall(r'name="(q\.[^"]+)"', self.page))
        scores = {name: str(self.luck.randint(-3, 3)) for name in asked}
        await self.send("answers", "/task", nonce=nonce, played=json.dumps(played), **scores)

    async def send(self, kind: str, path: str, **fields: str) -> None:
        """A form, and the page that it leads to."""
        response = await self.watch.ask(self.client, kind, "POST", path, data=fields)
        while response.is_redirect:
            path = urlsplit(response.headers["location"]).path
            if path == "/task":
                await self.show_task()
                return
            response = await self.watch.ask(self.client, kind, "GET", path)
        self.page = response.text

    async def show(self, kind: str, path: str) -> None:
        """A page."""
        self.page = (await self.watch.ask(self.client, kind, "GET", path)).text

    async def show_task(self) -> None:
        """The task's page; whether the task is a new one is known once it is there."""
        own = Watch()
        response = await own.ask(self.client, "task", "GET", "/task", follow_redirects=True)
        self.page = response.text
        kind = "page, same task" if self.seen and f'value="{self.seen}"' in self.page else "page, new task"
        self.watch.took_ms[kind] += own.took_ms["task"]
        self.watch.errors.update({f"{kind}: {told}": n for told, n in own.errors.items()})


async def load(store: RatingsStore, address: str, raters: int, action_s: float, last_s: float) -> Watch:
    """All raters, coming evenly within two actions' time."""
    watch, link = Watch(), f"/i/{invite(store, utc_now(), 'generic')}"

    async def come(number: int) -> None:
        await asyncio.sleep(2 * action_s * number / raters)
        person = Person(number, store, watch, address, action_s)
        try:
            await person.rate(f"{link}?id=rater-{number}&session=1")
        finally:
            await person.client.aclose()

    people = [asyncio.create_task(come(number)) for number in range(raters)]
    done, going = await asyncio.wait(people, timeout=last_s)
    for one in going:
        one.cancel()
    await asyncio.gather(*going, return_exceptions=True)
    watch.errors.update(f"a rater: {one.exception()!r}" for one in done if one.exception() is not None)
    return watch


@contextmanager
def serving(environment: dict[str, str], workers: int) -> Iterator[str]:
    """The server as its own processes; its address."""
    command = [sys.executable, "-c", "from s2s_assets.cli import main; main()", "ratings", "serve", "--port", "0"]
    told = {**os.environ, **environment}
    process = subprocess.Popen([*command, "--workers", str(workers)], env=told, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(30)


def main() -> int:
    """Print the table; 1 where a bar is missed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--raters", type=int, default=200)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--action-s", type=float, default=10.0, help="a rater's time from one action to the next")
    asked.add_argument("--last-s", type=float, default=90.0, help="how long the load lasts")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as temporary, postgres(Path(temporary)) as server:
        root = Path(temporary)
        write_study(root / "study")
        url = server.create_database("bench")
        store = RatingsStore(open_engine(url), STUDY)
        fill(store, StudyStore(open_store(f"file:{root / 'home' / 'store'}"), STUDY))
        environment = {"S2S_STUDY": str(root / "study"), "S2S_HOME": str(root / "home"), "S2S_DATABASE_URL": url}
        with serving(environment, given.workers) as address:
            watch = asyncio.run(load(store, address, given.raters, given.action_s, given.last_s))
        counts = status(store)
        store.engine.dispose()
    for line in watch.table():
        print(line)
    took_s = {
        "server": resource.getrusage(resource.RUSAGE_CHILDREN),
        "raters": resource.getrusage(resource.RUSAGE_SELF),
    }
    told = ", ".join(f"{who} {use.ru_utime + use.ru_stime:.0f} s" for who, use in took_s.items())
    print(f"CPU time: {told}; load {os.getloadavg()[0]:.1f}")
    requests, pages = sum(map(len, watch.took_ms.values())), watch.of_pages()
    print(
        f"{given.raters} raters, {given.workers} workers: {requests / given.last_s:.0f} requests/s, "
        f"{len(watch.took_ms['answers']) / given.last_s:.1f} pages answered/s; {counts['done']} votes, errors: {dict(watch.errors)}"
    )
    missed = bool(watch.errors) or float(np.quantile(pages, 0.99)) > BAR_MS
    print("a bar is missed" if missed else f"p99 of a page within {BAR_MS:.0f} ms, no error")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
