"""A single rating on the admin pages: found from its flag or rater, heard, excluded and restored, down to the snapshot."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from sqlalchemy import select

from s2s_assets.ratings import exclude, import_file, restore, settled_version, snapshot, status
from s2s_assets.ratings.records import exclusions_told
from s2s_assets.ratings.schema import answer, exclusion, pair
from s2s_assets.study import load_study


@pytest.fixture
def ann(visit):
    """A rater who is through, too fast for the first task."""
    ann = visit().train()
    nonce, wait_s = ann.nonce, 1.8
    while ann.nonce == nonce:
        ann.answer(2, wait_s=wait_s)
        wait_s = 0.4
    ann.do_all(1)
    return ann


def ratings_of(lab) -> list[str]:
    with lab.ratings.reading() as connection:
        return list(connection.execute(select(answer.c.rating_id).order_by(answer.c.id)).scalars())


def page_of(rating: str) -> str:
    return f"/admin/rating?id={quote(rating, safe='')}"


def excluded_in_snapshot(lab, clock) -> dict[str, tuple[str, str]]:
    clock.wind(minutes=2)
    version = settled_version(lab.ratings, clock(), settle_s=30, min_new=1, max_age_s=0)
    assert version is not None
    frame = snapshot(lab.ratings, version, load_study(lab.settings.study).scripts).frame
    marked = frame.filter(frame["excluded_by"].is_not_null())
    return {r: (by, why) for r, by, why in marked.select("rating_id", "excluded_by", "excluded_reason").iter_rows()}


def test_a_rating_is_excluded_and_restored_with_author_and_reason(visit, lab, clock, ann) -> None:
    eve, rating = visit.admin(), ratings_of(lab)[0]
    assert excluded_in_snapshot(lab, clock) == {}
    before = settled_version(lab.ratings, clock(), settle_s=30, min_new=1, max_age_s=0)
    refused = eve.sign(page_of(rating), "eve", "")
    assert refused.status_code == 422
    assert "author and reason" in refused.text
    told = eve.sign(page_of(rating), "eve", "a door slammed").text
    assert "Does not count" in told
    assert "a door slammed" in told
    assert excluded_in_snapshot(lab, clock) == {rating: ("eve", "a door slammed")}
    after = settled_version(lab.ratings, clock(), settle_s=30, min_new=1, max_age_s=0)
    assert before is not None
    assert after is not None
    assert after.version != before.version
    with lab.ratings.reading() as connection:
        (row,) = connection.execute(select(exclusion)).all()
    assert (row.scope, row.target, row.author) == ("rating", rating, "eve")
    assert len(ratings_of(lab)) == status(lab.ratings)["answers"]
    assert "restored" in eve.sign(page_of(rating), "ben", "it was elsewhere").text
    assert excluded_in_snapshot(lab, clock) == {}
    assert exclusions_told(lab.ratings).select("in_force", "rating", "lifted_by", "lifted_reason").rows() == [
        (False, rating, "ben", "it was elsewhere")
    ]


def test_a_slot_is_free_once_every_rating_of_its_task_is_excluded(visit, lab, clock, ann) -> None:
    eve, done = visit.admin(), status(lab.ratings)["done"]
    with lab.ratings.reading() as connection:
        first = connection.execute(select(answer.c.assignment_id).order_by(answer.c.id)).scalars().first()
        of_task = list(connection.execute(select(answer.c.rating_id).where(answer.c.assignment_id == first)).scalars())
    for rating in of_task[:-1]:
        eve.sign(page_of(rating))
        assert status(lab.ratings)["done"] == done
    eve.sign(page_of(of_task[-1]))
    assert status(lab.ratings)["done"] == done - 1
    eve.sign(page_of(of_task[0]))
    assert status(lab.ratings)["done"] == done


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_flag_leads_to_its_clips_in_the_order_heard(visit, lab, ann, first) -> None:
    with lab.ratings.writing() as connection:
        connection.execute(answer.update().values(first=first))
    eve = visit.admin()
    told = eve.get("/admin/table/flags?find=too_fast").text
    rating = next(r for r in ratings_of(lab) if page_of(r) in told)
    page = eve.get(page_of(rating)).text
    assert "too_fast" in page
    with lab.ratings.reading() as connection:
        query = select(pair.c["prompt", "response_a", "response_b"], answer.c.rubric).join(answer)
        row = connection.execute(query.where(answer.c.rating_id == rating)).one()
    ordered = (row.response_a, row.response_b) if first == "a" else (row.response_b, row.response_a)
    wanted = [f"/admin/audio/prompt?of={row.prompt}", *(f"/admin/audio/response?of={r}" for r in ordered)]
    places = [page.index(f'src="{source}"') for source in wanted]
    assert places == sorted(places)
    assert all(eve.get(source).content[:4] == b"fLaC" for source in wanted)
    assert f"/admin/rater?name={ann.rater}" in page
    assert f"on <bdi>{row.rubric}</bdi>" in page


def test_a_rater_leads_to_each_answer(visit, lab, ann) -> None:
    eve = visit.admin()
    told = eve.get(f"/admin/rater?name={ann.rater}").text
    assert all(page_of(rating) in told for rating in ratings_of(lab))
    assert ann.rater in eve.get(f"/admin/rater?name={ann.rater}&sort=rubric&find=overall").text


def test_every_exclusion_is_told_and_leads_on(visit, lab, clock, ann) -> None:
    rating = ratings_of(lab)[0]
    exclude(lab.ratings, "rating", rating, "ada", "noise", clock())
    exclude(lab.ratings, "rater", ann.rater, "ben", "in a train", clock() + timedelta(minutes=1))
    exclude(lab.ratings, "response", "r-0-v", "cleo", "cut off", clock() + timedelta(minutes=2))
    restore(lab.ratings, "response", "r-0-v", "cleo", "it is whole", clock() + timedelta(minutes=3))
    frame = exclusions_told(lab.ratings)
    assert frame.select("in_force", "rating", "rater", "response", "author").rows() == [
        (False, None, None, "r-0-v", "cleo"),
        (True, None, ann.rater, None, "ben"),
        (True, rating, None, None, "ada"),
    ]
    told = visit.admin().get("/admin/table/exclusions").text
    assert all(where in told for where in (page_of(rating), f"rater?name={ann.rater}", "response?id=r-0-v"))
    assert "it is whole" in told


def test_an_answer_without_recordings_has_a_page(visit, lab, clock) -> None:
    file = lab.root / "old.csv"
    file.write_text("rating_id,prompt,rater,config_a,config_b,score\nold-1,p0,zoe,m0|v|none,m0|w|none,0\n")
    assert import_file(lab.ratings, file, clock()).inserted == 1
    page = visit.admin().get("/admin/rating?id=old-1").text
    assert "About the same" in page
    assert page.count("There is no recording") == 2
