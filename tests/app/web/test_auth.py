from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hybridal.app.db.schema import Person
from hybridal.app.people import User
from hybridal.app.web.auth import LoginLink, SessionCache


def test_a_token_lets_one_in_however_many_try() -> None:
    login_link = LoginLink()
    assert not login_link.redeem("prediction")
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: login_link.redeem(login_link.token), range(8))) == 1


ADA = User(Person(name="Ada", role="annotator"), "csrf-token", "login")


def test_a_guest_is_known_for_a_moment() -> None:
    now = 0.0
    sessions = SessionCache(5.0, clock=lambda: now)
    assert sessions.get("cookie") is None
    assert sessions.load("cookie", lambda: ADA) is ADA
    now = 4.9
    assert sessions.get("cookie") is ADA
    now = 5.1
    assert sessions.get("cookie") is None


def test_failed_logins_are_not_cached() -> None:
    sessions = SessionCache()
    assert sessions.load("cookie", lambda: None) is None
    assert sessions.get("cookie") is None


def test_login_cleared_during_its_lookup_is_not_cached() -> None:
    sessions = SessionCache()

    def ask() -> User:
        sessions.clear()  # her role was changed during the lookup
        return ADA

    sessions.load("cookie", ask)
    assert sessions.get("cookie") is None
    sessions.load("cookie", lambda: ADA)
    sessions.clear()
    assert sessions.get("cookie") is None
