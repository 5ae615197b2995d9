"""What a rater agreed to is known word for word, whatever the study's text was called."""

import re
from html import unescape

import pytest
from sqlalchemy import select

from s2s_assets.ratings.app.consent import consent_words
from s2s_assets.ratings.app_schema import consent_text, sitting
from s2s_assets.ratings.consents import agreed_by
from s2s_assets.study import load_study


def kept(lab) -> dict[str, tuple[str, str]]:
    """Version → language and text."""
    with lab.ratings.reading() as connection:
        return {row.version: (row.language, row.text) for row in connection.execute(select(consent_text))}


def read_off(page: str) -> list[str]:
    """What a person reads on the consent page, up to the label of the box."""
    read = page[page.index("<h1") : page.index("<button")]
    lines = re.findall(r"<(h1|p|li|label)\b[^>]*>(.*?)</\1>", read, re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", line)).strip() for _, line in lines]


def test_the_words_are_kept_as_they_were_shown_once_for_all_who_agreed_to_them(visit) -> None:
    lab = visit.lab_with('tasks: 3, control_share: 0, headphones: "off", consent: {contact: "ada@example.org & co"}')
    shown = read_off(visit("").get(lab.link("")).text)
    ann, ben = visit(), visit()
    [(version, (language, text))] = kept(lab).items()
    assert re.fullmatch(r"1-[0-9a-f]{12}", version)
    assert (language, text.splitlines()) == ("en", shown)
    assert "about 3 tasks" in text
    assert "ada@example.org & co" in text
    for who in (ann, ben):
        assert [(one.version, one.text) for one in agreed_by(lab.ratings, who.rater)] == [(version, text)]


@pytest.mark.parametrize(("rule", "told"), [("off", False), ("asked", True), ("required", True)])
def test_headphones_are_spoken_of_where_the_study_wants_them(visit, rule: str, told: bool) -> None:
    lab = visit.lab_with(f'tasks: 3, control_share: 0, headphones: "{rule}"')
    ann = visit("")
    for language in ("en", "de"):
        consent = ann.get(f"{lab.link('')}?lang={language}").text
        assert ("eadphones" in consent or "Kopfhörer" in consent) is told
    ann.get("/consent?lang=en")
    ann.agree()
    assert ("headphones" in ann.get("/sound").text) is told
    assert (": 1 of 2" in ann.page, ": 1 of 1" in ann.page) == (told, not told)


def test_another_language_is_another_version(lab, visit) -> None:
    visit()
    bea = visit("")
    bea.get(lab.link(""))
    bea.get("/consent?lang=de")
    assert bea.agree().status_code == 200
    assert sorted(language for language, _ in kept(lab).values()) == ["de", "en"]


def test_a_text_that_changes_under_its_old_number_is_another_version(lab) -> None:
    study = load_study(lab.settings.study).study
    versions = {consent_words(study, *asked).kept.version for asked in (("en", "pairs", 3), ("de", "pairs", 3))}
    versions |= {consent_words(study, *asked).kept.version for asked in (("en", "mos", 3), ("en", "pairs", 4))}
    for more in ({"paragraphs": ("Hear.",)}, {"paragraphs": ("Hear!",)}, {"contact": "ada"}, {"version": "2"}):
        consent = study.sessions.consent.model_copy(update=more)
        sessions = study.sessions.model_copy(update={"consent": consent})
        changed = study.model_copy(update={"sessions": sessions})
        versions.add(consent_words(changed, "en", "pairs", 3).kept.version)
    assert len(versions) == 8
    assert {version.partition("-")[0] for version in versions} == {"1", "2"}


@pytest.mark.parametrize("told", [{}, {"text": ""}, {"text": "1-000000000000"}])
def test_who_read_another_text_is_asked_to_read_it_again(lab, visit, told) -> None:
    ann = visit("")
    ann.get(lab.link(""))
    assert ann.post("/consent", agree="yes", **told).status_code == 422
    assert "has changed since you opened the page" in ann.page
    assert kept(lab) == {}
    assert ann.agree().status_code == 200
    assert len(kept(lab)) == 1


def test_a_page_in_another_language_than_the_last_one_shown_is_no_consent(lab, visit) -> None:
    ann = visit("")
    ann.get(lab.link(""))
    english = ann.text
    ann.get("/consent?lang=de")
    assert ann.post("/consent", agree="yes", text=english).status_code == 422
    assert "Dieser Text hat sich geändert" in ann.page
    assert kept(lab) == {}


def test_further_sessions_go_on_under_the_text_that_was_agreed_to(lab, visit) -> None:
    address = lab.link("")
    ann = visit(address).train()
    ann.do_all()
    assert ann.post("/again").status_code == 200
    elsewhere = visit("")
    elsewhere.get(address)
    assert elsewhere.post("/consent").status_code == 200, "who is known need not agree again"
    with lab.ratings.reading() as connection:
        assert len(set(connection.execute(select(sitting.c.consent)).scalars())) == 1
    assert len(agreed_by(lab.ratings, ann.rater)) == len(kept(lab)) == 1


def test_an_admin_reads_what_a_rater_agreed_to_and_where_it_was_not_kept(lab, visit) -> None:
    ann, ben = visit(), visit()
    with lab.ratings.writing() as connection:
        connection.execute(sitting.update().where(sitting.c.name == ben.name).values(consent="1"))
    eve = visit.admin()
    page = unescape(eve.get(f"/admin/rater?name={ann.rater}").text)
    assert all(line in page for line in agreed_by(lab.ratings, ann.rater)[0].text.splitlines())
    page = eve.get(f"/admin/rater?name={ben.rater}").text
    assert "version 1<" in page
    assert "Texts were not kept then." in page
