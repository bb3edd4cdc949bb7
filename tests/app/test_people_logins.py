from __future__ import annotations

from sqlalchemy import func, select, update

from hybridal.app.db.schema import LoginSession, Person
from hybridal.app.people import find_session, sign_in, sign_out
from hybridal.app.project import Project

from .made_up import me


def test_a_cookie_is_good_until_it_runs_out_or_is_given_back(project: Project) -> None:
    with project.sessions.begin() as session:
        first, second = sign_in(session, me(project)), sign_in(session, me(project))
        visitor = find_session(session, first)
        assert visitor is not None
        assert (visitor.name, visitor.role) == ("me", "owner")
        assert find_session(session, first + "x") is None
        sign_out(session, visitor.login)
        assert find_session(session, first) is None
        assert find_session(session, second) is not None
        session.execute(update(LoginSession).values(until=0.0))
        assert find_session(session, second) is None
        sign_in(session, me(project))
        assert session.scalar(select(func.count()).select_from(LoginSession)) == 1  # old ones are swept out


def test_logins_are_stored_as_hashes(project: Project) -> None:
    with project.sessions.begin() as session:
        token = sign_in(session, me(project))
        [kept] = session.scalars(select(LoginSession.token))
        assert token not in kept
        assert find_session(session, kept) is None


def test_inactive_person_is_not_signed_in(project: Project) -> None:
    with project.sessions.begin() as session:
        token = sign_in(session, me(project))
        session.execute(update(Person).values(active=False))
        assert find_session(session, token) is None
