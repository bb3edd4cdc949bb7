from __future__ import annotations

import pytest
from sqlalchemy import select, update

from hybridal.app.api_tokens import MOST_TOKENS, find_token, list_tokens, make_token, note_use, withdraw_token
from hybridal.app.app_errors import ConflictError, ForbiddenError, MissingError
from hybridal.app.db.schema import AccessToken, Person
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.errors import UserError

from .made_up import me, people


def user(person: Person) -> User:
    return User(person, "csrf_token", "login")


def test_token_is_valid_until_revoked_and_stored_as_a_hash(project: Project) -> None:
    with project.sessions.begin() as session:
        made, secret = make_token(session, user(me(project)), "  nightly  import", "reviewer")
        assert (made.name, secret[:9], secret in made.digest) == ("nightly import", "hybridal_", False)
        found = find_token(session, secret)
        assert found is not None
        assert (found[0].name, found[0].role, found[0].person.role) == ("me", "reviewer", "owner")
        for wrong in ("", made.digest, secret[:-1], secret + "x", "\ud800"):
            assert find_token(session, wrong) is None
        withdraw_token(session, user(me(project)), made.number)
        assert find_token(session, secret) is None


def test_a_token_never_may_more_than_its_person(project: Project) -> None:
    [ada] = people(project, 1, "reviewer")
    with project.sessions.begin() as session:
        with pytest.raises(ForbiddenError, match="a reviewer here; your token cannot be an owner's"):
            make_token(session, user(ada), "x", "owner")
        # Neither may a program make a token that is above its own.
        with pytest.raises(ForbiddenError):
            make_token(session, User(ada, "", "", "annotator"), "x", "reviewer")
        _, secret = make_token(session, user(ada), "x", "reviewer")
        for role, left in (("owner", "reviewer"), ("reviewer", "reviewer"), ("annotator", "annotator")):
            session.execute(update(Person).where(Person.number == ada.number).values(role=role))
            found = find_token(session, secret)
            assert found is not None
            assert found[0].role == left
        session.execute(update(Person).where(Person.number == ada.number).values(active=False))
        assert find_token(session, secret) is None


def test_people_see_and_withdraw_their_own_tokens_and_owners_everybodys(project: Project) -> None:
    ada, bob = people(project, 2)
    with project.sessions.begin() as session:
        numbers = [make_token(session, user(one), "x", "annotator")[0].number for one in (ada, bob)]
        assert [(token.number, name) for token, name in list_tokens(session, user(ada))] == [(numbers[0], ada.name)]
        assert len(list_tokens(session, user(me(project)))) == 2
        with pytest.raises(MissingError):
            withdraw_token(session, user(ada), numbers[1])
        withdraw_token(session, user(me(project)), numbers[1])
        assert session.scalars(select(AccessToken.number)).all() == numbers[:1]


def test_tokens_have_readable_names_and_are_not_endless(project: Project) -> None:
    with project.sessions.begin() as session:
        with pytest.raises(UserError, match="A name needs"):
            make_token(session, user(me(project)), "a\u202eb", "owner")
        for _ in range(MOST_TOKENS):
            make_token(session, user(me(project)), "x", "annotator")
        with pytest.raises(ConflictError, match="withdraw one"):
            make_token(session, user(me(project)), "x", "annotator")


def test_a_use_is_noted_once_in_a_while(project: Project) -> None:
    with project.sessions.begin() as session:
        made, secret = make_token(session, user(me(project)), "x", "owner")
        for unnoted in (True, False):
            found = find_token(session, secret)
            assert found is not None
            assert found[1] is unnoted
            note_use(session, secret)
            session.refresh(made)
        assert made.used is not None
        assert made.used >= made.made


def test_every_token_is_listed_and_can_be_withdrawn_however_many_are_newer(project: Project) -> None:
    [ada] = people(project, 1)
    with project.sessions.begin() as session:
        oldest, secret = make_token(session, user(ada), "x", "annotator")
        session.add_all(
            AccessToken(digest=str(n), name="x", role="annotator", person_number=ada.number) for n in range(1001)
        )
        session.flush()
        assert oldest.number in {token.number for token, _ in list_tokens(session, user(me(project)))}
        withdraw_token(session, user(me(project)), oldest.number)
        assert find_token(session, secret) is None
