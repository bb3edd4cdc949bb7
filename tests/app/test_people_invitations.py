from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hybridal.app.app_errors import ForbiddenError, MissingError
from hybridal.app.people import accept_invitation, check_invitation, invite, revoke_invitation
from hybridal.app.project import Project
from hybridal.errors import UserError

from .made_up import make


def test_an_invitation_lets_one_person_in_with_its_role(project: Project) -> None:
    with project.sessions.begin() as session:
        made, token = invite(session, "reviewer")
        person = accept_invitation(session, token, "Ada", "hash")
        assert (person.role, made.used_by) == ("reviewer", person.number)
        assert token not in made.token
        with pytest.raises(ForbiddenError, match="has already been used; sign in"):
            accept_invitation(session, token, "Bob", "hash")


def test_withdrawn_or_expired_invitation_is_refused(project: Project) -> None:
    with project.sessions.begin() as session:
        made, token = invite(session, "annotator")
        check_invitation(session, token)
        made.until = 0.0
        with pytest.raises(ForbiddenError, match="has expired"):
            check_invitation(session, token)
        made, token = invite(session, "annotator")
        revoke_invitation(session, made.number)
        for given, why in ((token, "was withdrawn"), ("", "There is no such"), ("made up", "There is no such")):
            with pytest.raises(ForbiddenError, match=why):
                check_invitation(session, given)
        with pytest.raises(MissingError):
            revoke_invitation(session, 99)


def test_a_link_that_is_sent_twice_at_the_same_moment_lets_one_in(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        _, token = invite(session, "annotator")

    def accept(number: int) -> bool:
        try:
            with project.sessions.begin() as session:
                accept_invitation(session, token, f"person {number}", "hash")
        except UserError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(accept, range(4))) == 1
    project.close()
