"""The rater's way without a browser: what is handed out, what is stored, and what becomes of it."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest
import yaml
from sqlalchemy import func, select, text

from s2s_assets.audio import decode
from s2s_assets.ratings import (
    Settled,
    controls_table,
    heard_table,
    invite,
    mos_table,
    rater_quality_table,
    snapshot,
    status,
    utc_now,
    withdraw,
)
from s2s_assets.ratings.app.words import TEMPLATES, language_of, strings
from s2s_assets.ratings.app_schema import reply, sitting, stimulus, task
from s2s_assets.ratings.check_sounds import TRIALS, headphone_check, right_answer, sound_check, tones_due, trials_due
from s2s_assets.ratings.controls import REPEAT_GAP, as_expected, control_plan
from s2s_assets.ratings.export import export_mos
from s2s_assets.ratings.schema import answer, assignment, pair
from s2s_assets.ratings.sittings import HEADPHONE_TRIES, answer_headphones, by_token
from s2s_assets.ratings.steps import due, steps_of
from s2s_assets.study import load_study


def rows(lab, query):
    with lab.ratings.reading() as connection:
        return connection.execute(query).all()


def test_replies_become_answers_signed_to_the_pair(lab, visit) -> None:
    ann = visit().train()
    ann.do_all(2)
    found = rows(lab, select(answer.c["screen_value", "score", "first", "elapsed_ms", "source", "simulated"]))
    assert {(r.screen_value, r.source, r.simulated) for r in found} == {(2, "baseline", False)}
    assert all(r.score == (-2 if r.first == "a" else 2) for r in found)
    assert status(lab.ratings)["done"] == 3
    assert rows(lab, select(sitting.c.outcome)) == [("done",)]


def test_the_pages_follow_the_studys_groups_and_gates(lab, visit) -> None:
    ann = visit().train()
    while not ann.ended:
        nonce, asked = ann.nonce, []
        while not ann.ended and ann.nonce == nonce:
            asked.append({q.removeprefix("q.") for q in ann.questions})
            ann.answer()
        prompt = rows(lab, select(task.c.prompt).where(task.c.nonce == nonce))[0].prompt
        gated = int(prompt[1:]) % 2 == 1
        content = {"helpfulness", "reasoning"} if gated else {"helpfulness"}
        assert asked == [content, {"naturalness"}, {"audio_quality"}, {"overall"}]


def test_overall_comes_last_and_each_rater_has_an_order(lab) -> None:
    study = load_study(lab.settings.study).study
    rubrics = study.rubrics_for(frozenset({"needs_reasoning"}))
    orders = {steps_of(rubrics, f"rater-{k}")[0].ids for k in range(20)}
    assert orders == {("helpfulness", "reasoning"), ("reasoning", "helpfulness")}
    steps = steps_of(rubrics, "rater-1")
    assert steps == steps_of(rubrics, "rater-1")
    assert steps[-1].ids == ("overall",)
    assert due(steps, {"helpfulness"}) is steps[0]
    assert due(steps, {r.id for r in rubrics}) is None


def test_no_lease_before_the_checks_and_the_training(lab, visit) -> None:
    ann = visit()
    assert status(lab.ratings)["leased"] == 0
    ann.train()
    assert status(lab.ratings)["leased"] == 1
    assert rows(lab, select(func.count()).select_from(answer)) == [(0,)]


def test_a_lease_that_ran_out_is_taken_up_again_while_the_slot_is_free(lab, visit, clock) -> None:
    ann = visit().train()
    ann.answer()
    nonce, asked = ann.nonce, ann.questions
    clock.wind(hours=2)
    ann.get("/task")
    assert (ann.nonce, ann.questions) == (nonce, asked)
    assert status(lab.ratings)["leased"] == 1
    ann.do_task()
    assert status(lab.ratings)["done"] == 1


def test_a_slot_that_another_took_is_not_taken_back(lab, visit, clock) -> None:
    with lab.ratings.writing() as connection:
        one = connection.execute(select(func.min(pair.c.id))).scalar_one()
        connection.execute(pair.update().where(pair.c.id == one).values(taken=1))
        connection.execute(pair.update().where(pair.c.id != one).values(taken=2))
        connection.execute(text("UPDATE pair SET slots = 1, taken = 0 WHERE id = :one"), {"one": one})
    ann = visit().train()
    ann.answer()
    nonce = ann.nonce
    clock.wind(hours=2)
    ben = visit().train()
    assert not ben.ended
    ben.do_task()
    while not ann.ended and ann.nonce == nonce:
        ann.answer()
    states = dict(rows(lab, select(task.c.nonce, task.c.state).where(task.c.kind == "pair")))
    assert sorted(states.values()) == ["done", "late"] or states[nonce] == "expired"
    assert rows(lab, select(func.max(pair.c.taken)).where(pair.c.id == one)) == [(1,)]


def test_heartbeats_keep_a_lease(lab, visit, clock) -> None:
    ann = visit().train()
    for _ in range(5):
        clock.wind(minutes=8)
        told = ann.client.post("/beat", data={"nonce": ann.nonce, "played": ""}).json()
        assert told["left_s"] == 600
        assert told["over"] is False
    clock.wind(minutes=11)
    assert ann.client.post("/beat", data={"nonce": ann.nonce, "played": ""}).json() == {"over": True}


def test_a_technical_problem_frees_the_slot_and_is_flagged(lab, visit) -> None:
    ann = visit().train()
    nonce, questions = ann.nonce, ann.questions
    assert ann.post("/problem", nonce=nonce, problem="no_sound").status_code == 422
    ann.post("/problem", nonce=nonce, problem="no_sound", role="second", comment="silence")
    assert "Here is the next one" in ann.page
    assert ann.nonce != nonce
    flagged = rows(lab, select(task.c["state", "problem", "problem_role", "comment"]).where(task.c.nonce == nonce))
    assert flagged == [("problem", "no_sound", "second", "silence")]
    assert rows(lab, select(assignment.c.state).where(assignment.c.nonce == nonce)) == [("problem",)]
    assert rows(lab, select(func.count()).select_from(answer)) == [(0,)]
    taken = rows(lab, select(func.sum(pair.c.taken)))
    assert taken == [(1,)]
    ann.answer(nonce=nonce, **dict.fromkeys(questions, "1"))
    of_task = select(func.count()).select_from(reply.join(task)).where(task.c.nonce == nonce)
    assert rows(lab, of_task) == [(0,)]
    assert ann.post("/problem", nonce=nonce, problem="no_sound", role="second").status_code == 200
    assert rows(lab, select(func.sum(pair.c.taken))) == taken


def test_a_pair_with_two_reports_waits_for_someone_to_look(lab, visit, clock) -> None:
    with lab.ratings.writing() as connection:
        one = connection.execute(select(func.min(pair.c.id))).scalar_one()
        connection.execute(pair.update().where(pair.c.id != one).values(taken=2))
    for _ in range(2):
        ann = visit().train()
        assert not ann.ended
        ann.post("/problem", nonce=ann.nonce, problem="broken", role="first")
    assert visit().train().ended
    assert status(lab.ratings)["done"] == 0


def test_a_void_pair_is_left_and_the_next_one_shown(lab, visit, clock) -> None:
    ann = visit().train()
    nonce = ann.nonce
    response = rows(lab, select(task.c.first).where(task.c.nonce == nonce))[0].first
    withdraw(lab.ratings, response, "ada", "wrong voice", clock())
    clock.wind(hours=2)
    ann.get("/task")
    assert ann.nonce != nonce
    assert rows(lab, select(task.c.state).where(task.c.nonce == nonce)) == [("expired",)]


def test_controls_look_like_tasks_and_never_become_answers(visit) -> None:
    lab = visit.lab_with('tasks: 12, control_share: 0.25, headphones: "off"', prompts=20)
    ann = visit().train()
    ann.do_all(0)
    kinds = rows(lab, select(task.c["kind", "position", "first", "second", "prompt"]).order_by(task.c.position))
    plan = control_plan(load_study(lab.settings.study).study, ann.name, 20)
    made = {t.position: t.kind for t in kinds if t.kind not in ("pair", "training")}
    assert made
    assert set(made.items()) <= set(plan.items())
    answered = rows(lab, select(func.count()).select_from(answer.join(assignment)))[0][0]
    assert answered == rows(lab, select(func.count()).select_from(answer))[0][0]
    assert status(lab.ratings)["done"] == sum(t.kind == "pair" for t in kinds)
    for control in (t for t in kinds if t.kind in ("null", "gold")):
        assert control.first == control.second
        others = [t.prompt for t in kinds if t.kind != "training" and t is not control]
        assert control.prompt not in others
    treated = rows(lab, select(task.c.kind, stimulus.c.treatment).join_from(task, stimulus))
    assert {kind for kind, treatment in treated if treatment == "spoilt"} <= {"gold", "training"}


def test_the_consent_tells_how_many_tasks_there_will_be(visit) -> None:
    lab = visit.lab_with('tasks: 12, control_share: 0.25, headphones: "off"', prompts=20)
    for work, tasks in (("pairs", "15"), ("mos", "12")):
        link = lab.link("", work=work)
        assert f"about {tasks} tasks" in visit("").get(link).text
        ann = visit(lab.link("", work=work)).train()
        assert f"Task 1 of about {tasks}" in ann.page


def test_a_browser_is_told_of_controls_what_it_is_told_of_pairs(visit) -> None:
    lab = visit.lab_with('tasks: 12, control_share: 0.25, headphones: "off"', prompts=20)
    ann = visit().train()
    told = {}
    while not ann.ended:
        nonce, told_of_task = ann.nonce, ann.page.partition("<section")[2].partition("<form")[0]
        visit.clock.wind(minutes=8)
        kept = ann.client.post("/beat", data={"nonce": nonce, "played": ""}).json()
        visit.clock.wind(minutes=11)
        over = ann.client.post("/beat", data={"nonce": nonce, "played": ""}).json()
        ann.get("/task")  # taken up again
        assert ann.nonce == nonce
        again = ann.page.partition("<section")[2].partition("<form")[0]
        told[nonce] = (re.sub(r"[\w-]{32}", "", told_of_task), str(kept), str(over), re.sub(r"[\w-]{32}", "", again))
        ann.do_task(0)
    kinds = dict(rows(lab, select(task.c["nonce", "kind"])))
    assert {kinds[nonce] for nonce in told} > {"pair", "gold"}
    assert len(set(told.values())) == 1


def test_places_of_controls_differ_by_sitting_and_repeats_come_late(lab) -> None:
    study = load_study(lab.settings.study).study
    study = study.model_copy(
        update={"sessions": study.sessions.model_copy(update={"tasks": 20, "control_share": 0.125})}
    )
    plans = [control_plan(study, f"s-{k}", 100) for k in range(200)]
    assert {len(p) for p in plans} == {2}
    assert len({tuple(p.items()) for p in plans}) > 150
    assert set().union(*(p.values() for p in plans)) == {"null", "gold", "repeat"}
    assert min(min(p) for p in plans) >= 1
    assert all(place > REPEAT_GAP for p in plans for place, kind in p.items() if kind == "repeat")
    none = study.model_copy(update={"sessions": study.sessions.model_copy(update={"control_share": 0})})
    assert control_plan(none, "s", 100) == {}
    # where a sitting ends for want of prompts, its controls come before
    assert all(place < 8 for k in range(50) for place in control_plan(study, f"s-{k}", 9))


@pytest.mark.parametrize(
    ("expected", "replies", "right"),
    [
        ({"rubric": None, "low": -1, "high": 1}, {"a": 1, "b": -1}, True),
        ({"rubric": None, "low": -1, "high": 1}, {"a": 0, "b": 2}, False),
        ({"rubric": "a", "low": 1, "high": 3}, {"a": 1, "b": -3}, True),
        ({"rubric": "a", "low": 1, "high": 3}, {"a": 0, "b": 3}, False),
    ],
)
def test_controls_are_judged_by_what_is_known(expected, replies, right) -> None:
    assert as_expected(expected, replies) is right


def test_a_trap_is_judged_at_once_and_the_second_ends_the_sitting(visit) -> None:
    rules = 'tasks: 6, control_share: 0.5, headphones: "off", traps: [{file: trap.flac, answer: 3}]'
    lab = visit.lab_with(rules, prompts=30)
    (lab.root / "study" / "trap.flac").write_bytes(visit.sound(7))
    token, caught = invite(lab.ratings, utc_now(), "generic"), 0
    for session in range(9):
        ann = visit(f"/i/{token}?id=ann&session={session}").train()
        while not ann.ended and caught < 2:
            nonce = ann.nonce
            ann.do_task(1)
            if rows(lab, select(task.c.second).where(task.c.nonce == nonce)) == [("trap trap.flac",)]:
                caught += 1
                # the second one ends the sitting, and so does a trap that is its last task
                assert "A voice in the last task" in ann.page or ann.ended
                break
        if caught == 2:
            break
    assert "as far as it goes" in ann.page
    told = controls_table(lab.ratings).filter(kind="trap")
    assert set(told["low"]) == set(told["high"]) == {3}
    assert told["task"].n_unique() == 2


def test_what_the_cleaning_rules_are_told(visit) -> None:
    lab = visit.lab_with('tasks: 16, control_share: 0.5, headphones: "off"', prompts=40)
    study, kinds = load_study(lab.settings.study).study, {"gold", "null", "repeat"}
    # a sitting whose later places hold no control has no repeat
    ann = next(one for one in iter(visit, None) if set(control_plan(study, one.name, 40).values()) == kinds)
    ann.train().do_all(1)
    told = controls_table(lab.ratings)
    assert set(told["kind"]) == kinds
    bounded = told.filter(pl.col("low").is_not_null())
    assert set(bounded["kind"]) == {"gold"}
    assert set(bounded["rubric"]) == {"audio_quality"}
    for task_id, kind, first, second in told.select("task", "kind", "first", "second").unique().iter_rows():
        assert (first == second) is (kind != "repeat"), task_id
    heard = heard_table(lab.ratings)
    assert heard.height == status(lab.ratings)["done"]
    assert set(heard["coverage"]) == set(heard["rate"]) == {1.0}
    taken = snapshot(lab.ratings, Settled("", visit.clock(), 0), load_study(lab.settings.study).scripts)
    quality = rater_quality_table(taken.frame, controls=told, heard=heard)
    assert "control_share" in set(quality["measure"])


def test_a_personal_link_can_be_used_for_further_sessions(lab, visit) -> None:
    address = lab.link("")
    ann = visit(address).train()
    ann.do_all()
    assert "Begin another session" in ann.page
    assert ann.post("/again").status_code == 200
    assert "Can you hear this?" in ann.page
    second = rows(lab, select(sitting.c.name).order_by(sitting.c.id.desc()).limit(1))[0].name
    ann.post("/sound", attempt="0", answer=str(tones_due(second, 0)))
    assert "One to try" not in ann.page
    ann.do_task()
    elsewhere = visit("")
    elsewhere.get(address)
    assert "Welcome back" in elsewhere.page
    elsewhere.post("/consent")
    elsewhere.do_all()
    assert status(lab.ratings)["done"] == 6
    assert status(lab.ratings)["raters"] == 1


def test_a_panels_rater_gets_one_session_a_submission(lab, visit) -> None:
    token = invite(lab.ratings, utc_now(), "generic")
    ann = visit(f"/i/{token}?id=ann&session=1").train()
    ann.do_all()
    assert "Begin another session" not in ann.page
    ann.post("/again")
    assert rows(lab, select(func.count()).select_from(sitting)) == [(1,)]


def test_the_training_pair_says_whether_it_was_right(lab, visit) -> None:
    ann = visit()
    expected = rows(lab, select(task.c.expected))[0].expected
    ann.answer(1 if expected["low"] > 0 else -1)
    ann.answer(0)
    assert "Right. The sound" in ann.page
    ben = visit()
    wrong = rows(lab, select(task.c.expected).where(task.c.state == "open", task.c.kind == "training"))[0].expected
    ben.answer(-1 if wrong["low"] > 0 else 1)
    ben.answer(0)
    assert "did not point to the clean one" in ben.page


def test_single_responses_are_kept_beside_and_each_gets_its_votes(visit, clock) -> None:
    lab = visit.lab_with('tasks: 3, control_share: 0, headphones: "off", mos_votes: 2', prompts=2)
    raters = [visit(work="mos") for _ in range(12)]
    for ann in raters:
        assert 'class="scale acr"' in ann.page or ann.ended
        ann.do_all(4)
    votes = Counter(
        r.first for r in rows(lab, select(task.c.first).where(task.c.kind == "mos", task.c.state == "done"))
    )
    assert set(votes.values()) == {2}
    assert len(votes) == 8
    assert rows(lab, select(func.count()).select_from(answer)) == [(0,)]
    assert {r.value for r in rows(lab, select(reply.c.value))} == {4}
    per_sitting = rows(lab, select(task.c.sitting_id, task.c.prompt).where(task.c.kind == "mos"))
    assert max(Counter(per_sitting).values()) == 1
    assert visit(work="mos").ended
    assert rows(lab, select(sitting.c.outcome).order_by(sitting.c.id.desc()).limit(1)) == [("no_work",)]
    told = mos_table(lab.ratings)
    assert told.height == 16 * 3
    assert set(told["score"]) == {4}
    assert told["config"].null_count() == 0
    assert export_mos(lab.ratings, lab.root / "mos.csv") == told.height


def test_a_single_response_that_was_left_is_given_again(visit, clock) -> None:
    lab = visit.lab_with('tasks: 9, control_share: 0, headphones: "off", mos_votes: 1', prompts=1)
    ann = visit(work="mos")
    assert not ann.ended
    clock.wind(hours=1)
    for _ in range(4):
        visit(work="mos").do_all(3)
    votes = rows(lab, select(task.c.first).where(task.c.kind == "mos", task.c.state == "done"))
    assert len(votes) == len(set(votes)) == 4
    ann.get("/task")
    assert ann.ended


def test_nothing_in_a_page_or_recording_tells_the_config(lab, visit) -> None:
    ann = visit().train()
    secret = [
        r
        for row in rows(lab, select(pair.c["pair", "config_a", "config_b", "response_a", "response_b", "prompt"]))
        for r in row
    ]
    blobs = [r.blob for r in rows(lab, select(stimulus.c.blob))]
    clips = []
    for path in ann.media:
        response = ann.client.get(path)
        told = ann.page + str(sorted(response.headers.items())) + path
        assert not [s for s in {*secret, *blobs} if re.search(rf"(?<![\w-]){re.escape(s)}(?![\w-])", told)]
        clips.append(response)
    varying = {"content-length", "etag", "date"}
    assert len({tuple((n, v) for n, v in sorted(c.headers.items()) if n not in varying) for c in clips}) == 1
    assert {len(path) for path in ann.media} == {len(ann.media[0])}
    assert {c.content[:4] for c in clips} == {b"fLaC"}
    for clip in clips:
        heard = decode(clip.content, "clip")
        assert (heard.rate_hz, heard.channels) == (24_000, 1)


def test_recordings_come_in_ranges_as_browsers_ask(visit) -> None:
    ann = visit().train()
    whole = ann.client.get(ann.media[1])
    part = ann.client.get(ann.media[1], headers={"range": "bytes=0-1"})
    assert (part.status_code, part.headers["content-length"], part.content) == (206, "2", whole.content[:2])
    assert part.headers["content-range"] == f"bytes 0-1/{len(whole.content)}"
    assert whole.headers["accept-ranges"] == "bytes"


def test_headphones_that_are_none_end_the_session(visit) -> None:
    lab = visit.lab_with("tasks: 3, control_share: 0")
    ann = visit()
    for attempt in range(2):
        for k, trial in enumerate(trials_due(ann.name, attempt)):
            assert ann.client.get(f"/headphones/{attempt}/{k}").status_code == 200
            ann.post("/headphones", attempt=str(attempt), trial=str(k), answer=str(trial.index("antiphase") + 1))
    assert "as far as it goes" in ann.page
    assert rows(lab, select(sitting.c["outcome", "headphones"])) == [("failed", "failed")]
    assert ann.get("/task").text == ann.get("/end").text


@pytest.mark.parametrize("required", [True, False])
def test_a_failed_headphone_check_ends_the_sitting_in_the_same_write(visit, required) -> None:
    lab = visit.lab_with("tasks: 1, control_share: 0")
    ann = visit()
    ends_at = visit.clock() if required else None
    for _ in range(HEADPHONE_TRIES):
        sat = by_token(lab.ratings, ann.client.cookies["s2s"])
        answer_headphones(lab.ratings, sat, answer=1, right=0, needed=1, trials=1, ends_at=ends_at)
    ended = rows(lab, select(sitting.c["outcome", "headphones", "ended_at"]))
    assert ended == [("failed" if required else None, "failed", ends_at)]


@pytest.mark.parametrize(("rule", "kept"), [("asked", "none"), ('"off"', "off")])
def test_who_has_no_headphones_is_told_from_who_was_not_asked(visit, rule, kept) -> None:
    lab = visit.lab_with(f"tasks: 1, control_share: 0, headphones: {rule}")
    ann = visit()
    if rule == "asked":
        ann.post("/headphones", skip="yes")
    assert "One to try" in ann.page
    assert rows(lab, select(sitting.c.headphones)) == [(kept,)]


def test_five_of_six_pass_and_answers_out_of_turn_are_ignored(visit) -> None:
    lab = visit.lab_with("tasks: 3, control_share: 0")
    ann = visit()
    trials = trials_due(ann.name, 0)
    assert ann.client.get("/headphones/0/3").status_code == 404
    ann.post("/headphones", attempt="0", trial="4", answer="1")
    for k, trial in enumerate(trials):
        right = right_answer(trial)
        ann.post("/headphones", attempt="0", trial=str(k), answer=str(right if k else right % 3 + 1))
    assert rows(lab, select(sitting.c.headphones)) == [("passed",)]
    assert "One to try" in ann.page


def test_who_cannot_hear_the_tones_goes_no_further(lab, visit) -> None:
    ann = visit("")
    ann.get(lab.link(""))
    ann.agree()
    name = rows(lab, select(sitting.c.name))[0].name
    for attempt in range(4):
        wrong = 2 if tones_due(name, attempt) != 2 else 3
        ann.post("/sound", attempt=str(attempt), answer=str(wrong))
        ann.post("/sound", attempt=str(attempt), answer=str(wrong))
    assert "as far as it goes" in ann.page


def test_check_sounds_are_what_they_claim() -> None:
    assert decode(sound_check(5), "five").duration_s > decode(sound_check(2), "two").duration_s
    trials = trials_due("s", 0)
    assert len(trials) == TRIALS
    assert sorted(Counter(right_answer(t) for t in trials).values()) == [2, 2, 2]
    for trial in trials:
        clip = decode(headphone_check(trial), "trial")
        parts = [clip.samples[round(1.2 * k * 24_000) : round((1.2 * k + 0.8) * 24_000)] for k in range(3)]
        ears = [float((p**2).mean()) for p in parts]
        air = [float((p.mean(axis=1) ** 2).mean()) for p in parts]
        assert ears.index(min(ears)) == trial.index("quieter")
        assert air.index(min(air)) == trial.index("antiphase")


def test_preferences_stay_with_the_sitting(lab, visit) -> None:
    ann = visit().train()
    assert 'data-shortcuts="on"' in ann.page
    ann.post("/preferences", shortcuts="off")
    assert 'data-shortcuts="off"' in ann.page
    ann.post("/preferences", language="de")
    assert 'lang="de"' in ann.page
    assert "Antwort A" in ann.page
    ann.post("/preferences", language="xx")
    assert 'lang="de"' in ann.page


def test_who_has_no_session_is_told_so_in_the_studys_language(visit) -> None:
    visit.lab_with(**{"title: Speech lab": "title: Speech lab\nlanguage: de"})
    ann = visit("")
    for address in ("/i/none", "/task", "/nowhere"):
        assert '<html lang="de">' in ann.get(address).text, address
    assert '<html lang="en">' in ann.get("/i/none?lang=en").text


def test_every_language_has_every_word() -> None:
    english = strings()["en"]
    for code, texts in strings().items():
        assert texts.keys() == english.keys(), code
        for key, value in texts.items():
            assert sorted(re.findall(r"\{(\w+)\}", value)) == sorted(re.findall(r"\{(\w+)\}", english[key])), (
                code,
                key,
            )


def test_every_word_of_a_template_is_there() -> None:
    used = {key for name in ("base", "consent", "sound", "headphones", "task", "end", "message", "parts")
            for key in re.findall(r"t\('([a-z_]+)'[,)]", (TEMPLATES / f"{name}.html.j2").read_text("utf-8"))}  # fmt: skip
    assert len(used) > 40
    assert used <= strings()["en"].keys()
    assert yaml.safe_load((TEMPLATES / "strings.yaml").read_text("utf-8")) == strings()


@pytest.mark.parametrize(
    ("wanted", "accepted", "study", "got"),
    [("de", "en", "en", "de"), (None, "de", "en", "en"), (None, "fr, de-AT;q=0.9", "fr", "de"), ("xx", "", "fr", "en")],
)
def test_the_language_to_begin_in(wanted, accepted, study, got) -> None:
    assert language_of(wanted, accepted, study) == got


def test_sixteen_raters_at_once_give_exactly_k_votes_a_pair(visit, clock) -> None:
    lab = visit.lab_with('tasks: 4, control_share: 0.25, headphones: "off", prompt_per_rater: 9', prompts=4)
    people = [visit().train() for _ in range(16)]

    def sit(ann) -> None:
        while not ann.ended:
            page = ann.page
            ann.answer(1)
            twice = dict(re.findall(r'name="(nonce)" value="([^"]+)"', page)) | dict.fromkeys(ann.questions, "-1")
            ann.client.post("/task", data=twice)
            ann.get("/task")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(sit, people))
    while status(lab.ratings)["done"] < 48 and len(people) < 60:
        people.append(visit().train())
        sit(people[-1])
    votes = rows(
        lab,
        select(assignment.c.pair_id, func.count()).where(assignment.c.state == "done").group_by(assignment.c.pair_id),
    )
    assert max(n for _, n in votes) <= 2
    taken = rows(lab, select(func.sum(pair.c.taken)))[0][0]
    assert taken == sum(n for _, n in votes) == status(lab.ratings)["done"] == 48
    per_task = rows(
        lab,
        select(answer.c.assignment_id, answer.c.rubric, func.count()).group_by(answer.c.assignment_id, answer.c.rubric),
    )
    assert all(n == 1 for *_, n in per_task)
    # with sixteen winding one clock a lease may run out: such a vote is late, kept, and none of the k
    closed = select(assignment.c.id).where(assignment.c.state.in_(("done", "late")))
    assert {a for a, *_ in per_task} == {r.id for r in rows(lab, closed)}


def test_the_snapshot_holds_what_people_answered(lab, visit, clock) -> None:
    visit().train().do_all()
    folder = load_study(lab.settings.study)
    taken = snapshot(lab.ratings, Settled("", clock(), 0), folder.scripts)
    assert taken.frame.height == status(lab.ratings)["answers"]
    assert taken.frame["excluded_by"].null_count() == taken.frame.height
