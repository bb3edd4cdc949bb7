from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, select, update

from hybridal.app.db.schema import Lease, Person, QueuedText, Text, now
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.queue import lease_texts, next_splits, spare_texts
from hybridal.app.labelling.texts import reserve
from hybridal.app.project import Project
from hybridal.app.project_settings import read

from ..made_up import make, me, people


def ids(project: Project, person: Person, n: int) -> list[str]:
    with project.sessions.begin() as session:
        return [text.id for text in lease_texts(session, person, n, read(session)).texts]


def say(project: Project, person: Person, id: str, class_name: str | None = "a", key: str | None = None) -> None:
    with project.sessions.begin() as session:
        action = "skip" if class_name is None else "label"
        annotate(session, person, id, action, class_name=class_name, key=key or f"{person.number}-{id}")  # type: ignore[arg-type]


def splits(project: Project) -> dict[str, str]:
    with project.reads() as session:
        return {text.id: text.split for text in session.scalars(select(Text))}


def queue(project: Project, wanted: list[str]) -> None:
    with project.sessions.begin() as session:
        rows = {text.id: text.row for text in session.scalars(select(Text))}
        session.add_all(QueuedText(text_row=rows[id], rank=rank, round=1) for rank, id in enumerate(wanted))


@pytest.fixture
def no_validation(tmp_path: Path) -> Iterator[Project]:
    made = make(tmp_path / "plain", validation_first=0, validation_share=0.0)
    yield made
    made.close()


def test_validation_and_pool_alternate_at_first(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=100)
    served = [splits(project)[id] for id in ids(project, me(project), 12)]
    assert served == ["validation", "pool"] * 6


def test_leases_of_others_count_in_the_validation_share(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=100, db=db)
    served = [splits(project)[id] for person in people(project, 4) for id in ids(project, person, 3)]
    assert served == ["validation", "pool"] * 6
    project.close()


def test_asking_again_gives_the_same_texts_until_they_are_answered(project: Project) -> None:
    first = ids(project, me(project), 3)
    assert ids(project, me(project), 3) == first
    say(project, me(project), first[0])
    again = ids(project, me(project), 3)
    assert again[:2] == first[1:]
    assert again[2] not in first


def test_leased_text_is_not_served_to_others(project: Project) -> None:
    one, other = people(project, 2)
    mine, theirs = ids(project, one, 9), ids(project, other, 99)
    assert len(mine) == 9
    assert sorted(mine + theirs) == sorted(splits(project))


def test_a_lease_runs_out(project: Project) -> None:
    one, other = people(project, 2)
    mine = ids(project, one, 20)
    assert ids(project, other, 20) == []
    with project.sessions.begin() as session:
        session.execute(update(Lease).where(Lease.text_row % 2 == 0).values(until=0.0))
    assert len(ids(project, other, 20)) == 10
    assert set(ids(project, one, 20)) < set(mine)


def test_the_models_queue_comes_first_in_its_order(no_validation: Project) -> None:
    queue(no_validation, ["t7", "t3", "t11"])
    assert ids(no_validation, me(no_validation), 4)[:3] == ["t7", "t3", "t11"]


def test_when_the_queue_is_empty_random_texts_are_served(no_validation: Project) -> None:
    with no_validation.reads() as session:
        by_place = session.scalars(select(Text.id).order_by(Text.random_order)).all()
    assert ids(no_validation, me(no_validation), 20) == by_place
    assert by_place != sorted(by_place, key=lambda id: int(id[1:]))


def test_skipped_text_is_not_served_again_to_the_same_person(no_validation: Project) -> None:
    one, other = people(no_validation, 2)
    [first] = ids(no_validation, one, 1)
    say(no_validation, one, first, None)
    assert first not in ids(no_validation, one, 20)
    with no_validation.sessions.begin() as session:
        session.execute(update(Lease).values(until=0.0))
    assert first in ids(no_validation, other, 20)


def test_a_labelled_text_is_not_served(no_validation: Project) -> None:
    say(no_validation, me(no_validation), "t5")
    [person] = people(no_validation, 1)
    assert "t5" not in ids(no_validation, person, 20)


def test_second_opinions_come_before_the_queue_and_from_another_person(no_validation: Project) -> None:
    one, other, third = people(no_validation, 3)
    with no_validation.sessions.begin() as session:
        session.execute(update(Text).where(Text.id == "t5").values(required_votes=2))
    say(no_validation, one, "t5")
    queue(no_validation, ["t7"])
    assert "t5" not in ids(no_validation, one, 1)
    assert ids(no_validation, other, 1) == ["t5"]
    assert "t5" not in ids(no_validation, third, 1)  # two hands are enough


def test_a_text_that_two_shall_label_may_be_in_two_hands_but_not_in_three(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=4, overlap=1.0, validation_first=0, validation_share=0.0)
    taken = Counter(id for person in people(project, 3) for id in ids(project, person, 4))
    assert taken == {f"t{i}": 2 for i in range(4)}


def test_when_the_pool_is_done_the_rest_of_validation_is_served(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=20, validation_first=0, validation_share=0.2, budget=20)
    assert Counter(splits(project).values()) == {"pool": 16, "validation": 4}
    assert len(ids(project, me(project), 100)) == 20


def test_undoing_gives_the_text_back_first(no_validation: Project) -> None:
    first, second, _ = ids(no_validation, me(no_validation), 3)
    say(no_validation, me(no_validation), first)
    say(no_validation, me(no_validation), second)
    with no_validation.sessions.begin() as session:
        assert undo(session, me(no_validation), "u") is not None
    [other] = people(no_validation, 1)
    assert second not in ids(no_validation, other, 20)
    assert ids(no_validation, me(no_validation), 3)[0] == second


def test_undone_text_is_leased_again(no_validation: Project) -> None:
    first, _ = ids(no_validation, me(no_validation), 2)
    say(no_validation, me(no_validation), first)
    with no_validation.sessions.begin() as session:
        session.execute(update(Lease).values(until=now() - 1))
        assert undo(session, me(no_validation), "u") is not None
    [other] = people(no_validation, 1)
    assert first not in ids(no_validation, other, 20)


def test_polling_renews_the_leases(project: Project) -> None:
    first = ids(project, me(project), 3)
    with project.sessions.begin() as session:
        session.execute(update(Lease).values(until=Lease.until - 500))
    assert ids(project, me(project), 3) == first
    with project.reads() as session:
        assert min(session.scalars(select(Lease.until))) > now() + 200


def test_no_query_of_a_request_walks_through_all_texts(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=300, overlap=0.1)
    owner, [other] = me(project), people(project, 1)
    queue(project, ["t7", "t3"])
    steps: list[str] = []

    @event.listens_for(project.engine, "before_cursor_execute")
    def explain(connection, cursor, statement, parameters, context, many):  # type: ignore[no-untyped-def]
        if statement.startswith(("SELECT", "UPDATE", "DELETE")):
            found = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            steps.extend(f"{step[3]}: {statement}" for step in found)

    for person in (owner, other):
        for id in ids(project, person, 6)[:3]:
            say(project, person, id)
    with project.sessions.begin() as session:
        undo(session, owner, "u")
    tables = ("SCAN texts", "SCAN votes", "SCAN annotations", "SCAN consensus")
    # The texts that wait for a second opinion are few, and have an index of their own.
    walks = [step for step in steps if step.startswith(tables) and "texts_begun" not in step]
    assert steps
    assert walks == []


def grab(folder: Path, db: str | None, number: int) -> list[str]:
    """All texts that one person is served, in a separate process."""
    project = Project.open(folder, db)
    with project.reads() as session:
        person = session.get_one(Person, number)
    got = grab_all(project, person)
    project.close()
    return got


def grab_all(project: Project, person: Person) -> list[str]:
    got: list[str] = []
    while texts := ids(project, person, 2):
        got += texts
        for id in texts:
            say(project, person, id)
    return got


def test_many_threads_never_share_a_text(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=60, db=db)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda person: grab_all(project, person), people(project, 8)))
    assert sorted(id for some in got for id in some) == sorted(splits(project))
    project.close()


def test_many_threads_never_hold_a_text_together(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=60, db=db)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda person: ids(project, person, 8), people(project, 8)))
    assert Counter(map(len, got)) == {8: 7, 4: 1}
    assert len({id for some in got for id in some}) == 60
    project.close()


def test_many_processes_never_share_a_text(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=60, db=db)
    numbers = [person.number for person in people(project, 3)]
    project.close()
    # Forked, since a fresh process takes seconds to import all this; no connection is open across the fork.
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as pool:
        got = [pool.submit(grab, tmp_path / "p", db, number) for number in numbers]
        assert sorted(id for some in got for id in some.result()) == sorted(f"t{i}" for i in range(60))


PLAN = {"validation_first": 50, "validation_share": 0.1, "budget": 800}


@given(st.integers(0, 3000), st.lists(st.integers(1, 3000), max_size=5))
def test_the_reserve_is_as_dense_among_later_texts_as_among_the_first(first: int, later: list[int]) -> None:
    held_out = reserve(first, PLAN)
    assert held_out == min(130, first // 5)
    for new in later:
        drawn = reserve(new, PLAN, first, held_out)
        assert abs(drawn - new * held_out / first) <= 0.5 if first else drawn == min(130, new // 5)
        first, held_out = first + new, held_out + drawn


@given(st.integers(0, 60), st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5]), st.integers(1, 400))
def test_the_share_is_kept_all_along(first: int, share: float, n: int) -> None:
    splits = next_splits(n, 0, 0, first, share)
    for i in range(1, n + 1):
        validation = splits[:i].count("validation")
        if i <= 2 * first:
            assert validation == (i + 1) // 2
        else:
            # Out of those that follow, as many as the share says, rounded down.
            assert validation - first == int((i - 2 * first) * round(share * 1000) // 1000)


def test_one_validation_text_follows_nine_others() -> None:
    assert next_splits(20, 50, 50, 50, 0.1) == (["pool"] * 9 + ["validation"]) * 2


def test_asking_one_by_one_is_the_same_as_asking_for_many() -> None:
    validation = pool = 0
    one_by_one = []
    for _ in range(200):
        [split] = next_splits(1, validation, pool, 20, 0.1)
        one_by_one.append(split)
        validation, pool = one_by_one.count("validation"), one_by_one.count("pool")
    assert one_by_one == next_splits(200, 0, 0, 20, 0.1)


def test_class_hunt_serves_the_class_and_validation_texts(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=40, db=db, validation_first=2)
    owner, [other] = me(project), people(project, 1)
    with project.sessions.begin() as session:
        of = dict(session.execute(select(Text.row, Text.split).order_by(Text.row.desc())).all())
        before = [text.row for text in lease_texts(session, owner, 6, read(session)).texts]
    pool = [row for row, split in of.items() if split == "pool" and row not in before]
    measured = [row for row, split in of.items() if split == "validation" and row not in before]
    wanted = [measured[-1], *pool[:9]]
    with project.sessions.begin() as session:
        session.add(Lease(text_row=pool[0], person_number=other.number, until=now() + 100))
        first, again = (
            [text.row for text in lease_texts(session, owner, 8, read(session), wanted, afresh).texts]
            for afresh in (True, False)
        )
        mine = {*session.scalars(select(Lease.text_row).where(Lease.person_number == owner.number))}
    hunted = [row for row in first if of[row] == "pool"]
    assert hunted == pool[1 : 1 + len(hunted)], "neither validation texts nor texts that another person has"
    assert {row for row in before if of[row] == "validation"} < {*first}
    assert {*first} == {*again} == mine, "what else they had, they gave back"
    with project.sessions.begin() as session:
        assert len(lease_texts(session, owner, 20, read(session), wanted).texts) == 20, (
            "where there are no more, others come"
        )
    project.close()


def test_spare_texts_are_of_the_next_ones_and_hardly_the_same_for_two_people(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=300, db=db)
    one, other = me(project), people(project, 1)[0]
    queue(project, [f"t{n}" for n in range(150)])
    leased = {*ids(project, one, 6), *ids(project, other, 6)}
    say(project, one, "t50")
    with project.reads() as session:
        mine, theirs = ([text.id for text in spare_texts(session, person, 20)] for person in (one, other))
        assert len({*session.scalars(select(Lease.text_row))}) == len(leased)
    assert len({*mine}) == len({*theirs}) == 20
    assert not {*mine, *theirs} & (leased | {"t50"})
    assert {splits(project)[id] for id in mine} == {"pool"}
    assert all(int(id[1:]) < 150 for id in mine)  # of those that the model chose
    assert len({*mine} & {*theirs}) < 10
    project.close()
