from __future__ import annotations

import pytest

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Person
from hybridal.app.people import add_person, change_person, file_annotator, find_by_name, project_owner
from hybridal.app.project import Project
from hybridal.errors import UserError

from .made_up import me, people


def test_names_of_people_are_unique_regardless_of_case(project: Project) -> None:
    with project.sessions.begin() as session:
        ada = add_person(session, "  Ada   Byron ", "annotator")
        assert ada.name == "Ada Byron"
        with pytest.raises(ConflictError, match="already"):
            add_person(session, "ADA BYRON", "reviewer")
        assert change_person(session, ada.number, name="Ada byron").name == "Ada byron"
        with pytest.raises(ConflictError):
            change_person(session, ada.number, name="ME")


def test_names_are_compared_alike_when_people_join_and_when_they_sign_in(project: Project) -> None:
    with project.sessions.begin() as session:
        petra = add_person(session, "Petra MÜLLER", "annotator")
        for name in ("petra müller", " PETRA  MÜLLER", "Petra Mu\u0308ller"):
            assert find_by_name(session, name) is petra
            with pytest.raises(ConflictError, match="already"):
                add_person(session, name, "annotator")
        assert find_by_name(session, "petra") is None


def test_of_people_whose_names_were_told_apart_before_each_is_found_by_their_own(project: Project) -> None:
    with project.sessions.begin() as session:
        older = [Person(name=name, role="annotator") for name in ("Öde", "öde")]
        session.add_all(older)
        session.flush()
        assert [find_by_name(session, one.name) for one in older] == older
        assert find_by_name(session, "ÖDE") is None, "it could be either"


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "(file)", "a\x07b", "a\u202eb"])
def test_a_name_is_one_that_people_can_read(project: Project, name: str) -> None:
    with project.sessions.begin() as session, pytest.raises(UserError, match="A name needs"):
        add_person(session, name, "annotator")


def test_creator_of_the_project_stays_owner(project: Project) -> None:
    [other] = people(project, 1, "owner")
    with project.sessions.begin() as session:
        for change in ({"role": "annotator"}, {"active": False}):
            with pytest.raises(ConflictError):
                change_person(session, me(project).number, **change)
        assert change_person(session, other.number, role="annotator", active=False).role == "annotator"
        with pytest.raises(ConflictError):
            change_person(session, file_annotator(session).number, role="owner")
        with pytest.raises(MissingError):
            change_person(session, 999, role="owner")


def test_there_is_one_file(project: Project) -> None:
    with project.sessions.begin() as session:
        assert file_annotator(session) is file_annotator(session)
        assert project_owner(session).name == "me"
