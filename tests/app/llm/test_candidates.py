from pathlib import Path

from hybridal.app.db.schema import Lease, Queued, now
from hybridal.app.llm.answers import Said
from hybridal.app.llm.candidates import candidates

from .projects import llm_of, made, person, recorded, says, text


def test_the_models_wishes_come_before_the_random_order(tmp_path: Path) -> None:
    project = made(tmp_path, 10)
    with project.sessions.begin() as session:
        session.add_all(
            Queued(text_row=text(session, f"t{at}").row, rank=rank, round=1) for rank, at in enumerate([7, 2])
        )
        session.flush()
        found = candidates(session, llm_of(session), 100)
        assert [one.id for one in found[:2]] == ["t7", "t2"]
        assert sorted(one.id for one in found) == [f"t{at}" for at in range(10)]
        places = [one.place for one in found[2:]]
        assert places == sorted(places)


def test_what_people_labelled_have_in_hand_or_it_has_seen_is_left_out(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        says(session, "me", "t0", "bug")
        me = person(session, "me").number
        session.add(Lease(text_row=text(session, "t1").row, person_number=me, until=now() + 60))
        session.add(Lease(text_row=text(session, "t2").row, person_number=me, until=now() - 60))
        llm = llm_of(session, shown=("t5",))
        recorded(session, llm, "t3", Said("bug", 0.2))
        found = {one.id for one in candidates(session, llm, 100)}
        assert found == {"t2", "t4"}
        assert "t3" in {one.id for one in candidates(session, llm_of(session, model="large"), 100)}


def test_validation_texts_are_asked_when_people_labelled_them_and_first_of_all(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, 6, db)
    with project.sessions.begin() as session:
        for id in ("t1", "t2"):
            text(session, id).split = "validation"
        text(session, "t3").wanted = 2
        session.flush()
        says(session, "me", "t2", "bug")
        says(session, "me", "t3", "bug")
        found = [one.id for one in candidates(session, llm_of(session), 100)]
        assert set(found[:2]) == {"t2", "t3"}
        assert set(found[2:]) == {"t0", "t4", "t5"}
        assert len(candidates(session, llm_of(session), 3)) == 3
