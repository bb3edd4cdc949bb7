from pathlib import Path

from hybridal.app.llm.answers import Said
from hybridal.app.llm.trial import said_by_llm, said_by_people, trial

from .projects import llm_of, made, recorded, says, text


def test_only_texts_that_went_to_people_anyway_are_compared(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        llm = llm_of(session)
        text(session, "t1").split = "validation"
        text(session, "t2").wanted = text(session, "t4").wanted = 2
        session.flush()
        for id in ("t0", "t1", "t2"):
            recorded(session, llm, id, Said("bug", 0.5))
        recorded(session, llm, "t4", None)
        assert said_by_llm(session, llm) == {"t1": "bug", "t2": "bug"}
        everything = llm_of(session, routing={"overlap": 1.0})
        assert set(said_by_llm(session, everything)) == {"t0", "t1", "t2"}
        assert said_by_llm(session, llm_of(session, model="large")) == {}


def test_people_are_heard_but_not_those_who_decide_between_them(tmp_path: Path) -> None:
    project = made(tmp_path, 6)
    with project.sessions.begin() as session:
        says(session, "Ann", "t1", "bug")
        says(session, "Bo", "t1", "idea")
        says(session, "Cy", "t1", "bug", decides=True)
        says(session, "Ann", "t2", "bug")
        assert said_by_people(session, {"t1"}) == {"Ann": {"t1": "bug"}, "Bo": {"t1": "idea"}}


def test_with_people_enough_the_test_is_made(tmp_path: Path) -> None:
    project = made(tmp_path, 40)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(40):
            name = "bug" if at % 3 else "idea"
            recorded(session, llm, f"t{at}", Said(name, 0.9))
            for who in ("Ann", "Bo", "Cy"):
                says(session, who, f"t{at}", "bug" if who == "Cy" and at < 6 else name)
        found = trial(session, llm)
        assert (found["passes"], found["winning_rate"], found["advantage"]) == (True, 1.0, 1.0)
        assert [one["person"] for one in found["people"]] == ["Ann", "Bo", "Cy"]
        assert [one["kappa"] for one in found["kappas"]][:2] == [1.0, 1.0]
        assert found["kappas"][2]["agreed"] == 38 / 40


def test_with_one_person_there_is_kappa_and_what_is_missing(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, 10, db)
    with project.sessions.begin() as session:
        llm = llm_of(session, routing={"overlap": 1.0})
        for at in range(10):
            recorded(session, llm, f"t{at}", Said("bug" if at % 2 else "idea", 0.9))
            says(session, "Ann", f"t{at}", "bug" if at % 2 else "idea")
        found = trial(session, llm)
        assert found["passes"] is None
        assert "needs two people" in found["note"]
        assert found["kappas"] == [{"person": "Ann", "kappa": 1.0, "low": 1.0, "high": 1.0, "texts": 10, "agreed": 1.0}]
        assert trial(session, llm_of(session))["kappas"] == []
