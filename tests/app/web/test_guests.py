from __future__ import annotations

from hybridal.app.db.schema import Person
from hybridal.app.people.logins import Visitor
from hybridal.app.web.guests import Guests

ADA = Visitor(Person(name="Ada", role="annotator"), "csrf", "login")


def test_a_guest_is_known_for_a_moment() -> None:
    now = 0.0
    guests = Guests(5.0, clock=lambda: now)
    assert guests.recall("cookie") is None
    assert guests.learn("cookie", lambda _: ADA) is ADA
    now = 4.9
    assert guests.recall("cookie") is ADA
    now = 5.1
    assert guests.recall("cookie") is None


def test_nobody_is_not_remembered() -> None:
    guests = Guests()
    assert guests.learn("cookie", lambda _: None) is None
    assert guests.recall("cookie") is None


def test_who_was_asked_for_before_people_changed_is_not_remembered_after() -> None:
    guests = Guests()

    def ask(_: str) -> Visitor:
        guests.forget()  # somebody changed her role while the database was asked
        return ADA

    guests.learn("cookie", ask)
    assert guests.recall("cookie") is None
    guests.learn("cookie", lambda _: ADA)
    guests.forget()
    assert guests.recall("cookie") is None
