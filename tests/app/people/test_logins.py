from __future__ import annotations

from sqlalchemy import func, select, update

from hybridal.app.db.schema import Login, Person
from hybridal.app.people import logins
from hybridal.app.project import Project

from ..made_up import me


def test_a_cookie_is_good_until_it_runs_out_or_is_given_back(project: Project) -> None:
    with project.sessions.begin() as session:
        first, second = logins.sign_in(session, me(project)), logins.sign_in(session, me(project))
        visitor = logins.find(session, first)
        assert visitor is not None
        assert (visitor.name, visitor.role) == ("me", "owner")
        assert logins.find(session, first + "x") is None
        logins.sign_out(session, visitor.login)
        assert logins.find(session, first) is None
        assert logins.find(session, second) is not None
        session.execute(update(Login).values(until=0.0))
        assert logins.find(session, second) is None
        logins.sign_in(session, me(project))
        assert session.scalar(select(func.count()).select_from(Login)) == 1  # old ones are swept out


def test_the_database_alone_lets_nobody_in(project: Project) -> None:
    with project.sessions.begin() as session:
        token = logins.sign_in(session, me(project))
        [kept] = session.scalars(select(Login.token))
        assert token not in kept
        assert logins.find(session, kept) is None


def test_who_is_not_active_is_nobody(project: Project) -> None:
    with project.sessions.begin() as session:
        token = logins.sign_in(session, me(project))
        session.execute(update(Person).values(active=False))
        assert logins.find(session, token) is None
