"""Whole sessions in a real browser with real audio: by mouse, by keys alone, through reloads, restarts and failures."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from s2s_assets.ratings import RatingsStore, status
from s2s_assets.ratings.app_schema import reply, sitting, stimulus, task
from s2s_assets.ratings.check_sounds import right_answer, tones_due, trials_due
from s2s_assets.ratings.schema import answer

pytestmark = pytest.mark.browser
READY = "() => [...document.querySelectorAll('.clip .play')].every(button => !button.disabled)"
HEARD = "clip => clip.classList.contains('heard')"
OPEN = "() => document.querySelector('.answers')?.disabled === false"
WIDE = """() => [...document.querySelectorAll('body *')].filter(e => !e.closest('.away, .skip'))
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind of database is enough for what a browser sees."""
    return f"sqlite:///{tmp_path / 'ratings.sqlite'}"


@contextmanager
def rater(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """A browser of its own at a link; errors on a page fail the test at the end."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    page.noise = []
    page.on("pageerror", lambda error: page.noise.append(str(error)))
    page.on("dialog", lambda dialog: (page.noise.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda m: page.noise.append(m.text) if "Content Security" in m.text else None)
    page.goto(url)
    yield page
    assert page.noise == []
    context.close()


def newest_sitting(ratings: RatingsStore) -> Any:
    with ratings.reading() as connection:
        return connection.execute(select(sitting).order_by(sitting.c.id.desc())).first()


def hear(page: Any) -> None:
    """Play all that was not heard, by mouse."""
    page.wait_for_function(READY)
    for clip in page.locator(".clip").all():
        if "heard" not in (clip.get_attribute("class") or ""):
            clip.locator(".play").click()
            page.wait_for_function(HEARD, arg=clip.element_handle())
    page.wait_for_function(OPEN)


def go_on(page: Any) -> None:
    with page.expect_navigation():
        page.click("form[data-listen] button.main")
    page.wait_for_load_state("load")


def choose(page: Any, number: int = 3) -> None:
    """The same place on every scale of the page, from 0."""
    for question in page.locator(".question").all():
        question.locator("input").nth(number).check()


def consent_and_checks(
    page: Any, ratings: RatingsStore, look: Callable[[Any, str], None] = lambda *_: None, skip: bool = False
) -> None:
    look(page, "consent")
    page.check("#agree")
    page.click("button.main")
    page.wait_for_url("**/sound")
    hear(page)
    look(page, "sound")
    name = newest_sitting(ratings).name
    page.check(f"input[name=answer][value='{tones_due(name, 0)}']")
    go_on(page)
    while page.url.endswith("/headphones"):
        trial = trials_due(name, 0)[len(newest_sitting(ratings).headphone_answers)]
        hear(page)
        look(page, "headphones")
        if skip:
            with page.expect_navigation():
                page.click("button[name=skip]")
            break
        page.check(f"input[name=answer][value='{right_answer(trial)}']")
        go_on(page)
    page.wait_for_url("**/task")


def finish(page: Any, look: Callable[[Any, str], None] = lambda *_: None) -> int:
    """Answer every page until the end; how many there were."""
    pages = 0
    while not page.url.endswith("/end"):
        page.wait_for_function(READY)
        look(page, "task")
        hear(page)
        choose(page)
        look(page, "answered")
        go_on(page)
        pages += 1
    return pages


def test_a_whole_session_by_mouse(make_lab, browser) -> None:
    lab = make_lab("tasks: 2, control_share: 0")
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        assert status(lab.ratings)["leased"] == 0
        finish(page)
        assert len(page.locator(".code output").inner_text()) == 8
    assert status(lab.ratings)["done"] == 2
    with lab.ratings.reading() as connection:
        kinds = connection.execute(select(task.c.kind, task.c.state)).all()
        heard = connection.execute(select(stimulus.c.coverage, stimulus.c.plays, stimulus.c.rate)).all()
        per_rubric = Counter(connection.execute(select(answer.c.rubric)).scalars())
        asked = connection.execute(select(answer.c.elapsed_ms).distinct()).scalars().all()
    assert sorted(kinds) == [("pair", "done")] * 2 + [("training", "done")]
    assert all(coverage >= 0.97 and plays == 1 and rate == 1 for coverage, plays, rate in heard)
    assert {r: per_rubric[r] for r in ("helpfulness", "naturalness", "audio_quality", "overall")} == dict.fromkeys(
        ("helpfulness", "naturalness", "audio_quality", "overall"), 2
    )
    assert min(asked) > 2000


def test_a_whole_session_by_keyboard_alone(make_lab, browser) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"')
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        keys = page.keyboard

        def tab_to(selector: str) -> None:
            for _ in range(60):
                if page.evaluate("s => document.activeElement?.matches(s)", selector):
                    return
                keys.press("Tab")
            pytest.fail(f"{selector} is not reached by Tab")

        def press_and_go(selector: str) -> None:
            tab_to(selector)
            with page.expect_navigation():
                keys.press("Enter")
            page.wait_for_load_state("load")

        tab_to("#agree")
        keys.press("Space")
        press_and_go("button.main")
        page.wait_for_url("**/sound")
        name = newest_sitting(lab.ratings).name
        page.wait_for_function(READY)
        tab_to(".play")
        keys.press("Enter")
        page.wait_for_function(OPEN)
        tab_to("input[name=answer]")
        keys.press("Space")
        for _ in range(tones_due(name, 0) - 2):
            keys.press("ArrowRight")
        press_and_go("button.main")
        page.wait_for_url("**/task")
        while not page.url.endswith("/end"):
            page.wait_for_function(READY)
            for key, clip in zip("pab", page.locator(".clip").all(), strict=True):
                if "heard" not in (clip.get_attribute("class") or ""):
                    keys.press(key)
                    page.wait_for_function(HEARD, arg=clip.element_handle())
            page.wait_for_function(OPEN)
            for _ in page.locator(".question").all():
                keys.press("6")
                page.evaluate("document.activeElement.blur()")
            press_and_go("form[data-page] button.main")
    assert status(lab.ratings)["done"] == 1
    with lab.ratings.reading() as connection:
        assert set(connection.execute(select(answer.c.screen_value)).scalars()) == {2}


def test_enter_in_a_radio_sends_nothing_and_shortcuts_can_be_switched_off(lab, browser) -> None:
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        hear(page)
        page.locator(".question input").first.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("2")
        assert page.locator(".question input").nth(1).is_checked()
        with page.expect_navigation():
            page.click("button[name=shortcuts]")
        page.wait_for_function(READY)
        page.keyboard.press("7")
        page.keyboard.press("a")
        assert page.locator(".playing").count() == 0
        # what was chosen before and not sent is still there
        assert page.locator(".question input:checked").evaluate_all("all => all.map(one => one.value)") == ["-2"]
        assert page.locator("kbd").count() == 0


def test_reload_second_tab_and_restart_lose_and_double_nothing(make_lab, browser) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"')
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        hear(page)
        choose(page)
        go_on(page)
        page.reload()
        page.wait_for_function(OPEN)  # heard before, and the server knows
        choose(page, 5)
        page.reload()
        page.wait_for_function(OPEN)
        assert page.locator(".question input:checked").count() == 1
        go_on(page)
        hear(page)
        choose(page, 1)
        twin = page.context.new_page()
        twin.goto(page.url)
        twin.wait_for_function(OPEN)
        choose(twin, 6)
        server.process.terminate()
        server.process.wait(20)
        page.click("form[data-page] button.main")
        page.locator(".unsaved").wait_for(state="visible")
        with lab.serving(port=server.port):
            page.wait_for_function("() => document.querySelector('.answers > legend')?.innerText.includes('2')")
            went_on = page.locator(".answers > legend").inner_text()
            twin.click("form[data-page] button.main")
            twin.wait_for_function("was => document.querySelector('.answers > legend')?.innerText === was", arg=went_on)
            twin.close()
            finish(page)
    with lab.ratings.reading() as connection:
        replies = connection.execute(
            select(reply.c.rubric, reply.c.value).join(task, task.c.id == reply.c.task_id).where(task.c.kind == "pair")
        ).all()
    assert len(replies) == len({r.rubric for r in replies})
    assert {r.value for r in replies if r.rubric in ("helpfulness", "reasoning")} == {-2}
    assert status(lab.ratings)["done"] == 1


def test_a_failing_server_is_tried_again_and_a_double_click_counts_once(make_lab, browser) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"')
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        hear(page)
        choose(page)
        left = [2]

        def fail_twice(route: Any) -> None:
            if route.request.method == "POST" and left[0]:
                left[0] -= 1
                route.fulfill(status=503, body="down")
            else:
                route.continue_()

        page.route("**/task", fail_twice)
        with page.expect_navigation(timeout=30_000):
            page.dblclick("form[data-page] button.main")
        assert left == [0]
        page.unroute("**/task")
        page.wait_for_load_state("load")
        finish(page)
    with lab.ratings.reading() as connection:
        assert connection.execute(select(sitting.c.outcome)).scalars().all() == ["done"]
    assert status(lab.ratings)["done"] == 1


@pytest.mark.parametrize(
    ("width", "scheme", "mos"), [(1280, "light", False), (320, "dark", False), (320, "light", True)]
)
def test_every_page_is_accessible_and_fits(make_lab, browser, axe, width, scheme, mos) -> None:
    lab = make_lab("tasks: 1, control_share: 0, headphones: asked")
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "reduced_motion": "reduce"}
    pictures = os.environ.get("RATING_APP_PICTURES")
    looked: Counter[str] = Counter()

    def look(page: Any, name: str) -> None:
        looked[name] += 1
        if looked[name] > 2:
            return
        if pictures:
            kind = "-mos" if mos else ""
            page.screenshot(path=f"{pictures}/{name}-{looked[name]}{kind}-{width}-{scheme}.png", full_page=True)
        assert axe(page) == [], name
        assert page.evaluate(WIDE) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    with (
        lab.serving() as server,
        rater(browser, lab.link(server.address, work="mos" if mos else "pairs"), **options) as page,
    ):
        consent_and_checks(page, lab.ratings, look, skip=True)
        page.wait_for_function(READY)
        page.locator(".problem summary").click()
        look(page, "problem")
        finish(page, look)
        look(page, "end")
        page.goto(f"{server.address}/i/wrong")
        look(page, "message")


@pytest.mark.parametrize("width", [1280, 320])
def test_a_missing_answer_is_shown_with_its_question(make_lab, browser, width) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"', prompts=2)
    with (
        lab.serving() as server,
        rater(browser, lab.link(server.address), viewport={"width": width, "height": 640}) as page,
    ):
        consent_and_checks(page, lab.ratings)
        for _ in range(2):
            hear(page)
            choose(page)
            go_on(page)
        hear(page)
        for wrong, button in ((".question", "form[data-page] button.main"), (".problem .list", ".problem button")):
            if "problem" in wrong:
                page.locator(".problem summary").click()
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            page.click(button)
            page.wait_for_function("document.activeElement.matches('input[type=radio]')")
            asked = page.locator(f"{wrong} > legend").first.bounding_box()
            bar = page.locator(".clips").bounding_box()
            assert asked["y"] >= bar["y"] + bar["height"] - 1, wrong
        page.evaluate("document.querySelector('form[data-page]').noValidate = true")
        go_on(page)
        hear(page)
        fault = page.locator(".question .fault").first
        assert fault.is_visible()
        choose(page)
        assert not fault.is_visible(), "it is answered by now"


def test_words_of_the_other_language(lab, browser) -> None:
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        page.click("a[hreflang=de]")
        assert page.locator("html").get_attribute("lang") == "de"
        page.check("#agree")
        page.click("button.main")
        page.wait_for_url("**/sound")
        assert "Hören Sie das?" in page.locator("h1").inner_text()


def test_nothing_plays_by_itself_and_a_refusal_of_the_browser_is_told(lab, browser) -> None:
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        page.add_init_script("""
            window.plays = 0;
            const play = HTMLMediaElement.prototype.play;
            HTMLMediaElement.prototype.play = function () {
              window.plays += 1;
              return window.refuses ? Promise.reject(new DOMException('no', 'NotAllowedError')) : play.call(this);
            };""")
        page.reload()
        page.wait_for_function(READY)
        assert page.evaluate("window.plays") == 0
        page.evaluate("window.refuses = true")
        first = page.locator(".clip").first
        first.locator(".play").click()
        page.wait_for_function("() => document.querySelector('.state').textContent.length > 20")
        assert first.locator(".state").inner_text() == first.locator(".state").get_attribute("data-blocked")
        assert not page.evaluate(OPEN)
        page.evaluate("window.refuses = false")
        hear(page)


def test_questions_stay_shut_until_every_recording_has_come(lab, browser) -> None:
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        asked: Counter[str] = Counter()
        lost = page.locator(".clip").nth(2).get_attribute("data-src")

        def give(route: Any) -> None:
            path = route.request.url.removeprefix(server.address)
            asked[path] += 1
            if path == lost and asked[path] == 1:
                route.fulfill(status=404)
            elif asked[path] == 1:
                route.fulfill(status=503)
            else:
                route.continue_()

        page.route("**/m/*", give)
        page.reload()
        page.locator(".clip.failed").wait_for()
        for clip in page.locator(".clip").all()[:2]:
            clip.locator(".play:enabled").click(timeout=20_000)
            page.wait_for_function(HEARD, arg=clip.element_handle())
        assert sorted(asked.values()) == [1, 2, 2]
        assert not page.evaluate(OPEN)
        page.locator(".clip.failed .retry").click()
        hear(page)
        assert page.locator(".clip.failed").count() == 0


def test_one_recording_at_a_time_and_none_after_the_page(lab, browser) -> None:
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        page.wait_for_function(READY)
        clips = page.locator(".clip").all()
        page.evaluate(
            "() => [...document.querySelectorAll('.clip .play')].slice(0, 2).forEach(button => button.click())"
        )
        page.wait_for_function(HEARD, arg=clips[1].element_handle())
        assert "heard" not in (clips[0].get_attribute("class") or "")
        page.evaluate("() => { document.querySelector('.clip .play').click(); dispatchEvent(new Event('pagehide')); }")
        page.wait_for_function("() => document.querySelector('.playing') === null")
        assert "heard" not in (clips[0].get_attribute("class") or "")


def test_keys_mean_nothing_while_somebody_types_or_holds_another(make_lab, browser) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"')
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        while not page.locator("#comment").count():
            hear(page)
            choose(page)
            go_on(page)
        page.wait_for_function(OPEN)
        page.locator("#comment").focus()
        page.keyboard.type("p a b 17")
        page.keyboard.press("Enter")
        assert page.locator("#comment").input_value() == "p a b 17\n"
        page.evaluate("document.activeElement.blur()")
        for key in ("Control+p", "Alt+a", "Meta+b", "Alt+3", "Control+4"):
            page.evaluate(
                "key => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: key.at(-1), bubbles: true, "
                "ctrlKey: key.startsWith('C'), altKey: key.startsWith('A'), metaKey: key.startsWith('M')}))",
                key,
            )
        assert page.locator(".playing, .question input:checked").count() == 0
        page.keyboard.press("4")
        assert page.locator(".question input:checked").count() == 1


def test_there_is_no_code_before_the_last_page_is_saved(make_lab, browser) -> None:
    lab = make_lab('tasks: 1, control_share: 0, headphones: "off"')
    with lab.serving() as server, rater(browser, lab.link(server.address)) as page:
        consent_and_checks(page, lab.ratings)
        while not page.locator("#comment").count():
            hear(page)
            choose(page)
            go_on(page)
        page.wait_for_function(OPEN)
        choose(page)
        page.route("**/task", lambda r: r.fulfill(status=503) if r.request.method == "POST" else r.continue_())
        page.click("form[data-page] button.main")
        page.locator(".unsaved").wait_for(state="visible")
        other = page.context.new_page()
        other.goto(f"{server.address}/end")
        assert other.url.endswith("/task")
        assert page.locator(".code").count() == other.locator(".code").count() == 0
        assert status(lab.ratings)["done"] == 0
        with page.expect_navigation(url="**/end", timeout=30_000):
            page.unroute("**/task")
        assert len(page.locator(".code output").inner_text()) == 8
    assert status(lab.ratings)["done"] == 1
