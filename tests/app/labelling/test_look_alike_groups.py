from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy import text as sql
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Annotation, Lease, Person, Text, Vote
from hybridal.app.labelling import look_alike_groups as module
from hybridal.app.labelling import queue, texts
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.bulk import label_many, undo_many
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.look_alike_groups import (
    copy_answer,
    count_look_alikes,
    find_groups,
    groups_are_known,
    undo_copies,
)
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.project_settings import read, write
from hybridal.app.trainer.snapshot import snapshot

from ..made_up import check_books, consensus, me, people

WORDS = [
    "rain",
    "cloud",
    "river",
    "stone",
    "bread",
    "tower",
    "garden",
    "letter",
    "winter",
    "orange",
    "silver",
    "market",
]


def parcel(number: int) -> str:
    return f"Your parcel {number} has been shipped today, and it will arrive within three working days at your address."


def made(folder: Path, parcels: int = 8, others: int = 6, db: str | None = None, **settings: Any) -> Project:
    """A project of parcels p0, p1, …, which are look-alikes, and other texts o0, o1, …; none is set aside."""
    rows = [(f"p{n}", parcel(n), None) for n in range(parcels)]
    rows += [(f"o{n}", " ".join(WORDS[(n * 7 + at * (n + 1)) % 12] for at in range(9)), None) for n in range(others)]
    options: dict[str, Any] = {"validation_first": 0, "validation_share": 0.0, **settings}
    project = Project.create(Source("parcels", rows, ("a", "b")), folder, db=db, **options)
    find_groups(project.sessions, project.reads)
    return project


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Iterator[Project]:
    made_up = made(tmp_path / "p", db=db)
    yield made_up
    made_up.close()


def text(project: Project, id: str) -> Text:
    with project.reads() as session:
        return session.scalars(select(Text).where(Text.id == id)).one()


def groups(project: Project) -> dict[str, int | None]:
    with project.reads() as session:
        return dict(session.execute(select(Text.id, Text.look_alike_of).order_by(Text.row)).all())


def count(project: Project, person: Person, id: str) -> int:
    with project.reads() as session:
        return count_look_alikes(session, person, [text(project, id)]).get(text(project, id).row, 0)


def say(project: Project, person: Person, id: str, name: str = "a", without: tuple[str, ...] = ()) -> int:
    """Answer a text and copy the answer."""
    key = f"{person.number}-{id}"
    with project.sessions.begin() as session:
        annotate(session, person, id, "label", class_name=name, key=key)
    return copy_answer(project.sessions, person, key, {"class_name": name}, without)


def take_back(project: Project, person: Person, undoes: str | None = None, key: str = "undo") -> str | None:
    with project.sessions.begin() as session:
        found = undo(session, person, key, undoes)
    if found is not None:
        undo_copies(project.sessions, person, found.row)
    return None if found is None else found.id


def set_aside(project: Project, id: str) -> None:
    with project.sessions.begin() as session:
        session.scalars(select(Text).where(Text.id == id)).one().split = "validation"


def test_look_alikes_are_found_and_others_are_alone(project: Project) -> None:
    first = text(project, "p0").row
    assert groups(project) == {f"p{n}": first for n in range(8)} | {f"o{n}": None for n in range(6)}
    assert find_groups(project.sessions, project.reads) == 0


def test_texts_that_are_added_join_their_group(project: Project) -> None:
    with project.reads() as session:
        assert groups_are_known(session)
    with project.sessions.begin() as session:
        texts.add(session, [("p8", parcel(8), None), ("new", "Something else, which nobody has said before.", None)])
    with project.reads() as session:
        assert not groups_are_known(session)
    assert find_groups(project.sessions, project.reads) == 1
    assert groups(project)["p8"] == text(project, "p0").row
    with project.sessions.begin() as session:
        assert groups_are_known(session)
        texts.add(session, [("late", "Somebody adds one more text.", None)])
        write(session, {"look_alikes": False})
        session.flush()
        assert groups_are_known(session), "the owner does not want them"


def test_one_answer_settles_all_look_alikes_and_is_undone_at_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART", 3)
    owner = me(project)
    assert count(project, owner, "p0") == 7
    for _ in range(2):  # sent again, it counts once
        assert say(project, owner, "p0", without=("p3", "p5")) == 5
    settled = {f"p{n}": ("a", "people") for n in (0, 1, 2, 4, 6, 7)}
    assert consensus(project) == settled
    with project.reads() as session:
        check_books(session)
        assert counts(session) | {"texts": 0} == {
            **dict.fromkeys(counts(session), 0),
            "labelled": 6,
            "pool": 6,
            "copied": 5,
        }
        drawn = dict(session.execute(select(Text.id, Annotation.drawn).join(Annotation)).all())
    assert drawn == {"p0": "picked"} | dict.fromkeys(("p1", "p2", "p4", "p6", "p7"), "copied")
    assert count(project, owner, "p3") == 1, "those that were excluded are asked together"
    assert take_back(project, owner) == "p0", "not one of the copies, which are newer"
    assert consensus(project) == {}
    with project.reads() as session:
        check_books(session)
        assert len(session.scalars(select(Annotation)).all()) == 12, "annotations stay in the history"
    assert say(project, owner, "p0") == 0, "a request that comes late does not copy what was undone"


def test_an_undo_that_is_sent_again_finishes_its_work(project: Project) -> None:
    owner = me(project)
    say(project, owner, "p0")
    with project.sessions.begin() as session:
        undo(session, owner, "once", f"{owner.number}-p0")  # and the process was killed
    assert len(consensus(project)) == 7
    assert take_back(project, owner, f"{owner.number}-p0", key="once") == "p0"
    assert consensus(project) == {}


def test_what_was_answered_since_is_kept(project: Project) -> None:
    owner = me(project)
    say(project, owner, "p0")
    with project.sessions.begin() as session:
        annotate(session, owner, "p1", "label", class_name="b", key="changed")
    assert take_back(project, owner, f"{owner.number}-p0") == "p0"
    assert consensus(project) == {"p1": ("b", "people")}
    with project.reads() as session:
        check_books(session)
        assert counts(session)["copied"] == 0


def test_texts_of_other_people_and_of_validation_are_left_alone(project: Project) -> None:
    owner, [other] = me(project), people(project, 1)
    say(project, other, "o1")
    with project.sessions.begin() as session:
        annotate(session, other, "p1", "label", class_name="b", key="closed")
        annotate(session, owner, "p2", "skip", key="skipped")
        session.add(Lease(text_row=text(project, "p3").row, person_number=other.number, until=2e12))
    set_aside(project, "p4")
    assert count(project, owner, "p0") == say(project, owner, "p0") == 3
    assert {id for id, _ in consensus(project).items()} == {"p0", "p1", "p5", "p6", "p7", "o1"}


def test_an_answer_is_copied_to_a_limited_number_of_texts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_COPIES", 4)
    owner = me(project)
    assert count(project, owner, "p0") == 4
    for _ in range(2):
        assert say(project, owner, "p0") == 4
    assert count(project, owner, "p5") == 2


def test_an_answer_and_its_copies_take_two_transactions(project: Project) -> None:
    owner = me(project)
    begun: list[object] = []
    event.listen(project.engine, "begin", begun.append)
    assert say(project, owner, "p0") == 7
    assert len(begun) == 2


def served(project: Project, person: Person, n: int) -> list[str]:
    with project.sessions.begin() as session:
        return [one.id for one in lease_texts(session, person, n, read(session)).texts]


@pytest.mark.postgres
def test_no_text_is_served_while_an_answer_is_copied_to_it(
    tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made(tmp_path / "p", others=0, db=empty_postgres)
    owner, [other] = me(project), people(project, 1)
    with ThreadPoolExecutor(1) as pool:
        asked: list[Future[list[str]]] = []

        def annotate_slowly(session: Session, *given: Any, **more: Any) -> object:
            if not asked:
                asked.append(pool.submit(served, project, other, 5))
                waiting = sql("SELECT count(*) FROM pg_locks WHERE NOT granted")
                end = time.monotonic() + 30
                while not asked[0].done() and not session.scalar(waiting) and time.monotonic() < end:
                    time.sleep(0.01)
            return annotate(session, *given, **more)

        monkeypatch.setattr(module, "annotate", annotate_slowly)
        assert say(project, owner, "p0") == 7
        assert asked[0].result(30) == []
    project.close()


@pytest.mark.postgres
def test_no_text_is_served_that_was_answered_after_it_was_chosen(
    tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made(tmp_path / "p", others=0, db=empty_postgres)
    owner, [other] = me(project), people(project, 1)
    choose = queue._next
    with ThreadPoolExecutor(1) as pool:

        def choose_and_wait(*given: Any) -> list[int]:
            rows = choose(*given)
            assert pool.submit(say, project, owner, "p0").result(30) == 7
            return rows

        monkeypatch.setattr(queue, "_next", choose_and_wait)
        assert served(project, other, 5) == []
    project.close()


def test_look_alikes_are_one_question(project: Project) -> None:
    owner, [other] = me(project), people(project, 1)
    first = served(project, owner, 14)
    assert len([id for id in first if id.startswith("p")]) == 1
    assert len(first) == 7
    assert served(project, owner, 14) == first
    assert served(project, other, 14) == [], "the others wait for the answer"
    [asked] = [id for id in first if id.startswith("p")]
    say(project, owner, asked, without=tuple(f"p{n}" for n in (2, 3) if f"p{n}" != asked))
    assert len(served(project, other, 14)) == 1


def test_look_alikes_do_not_make_room_for_validation_texts(tmp_path: Path) -> None:
    project = made(tmp_path / "p", others=5, validation_first=1)
    for n in range(5):
        set_aside(project, f"o{n}")
    found = served(project, me(project), 10)
    with project.reads() as session:
        splits = dict(session.execute(select(Text.id, Text.split)).all())
    assert sorted(splits[id] for id in found) == ["pool", "validation"]
    project.close()


def test_without_folding_every_text_is_a_question(tmp_path: Path) -> None:
    project = made(tmp_path / "p", look_alikes=False)
    assert len(served(project, me(project), 14)) == 14
    project.close()


def test_copies_do_not_count_for_the_share_of_validation_texts(tmp_path: Path) -> None:
    project = made(tmp_path / "p", parcels=40, others=20, validation_first=2, validation_share=0.5)
    owner = me(project)
    with project.sessions.begin() as session:
        for n in range(60):
            one = session.scalars(select(Text).where(Text.id == (f"p{n}" if n < 40 else f"o{n - 40}"))).one()
            one.split = "validation" if n >= 50 else "pool"
        annotated = [f"o{n}" for n in range(10, 14)]
        for id in (*annotated, "o0", "o1", "o2"):
            annotate(session, owner, id, "label", class_name="a", key=id)
    assert say(project, owner, "p0") == 39
    splits = [text(project, id).split for id in served(project, owner, 2)]
    assert splits == ["pool", "validation"], "four labels each, and 39 copies"
    project.close()


def test_copies_are_not_learnt(project: Project) -> None:
    owner = me(project)
    say(project, owner, "p0", "b")
    say(project, owner, "o1")
    with project.reads() as session:
        now = snapshot(session)
    number = {name: number for number, name in now.classes.items()}
    assert now.pool == {"p0": number["b"], "o1": number["a"]}
    assert now.left_out == {f"p{n}" for n in range(1, 8)}
    with project.sessions.begin() as session:
        annotate(session, owner, "p1", "label", class_name="b", key="own")
    with project.reads() as session:
        assert {*snapshot(session).pool} == {"p0", "p1", "o1"}, "an answer to the text itself is"


def test_look_alikes_of_a_validation_text_are_not_learnt(project: Project) -> None:
    owner = me(project)
    set_aside(project, "p4")
    say(project, owner, "p0")
    say(project, owner, "p4")
    say(project, owner, "o0")
    with project.reads() as session:
        now = snapshot(session)
    assert [*now.pool] == ["o0"]
    assert [*now.validation] == ["p4"]
    assert now.left_out == {f"p{n}" for n in range(8)} - {"p4"}


def test_of_look_alikes_one_measures(project: Project) -> None:
    owner = me(project)
    for id in ("p5", "p2"):
        set_aside(project, id)
        say(project, owner, id)
    with project.reads() as session:
        assert [*snapshot(session).validation] == ["p2"], "the first in the order of the texts"
        votes = dict(session.execute(select(Text.id, Vote.copied).join(Vote, Vote.text_row == Text.row)).all())
    assert not votes["p2"], "validation texts are answered one by one"


def test_bulk_labels_count_look_alikes_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.app.labelling.bulk.PART", 2)
    owner = me(project)
    labels = {"p1": "a", "p2": "a", "o1": "a", "p3": "b", "p4": "a", "p5": "b"}
    for _ in range(2):
        assert label_many(project.sessions, owner, labels, "k") == 6
    with project.reads() as session:
        assert {*snapshot(session).pool} == {"p1", "o1", "p3"}
        assert counts(session)["copied"] == 3
        check_books(session)
    assert undo_many(project.sessions, owner, "u", "k") == 6
    assert consensus(project) == {}
