from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from hybridal.app.app_errors import ConflictError, ForbiddenError, GoneError, MissingError
from hybridal.app.db.schema import Text
from hybridal.app.labelling import comments
from hybridal.app.labelling.comments import (
    answer,
    begin_thread,
    comment_lines,
    count_unread,
    list_threads,
    mark_read,
    people_to_address,
    threads_of_text,
)
from hybridal.app.people import User, add_person, change_person, machine_annotator
from hybridal.app.project import Project
from hybridal.errors import UserError

from ..made_up import make

HOSTILE = "<img src=x onerror=alert(1)>\u202e @Bo \0"


class Team:
    """Ann and Bo label, Rea and Rob review; everything they do is one transaction."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.keys = 0
        with project.sessions.begin() as session:
            roles = {"ann": "annotator", "bo": "annotator", "rea": "reviewer", "rob": "reviewer"}
            self.users = {name: User(add_person(session, name, role), "", "") for name, role in roles.items()}

    def number(self, name: str) -> int:
        return self.users[name].person.number

    def asks(self, who: str, to: str | None, body: str = "why?", text: str = "t1", key: str = "") -> int:
        self.keys += 1
        with self.project.sessions.begin() as session:
            number = None if to is None else self.number(to)
            return begin_thread(session, self.users[who], text, number, body, key or str(self.keys))

    def answers(self, who: str, thread: int, body: str = "", *, done: bool = False, key: str = "") -> None:
        self.keys += 1
        with self.project.sessions.begin() as session:
            answer(session, self.users[who], thread, body, done=done, key=key or str(self.keys))

    def reads(self, who: str, thread: int) -> None:
        with self.project.sessions.begin() as session:
            [found] = [one for one in threads_of_text(session, self.users[who], 2) if one.thread.number == thread]
            mark_read(session, self.users[who], found.comments[-1][0].number)

    def listed(self, who: str, box: comments.Box = "received", **options: bool) -> list[int]:
        with self.project.reads() as session:
            return [one.thread.number for one in list_threads(session, self.users[who], box, **options)]

    @property
    def unread(self) -> dict[str, int]:
        with self.project.reads() as session:
            counts = {name: count_unread(session, user) for name, user in self.users.items()}
        assert counts == {name: len(self.listed(name, "unread")) for name in self.users}
        return {name: n for name, n in counts.items() if n}


@pytest.fixture
def team(project: Project) -> Team:
    return Team(project)


def test_a_comment_is_read_answered_and_done(db: str | None, tmp_path: Path) -> None:
    with closing(make(tmp_path / "p", db=db)) as project:
        team = Team(project)
        thread = team.asks("ann", "bo")
        assert team.unread == {"bo": 1}
        team.reads("bo", thread)
        assert team.unread == {}
        team.answers("bo", thread, "because")
        assert team.unread == {"ann": 1}
        team.answers("ann", thread, "I see")
        assert team.unread == {"bo": 1}
        team.answers("bo", thread, done=True)
        assert team.unread == {"ann": 1}  # that it is done
        assert (team.listed("bo"), team.listed("ann", "sent")) == ([], [thread])
        team.reads("ann", thread)
        assert team.listed("ann", "sent") == []
        assert team.listed("bo", also_done=True) == team.listed("ann", "sent", also_done=True) == [thread]
        team.answers("ann", thread, "one more thing")  # opens it again
        assert team.listed("bo") == [thread]
        with project.reads() as session:
            [shown] = threads_of_text(session, team.users["bo"], 2)
            assert (shown.person, shown.to, shown.text.id, shown.unread) == ("ann", "bo", "t1", True)
            found = [(name, comment.body, comment.done) for comment, name in shown.comments]
        assert found == [
            ("ann", "why?", False),
            ("bo", "because", False),
            ("ann", "I see", False),
            ("bo", "", True),
            ("ann", "one more thing", False),
        ]


def test_only_those_concerned_and_reviewers_see_a_thread(team: Team) -> None:
    thread = team.asks("ann", "rea")
    assert (team.listed("bo"), team.listed("rob"), team.listed("rob", "all")) == ([], [], [thread])
    with pytest.raises(ForbiddenError, match="Only reviewers"):
        team.listed("bo", "all")
    with pytest.raises(MissingError):
        team.answers("bo", thread, "me too")
    with team.project.sessions.begin() as session:
        assert threads_of_text(session, team.users["bo"], 2) == []
        with pytest.raises(MissingError):
            mark_read(session, team.users["bo"], 1)
    team.reads("rob", thread)
    assert team.unread == {"rea": 1}  # Rob has only looked
    team.answers("rob", thread, "may I?")
    assert team.unread == {"ann": 1, "rea": 1}
    team.answers("ann", thread, "please")
    assert team.unread == {"rea": 1, "rob": 1}  # now he takes part


def test_comments_to_the_reviewers_are_for_each_until_one_is_done(team: Team) -> None:
    thread = team.asks("ann", None)
    assert team.unread == {"rea": 1, "rob": 1}
    team.reads("rea", thread)
    assert team.unread == {"rob": 1}
    team.answers("rea", thread, "settled", done=True)
    assert team.unread == {"ann": 1}
    assert team.listed("rob") == []
    with team.project.sessions.begin() as session:
        demoted = change_person(session, team.number("rea"), role="annotator")
    team.users["rea"] = User(demoted, "", "")
    assert team.listed("rea", also_done=True) == []
    assert team.asks("rob", None, text="t2") not in team.listed("rob", also_done=True)  # his own is not to him


def test_a_token_sees_no_more_than_its_role(team: Team) -> None:
    team.asks("ann", None)
    token = User(team.users["rea"].person, "", "", token_role="annotator")
    with team.project.reads() as session:
        assert count_unread(session, token) == 0
        assert threads_of_text(session, token, 2) == []


def test_comments_to_a_removed_person_go_to_the_reviewers(team: Team) -> None:
    before = team.asks("ann", "bo")
    with team.project.sessions.begin() as session:
        change_person(session, team.number("bo"), active=False)
        assert [one.name for one in people_to_address(session, team.users["ann"])] == ["me", "rea", "rob"]
    after = team.asks("ann", "bo", text="t2")  # their page did not know yet
    assert team.listed("rea") == [after, before]
    assert team.unread["rea"] == team.unread["rob"] == 2


def test_names_change_and_threads_stay(team: Team) -> None:
    team.asks("ann", "bo")
    with team.project.sessions.begin() as session:
        change_person(session, team.number("bo"), name="Zoe")
        add_person(session, "Bo", "annotator")  # a new person, who is not meant
    with team.project.reads() as session:
        [shown] = list_threads(session, team.users["bo"], "received")
        assert shown.to == "Zoe"
        assert comment_lines(session, [1, 2]) == {2: ["ann to Zoe: why?"]}


def test_comments_on_deleted_texts_are_not_shown(team: Team) -> None:
    team.asks("ann", "bo")
    with team.project.sessions.begin() as session:
        session.get_one(Text, 2).deleted = 1.0
    assert team.unread == {}
    assert team.listed("bo") == team.listed("rea", "all") == []
    with pytest.raises(GoneError):
        team.asks("ann", "bo")


def test_a_repeated_request_counts_once(team: Team) -> None:
    thread = team.asks("ann", "bo", key="k")
    assert team.asks("ann", "bo", key="k") == thread
    for _ in range(2):
        team.answers("bo", thread, "yes", key="l")
        team.answers("bo", thread, done=True)
    with team.project.reads() as session:
        [shown] = threads_of_text(session, team.users["bo"], 2)
        assert [comment.body for comment, _ in shown.comments] == ["why?", "yes", ""]
    with pytest.raises(ConflictError, match="already used"):
        team.answers("bo", thread, "mine", key="k")


def test_unusable_comments_are_refused(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="Write the comment"):
        team.asks("ann", "bo", " \n ")
    with pytest.raises(UserError, match="at most 2000"):
        team.asks("ann", "bo", "x" * 2001)
    with pytest.raises(UserError, match="another person"):
        team.asks("ann", "ann")
    with pytest.raises(MissingError, match="no text"):
        team.asks("ann", "bo", text="t99")
    with team.project.sessions.begin() as session:
        machine = machine_annotator(session, "(small)", "llm").number
        for number in (machine, 999):
            with pytest.raises(MissingError, match="no person"):
                begin_thread(session, team.users["ann"], "t1", number, "why?", f"n{number}")
    thread = team.asks("ann", "bo", HOSTILE)
    monkeypatch.setattr(comments, "LONGEST_THREAD", 2)
    team.answers("bo", thread, "yes")
    with pytest.raises(ConflictError, match="full"):
        team.answers("ann", thread, "no")
    team.answers("ann", thread, done=True)
    with team.project.reads() as session:
        [shown] = threads_of_text(session, team.users["bo"], 2)
        assert shown.comments[0][0].body == HOSTILE.replace("\0", "\ufffd")


def test_lists_go_on_where_they_end(team: Team) -> None:
    threads = [team.asks("ann", "bo", text=f"t{n}") for n in range(5)]
    with team.project.reads() as session:
        first = list_threads(session, team.users["bo"], "received", n=3)
        rest = list_threads(session, team.users["bo"], "received", before=first[-1].thread.newest)
    assert [one.thread.number for one in [*first, *rest]] == threads[::-1]
