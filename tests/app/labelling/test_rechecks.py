from __future__ import annotations

from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Person, Recheck, Text, Vote
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, not_withdrawn, undo
from hybridal.app.labelling.class_changes import Part, redefine, split
from hybridal.app.labelling.codebook import codebook_at, newest_version
from hybridal.app.labelling.rechecks import (
    RecheckCounts,
    add_rechecks,
    dismiss,
    lease_rechecks,
    postpone,
    recheck_counts,
)
from hybridal.app.labelling.removal import delete_texts
from hybridal.app.labelling.touched_labels import touched_labels
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.trainer.snapshot import snapshot
from hybridal.errors import UserError

from ..made_up import check_books, consensus, make, me, people

_KEYS = count()


def label(project: Project, person: Person, id: str, name: str, **given: Any) -> None:
    with project.sessions.begin() as session:
        key = str(next(_KEYS))
        annotate(session, person, id, "label", class_name=name, key=key, **given)


def split_a(project: Project, *parts: str) -> int:
    """Split the class "a", and queue its labels."""
    with project.sessions.begin() as session:
        number = classes.find(session, "a").number
        rows = touched_labels(session, number, None)["class"]
        version = split(session, me(project), number, [Part(name) for name in parts])
        add_rechecks(session, version, dict.fromkeys(rows, "class"))
        check_books(session)
    return version


def state(project: Project, version: int) -> tuple[int, int, int]:
    with project.reads() as session:
        found = recheck_counts(session).get(version, RecheckCounts())
    return found.open, found.done, found.dismissed


def test_labels_of_a_split_class_wait_until_somebody_has_answered_again(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    for id in ("t1", "t2", "t3"):
        label(project, one, id, "a")
    label(project, one, "t4", "b")
    version = split_a(project, "a1", "a2")
    assert state(project, version) == (3, 0, 0)
    with project.reads() as session:
        assert [one.name for one in classes.active(session)] == ["a1", "a2", "b", "c"]
        now = snapshot(session)
        assert sorted(now.classes.values()) == ["a1", "a2", "b", "c"]
        assert {*now.pool, *now.validation} == {"t4"}
        assert codebook_at(session, version - 1)[1]["archived"] == ""
    assert consensus(project)["t1"] == ("a", "people"), "the old answer stays"
    label(project, other, "t1", "a2")
    assert consensus(project)["t1"] == ("a2", "people"), "her answer is newer than the codebook, his is not"
    assert state(project, version) == (2, 1, 0)
    with pytest.raises(ConflictError, match="archived"):
        label(project, one, "t2", "a", offered=True)
    with project.sessions.begin() as session:
        undo(session, other, "back")
        check_books(session)
    assert consensus(project)["t1"] == ("a", "people")
    assert state(project, version) == (3, 0, 0)
    with project.sessions.begin() as session:
        assert dismiss(session, version) == 3
    label(project, other, "t1", "a1")
    assert state(project, version) == (0, 0, 3)
    assert consensus(project)["t1"] == ("a1", "people"), "older answers do not count next to it, dismissed or not"
    project.close()


def test_a_class_that_is_kept_as_a_part_goes_on_and_its_labels_count(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    label(project, me(project), "t1", "a")
    version = split_a(project, "a", "d")
    with project.reads() as session:
        assert [one.name for one in classes.active(session)] == ["a", "d", "b", "c"]
        assert "t1" in {**snapshot(session).pool, **snapshot(session).validation}
    assert state(project, version) == (1, 0, 0)
    label(project, me(project), "t1", "d")
    assert state(project, version) == (0, 1, 0)
    project.close()


@pytest.mark.parametrize("parts", [("d",), ("d", "d"), ("d", " d "), ("d", "")])
def test_a_split_needs_two_names(tmp_path: Path, parts: tuple[str, ...]) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session, pytest.raises(UserError):
        split(session, None, 1, [Part(name) for name in parts])
    with project.reads() as session:
        assert newest_version(session) == 1
    project.close()


def test_the_second_person_of_a_shared_text_is_asked_again_too(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, overlap=1.0)
    one, other = people(project, 2)
    for person in (one, other):
        label(project, person, "t1", "a")
    version = split_a(project, "a1", "a2")
    label(project, one, "t1", "a1")
    with project.reads() as session:
        text = session.scalars(select(Text).where(Text.id == "t1")).one()
        assert (text.vote_count, text.open) == (1, True)
    label(project, other, "t1", "a2")
    assert "t1" not in consensus(project), "they disagree under the new codebook"
    assert state(project, version) == (0, 1, 0)
    with project.sessions.begin() as session:
        for key in "xy":
            undo(session, other, f"{key}{other.number}")
            check_books(session)
    assert consensus(project)["t1"] == ("a1", "people"), "her first answer is not taken back into account"
    project.close()


def test_a_decision_under_an_older_version_gives_way(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    [one] = people(project, 1)
    label(project, one, "t1", "b")
    label(project, me(project), "t1", "a", decides=True)
    split_a(project, "a1", "a2")
    label(project, one, "t1", "a1")
    assert consensus(project)["t1"] == ("a1", "people")
    project.close()


def test_an_answer_from_a_page_with_the_old_codebook_ends_no_recheck(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    label(project, one, "t1", "a")
    with project.sessions.begin() as session:
        version = redefine(session, one, 1, "only crashes")
        add_rechecks(session, version, dict.fromkeys(touched_labels(session, 1, None)["class"], "class"))
    label(project, one, "t1", "b", codebook=version - 1)
    assert state(project, version) == (1, 0, 0)
    label(project, other, "t1", "c", codebook=version)
    assert (state(project, version), consensus(project)["t1"]) == ((0, 1, 0), ("c", "people"))
    label(project, one, "t1", "b", codebook=version - 1, comment="late")
    assert consensus(project)["t1"] == ("c", "people")
    with project.sessions.begin() as session, pytest.raises(UserError, match="same as the old one"):
        redefine(session, one, 1, " only crashes ")
    project.close()


def test_rechecks_are_leased_in_their_order_and_to_one_person_each(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    for at in range(6):
        label(project, one, f"t{at}", "a")
    version = split_a(project, "a1", "a2")

    def leased(person: Person, n: int) -> list[str]:
        with project.sessions.begin() as session:
            return [text.id for text, _ in lease_rechecks(session, person.number, n, read(session))]

    with project.reads() as session:
        order = session.scalars(
            select(Text.id).join(Recheck, Recheck.text_row == Text.row).order_by(Recheck.rank)
        ).all()
    assert leased(one, 2) == order[:2] == leased(one, 2)
    assert leased(other, 2) == order[2:4]
    with project.sessions.begin() as session:
        postpone(session, one.number, order[0])
        with pytest.raises(MissingError):
            postpone(session, one.number, "t9")
        delete_texts(session, [session.scalars(select(Text.row).where(Text.id == order[4])).one()], 1.0)
    assert leased(one, 9) == [order[1], order[5], order[0]]
    assert state(project, version) == (5, 0, 0)
    project.close()


def test_a_text_of_two_versions_is_served_once_for_the_newest(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    label(project, me(project), "t1", "a")
    first = split_a(project, "a", "d")
    with project.sessions.begin() as session:
        second = redefine(session, None, 1, "new")
        add_rechecks(session, second, dict.fromkeys(touched_labels(session, 1, None)["class"], "class"))
        given = read(session)
        assert [one.version for _, one in lease_rechecks(session, 1, 9, given)] == [second]
        assert [one.version for _, one in lease_rechecks(session, 1, 9, given, first)] == [first]
    label(project, me(project), "t1", "d")
    assert (state(project, first), state(project, second)) == ((0, 1, 0), (0, 1, 0))
    project.close()


def test_an_answer_to_some_of_the_classes_ends_no_recheck(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        annotate(session, one, "t1", "label", class_names=["a", "b"], key="1")
        annotate(session, one, "t2", "label", class_names=["b"], key="2")
    version = split_a(project, "a1", "a2")
    assert state(project, version) == (1, 0, 0)
    with project.sessions.begin() as session:
        annotate(session, other, "t1", "label", decisions={"a1": True}, key="3")
    assert state(project, version) == (1, 0, 0)
    with project.sessions.begin() as session:
        annotate(session, other, "t1", "label", class_names=["a1", "b"], key="4")
        check_books(session)
        assert {vote.person_number for vote in session.scalars(select(Vote).join(Text).where(Text.id == "t1"))} == {
            other.number
        }
        undo(session, other, "5")
        undo(session, other, "6")
        check_books(session)
        assert snapshot(session).multi_label
        assert [vote.person_number for vote in session.scalars(select(Vote).join(Text).where(Text.id == "t1"))] == [
            one.number
        ]
    assert state(project, version) == (1, 0, 0)
    project.close()


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("label"), st.integers(0, 2), st.integers(0, 2), st.sampled_from("abc"), st.integers(0, 2)),
        st.tuples(st.just("undo"), st.integers(0, 2)),
        st.tuples(st.just("redefine"), st.sampled_from("abc")),
    ),
    max_size=25,
)


def check_votes(session: Session) -> None:
    """Compare the votes with those that follow from all annotations and versions, by brute force."""
    history: dict[tuple[int, int], list[Annotation]] = defaultdict(list)
    for one in session.scalars(select(Annotation).order_by(Annotation.number)):
        history[one.text_row, one.person_number].append(one)
    expected: dict[int, dict[int, Annotation]] = defaultdict(dict)
    for (row, person), acts in history.items():
        if kept := not_withdrawn(acts):
            expected[row][person] = kept[-1]
    queued: dict[int, set[int]] = defaultdict(set)
    for recheck in session.scalars(select(Recheck).order_by(Recheck.version)):
        queued[recheck.text_row].add(recheck.version)
        ended = any(one.codebook >= recheck.version for one in expected[recheck.text_row].values())
        assert recheck.state == ("done" if ended else "open")
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for vote in session.scalars(select(Vote)):
        found[vote.text_row][vote.person_number] = vote.annotation_number
    for row, answers in expected.items():
        counted = {
            person: one.number
            for person, one in answers.items()
            if not any(
                one.codebook < version <= another.codebook for version in queued[row] for another in answers.values()
            )
        }
        assert found[row] == counted


@settings(max_examples=25, deadline=None)
@given(acts=ACTS)
def test_votes_follow_from_all_answers_and_versions(
    acts: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = make(tmp_path_factory.mktemp("acts") / "p", texts=3, overlap=0.5, validation_share=0.0)
    team = [me(project), *people(project, 2)]
    with project.sessions.begin() as session:
        for key, (act, *how) in enumerate(acts):
            if act == "label":
                person, text, name, age = how
                seen = max(0, newest_version(session) - age)
                annotate(session, team[person], f"t{text}", "label", class_name=name, key=f"{key}", codebook=seen)
            elif act == "undo":
                undo(session, team[how[0]], f"{key}")
            else:
                number = classes.find(session, how[0]).number
                rows = touched_labels(session, number, None)["class"]
                add_rechecks(session, redefine(session, None, number, f"meaning {key}"), dict.fromkeys(rows, "class"))
            check_votes(session)
        check_books(session)
    project.close()
