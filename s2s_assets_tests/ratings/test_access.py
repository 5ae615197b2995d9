"""Links to the admin pages: one browser, a short while, and nothing of a rater's is one."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from s2s_assets.ratings import invite
from s2s_assets.ratings.access import ACCESS_AGE, LINK_AGE, admin_link, end_access, has_access, make_access, open_access
from s2s_assets.ratings.app_schema import admin_access


def test_a_link_opens_once(ratings, clock) -> None:
    token = make_access(ratings, clock())
    cookie = open_access(ratings, token, clock())
    assert cookie is not None
    assert has_access(ratings, cookie, clock())
    assert open_access(ratings, token, clock()) is None
    assert not has_access(ratings, token, clock())
    assert admin_link("https://rate.example.org/", token) == f"https://rate.example.org/admin/open/{token}"


@pytest.mark.parametrize("late", [timedelta(0), timedelta(seconds=1)])
def test_a_link_grows_old(ratings, clock, late) -> None:
    token = make_access(ratings, clock())
    clock.now += LINK_AGE - timedelta(seconds=1) + late
    assert (open_access(ratings, token, clock()) is None) == bool(late)


def test_a_browser_is_let_in_for_half_a_day(ratings, clock) -> None:
    cookie = open_access(ratings, make_access(ratings, clock()), clock())
    clock.now += ACCESS_AGE - timedelta(seconds=1)
    assert has_access(ratings, cookie, clock())
    clock.wind(seconds=1)
    assert not has_access(ratings, cookie, clock())


def test_what_is_no_admin_link_opens_nothing(ratings, clock) -> None:
    made = make_access(ratings, clock())
    for token in ("", "x", made[:-1], made + "x", invite(ratings, clock())):
        assert open_access(ratings, token, clock()) is None
    assert not has_access(ratings, "", clock())


def test_ending_closes_one_browser_or_everything(ratings, clock) -> None:
    ann, ben = (open_access(ratings, make_access(ratings, clock()), clock()) for _ in range(2))
    unused = make_access(ratings, clock())
    assert end_access(ratings, clock(), ann) == 1
    assert not has_access(ratings, ann, clock())
    assert has_access(ratings, ben, clock())
    assert end_access(ratings, clock()) == 2
    assert not has_access(ratings, ben, clock())
    assert open_access(ratings, unused, clock()) is None


def test_neither_link_nor_cookie_is_stored(ratings, clock) -> None:
    token = make_access(ratings, clock())
    cookie = open_access(ratings, token, clock())
    with ratings.reading() as connection:
        stored = repr(connection.execute(select(admin_access)).all())
    assert cookie not in stored
    assert not [part for part in token.split(".") if part.strip('"') in stored]
