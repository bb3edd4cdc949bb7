from __future__ import annotations

import pytest

from hybridal.app.errors import ConflictError, MissingError
from hybridal.app.people import accounts
from hybridal.app.project import Project
from hybridal.errors import UserError

from ..made_up import me, people


def test_a_name_is_of_one_person_however_it_is_written(project: Project) -> None:
    with project.sessions.begin() as session:
        ada = accounts.add(session, "  Ada   Byron ", "annotator")
        assert ada.name == "Ada Byron"
        with pytest.raises(ConflictError, match="already"):
            accounts.add(session, "ADA BYRON", "reviewer")
        assert accounts.change(session, ada.number, name="Ada byron").name == "Ada byron"
        with pytest.raises(ConflictError):
            accounts.change(session, ada.number, name="ME")


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "(file)", "a\x07b", "a\u202eb"])
def test_a_name_is_one_that_people_can_read(project: Project, name: str) -> None:
    with project.sessions.begin() as session, pytest.raises(UserError, match="A name needs"):
        accounts.add(session, name, "annotator")


def test_who_began_the_project_stays_its_owner(project: Project) -> None:
    [other] = people(project, 1, "owner")
    with project.sessions.begin() as session:
        for change in ({"role": "annotator"}, {"active": False}):
            with pytest.raises(ConflictError):
                accounts.change(session, me(project).number, **change)
        assert accounts.change(session, other.number, role="annotator", active=False).role == "annotator"
        with pytest.raises(ConflictError):
            accounts.change(session, accounts.the_file(session).number, role="owner")
        with pytest.raises(MissingError):
            accounts.change(session, 999, role="owner")


def test_there_is_one_file(project: Project) -> None:
    with project.sessions.begin() as session:
        assert accounts.the_file(session) is accounts.the_file(session)
        assert accounts.the_owner(session).name == "me"
