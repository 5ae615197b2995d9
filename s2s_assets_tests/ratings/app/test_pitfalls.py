"""What went wrong in other listening tests, and the test here that it does not.

| seen elsewhere | test |
|---|---|
| sound that begins by itself, or silently does not | test_nothing_plays_by_itself_and_a_refusal_of_the_browser_is_told |
| no byte ranges, a wrong length | test_recordings_come_in_ranges_as_browsers_ask |
| a recording that does not load, and no way on | test_questions_stay_shut_until_every_recording_has_come |
| | test_a_technical_problem_frees_the_slot_and_is_flagged |
| two recordings at once | test_one_recording_at_a_time_and_none_after_the_page |
| results saved at the end only, or not at all | test_a_failing_server_is_tried_again_and_a_double_click_counts_once |
| a code before everything was saved | test_there_is_no_code_before_the_last_page_is_saved, test_the_end_comes_after_the_last_task |
| entering twice overwrites or counts twice | test_the_same_person_by_the_same_link_goes_on_in_one_browser, test_a_nonce_is_good_once |
| a reload shuts somebody out | test_reload_second_tab_and_restart_lose_and_double_nothing |
| who leaves keeps the work; two get the same | test_a_lease_that_ran_out_is_taken_up_again_while_the_slot_is_free |
| | test_sixteen_raters_at_once_give_exactly_k_votes_a_pair, test_who_finds_no_work_gets_a_code_of_its_own |
| records before consent | test_nothing_is_stored_before_consent, test_no_lease_before_the_checks_and_the_training |
| times of the browser's clock | test_times_are_the_servers |
| formulas in exports | test_a_guard_can_always_be_taken_away, test_links_as_a_file_run_in_no_spreadsheet |
| unequal loudness | test_the_demos_traps_are_heard_as_loud_as_the_rest |
| keys that act while somebody types | test_keys_mean_nothing_while_somebody_types_or_holds_another |
| | test_enter_in_a_radio_sends_nothing_and_shortcuts_can_be_switched_off |
| ids that are changed | test_ids_are_kept_as_they_are |
| questions that are answered as one | test_the_most_alike_questions_come_first_and_a_collapse_is_flagged |
| a recording that plays on over the next page | test_one_recording_at_a_time_and_none_after_the_page |
"""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from sqlalchemy import select

from s2s_assets.ratings import invite
from s2s_assets.ratings.app_schema import reply, sitting, task
from s2s_assets.ratings.invitations import completion_codes, invited
from s2s_assets.ratings.schema import answer, assignment, pair, rater

ROOM = Path(__file__).parents[1]
HOSTILE = "<script>alert(1)</script>"


def rows(lab, query):
    with lab.ratings.reading() as connection:
        return connection.execute(query).all()


def test_every_test_of_the_table_is_there() -> None:
    named = set(re.findall(r"test_\w+", __doc__ or ""))
    assert len(named) > 20
    there = {
        name
        for path in ROOM.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert named <= there, named - there


def test_the_end_comes_after_the_last_task(lab, visit) -> None:
    ann = visit()
    for page in ("/end", "/again"):
        answered = ann.get(page) if page == "/end" else ann.post(page)
        assert 'class="code"' not in answered.text
    ann.train()
    while not ann.ended:
        now = ann.page
        assert 'class="code"' not in ann.get("/end").text
        ann.page = now
        ann.answer()
    assert 'class="code"' in ann.get("/end").text


def test_who_finds_no_work_gets_a_code_of_its_own(lab, visit, clock) -> None:
    with lab.ratings.writing() as connection:
        connection.execute(pair.update().values(taken=2))
    token = invite(lab.ratings, clock(), "prolific")
    ann = visit(f"/i/{token}?PROLIFIC_PID=a&STUDY_ID=s&SESSION_ID=1").train()
    found = invited(lab.ratings, token)
    assert found is not None
    codes = completion_codes(lab.ratings, found)
    assert ann.ended
    assert [name for name, code in codes.items() if code in ann.page] == ["no_work"]


def test_times_are_the_servers(lab, visit, clock) -> None:
    ann = visit().train()
    begun, nonce = clock(), ann.nonce
    while ann.nonce == nonce:
        ann.answer(submitted_at="1999-01-01", elapsed_ms="1", saved_at="1999-01-01", landed_at="2099-01-01")
    (done,) = rows(lab, select(assignment.c["submitted_at", "leased_at"]).where(assignment.c.nonce == nonce))
    assert done.submitted_at == clock()
    assert done.leased_at == begun
    took_ms = (clock() - begun).total_seconds() * 1000
    assert {tuple(r) for r in rows(lab, select(answer.c["submitted_at", "landed_at", "elapsed_ms"]))} == {
        (clock(), clock(), took_ms)
    }
    saved = rows(lab, select(reply.c.saved_at).join(task).where(task.c.nonce == nonce))
    assert all(begun < row.saved_at <= clock() for row in saved)


def test_ids_are_kept_as_they_are(lab, visit, clock) -> None:
    names = ["Ann", "ann", "=cmd|'/c calc'!A1", "😀🎧", "אב", "é", "e\u0301", "a b", "a-b", "-3", "%41", "x" * 200]
    token = invite(lab.ratings, clock(), "generic")
    for name in names:
        visit(f"/i/{token}?{urlencode({'id': name, 'session': name[::-1]})}")
    found = rows(lab, select(rater.c.external_id, sitting.c.claim).join(sitting).order_by(rater.c.id))
    assert [tuple(row) for row in found] == [(name, name[::-1]) for name in names]
    assert len({row.name for row in rows(lab, select(rater.c.name))}) == len(names)


@pytest.mark.parametrize("text", [HOSTILE, '" onfocus="alert(1)', "</title><img src=x onerror=alert(1)>"])
def test_no_text_of_a_study_becomes_markup_on_any_page(visit, text) -> None:
    quoted = f"'{text}'"
    consent = f"consent: {{version: '1', paragraphs: [{quoted}], contact: {quoted}}}"
    old = ("Speech lab", '"Which recording sounds cleaner?"', '"Correct, relevant, complete."', "M Zero")
    lab = visit.lab_with(f'tasks: 3, control_share: 0, headphones: "off", {consent}', **dict.fromkeys(old, quoted))
    pages = [visit("").get(lab.link("")).text]
    ann = visit().train()
    while not ann.ended:
        pages.append(ann.page)
        ann.answer()
    eve = visit.admin()
    pages += [eve.get(page).text for page in ("/admin", "/admin/quality", "/admin/invitations", "/admin/table/configs")]
    escaped = text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")
    assert not [page for page in pages if text in page]
    assert all(escaped in page for page in pages)
    assert pages[0].count(escaped) >= 4  # two titles, a paragraph, whom to ask
    assert [page for page in pages if f"<bdi>{escaped}</bdi></legend>" in page]
    assert [page for page in pages if re.search(rf'class="help"[^>]*><bdi>{re.escape(escaped)}</bdi>', page)]
