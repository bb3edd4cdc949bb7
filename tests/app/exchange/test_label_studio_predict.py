from pathlib import Path

from hybridal.app.exchange.label_studio import Config
from hybridal.app.exchange.label_studio_predict import model_version, predict

from .projects import NASTY, empty, guess, made


def test_a_task_is_found_by_its_words_whatever_they_are(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db)
    with project.sessions.begin() as session:
        guess(session, "b", "idea", 0.25)
        session.flush()
        [found] = predict(session, [{"id": 1, "data": {"text": NASTY}}], Config())
    assert (found["score"], found["model_version"]) == (0.25, "round 3")


def test_many_tasks_are_answered_at_once(tmp_path: Path) -> None:
    with made(tmp_path).reads() as session:
        tasks = [{"data": {"text": f"unknown {at}"}} for at in range(1200)]
        found = predict(session, [*tasks, {"data": {"text": "It crashes."}}], Config())
    assert [bool(one["result"]) for one in found] == [False] * 1200 + [True]


def test_without_a_model_there_is_no_version(tmp_path: Path) -> None:
    with empty(tmp_path).reads() as session:
        assert model_version(session) == ""
        assert predict(session, [{"data": {"text": "x"}}], Config()) == [
            {"model_version": "", "score": 0.0, "result": []}
        ]
