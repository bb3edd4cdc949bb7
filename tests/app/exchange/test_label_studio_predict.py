from pathlib import Path

from sqlalchemy import event

from hybridal.app.exchange.label_studio import Config
from hybridal.app.exchange.label_studio_in import place
from hybridal.app.exchange.label_studio_predict import model_version, predict
from hybridal.app.exchange.label_studio_tasks import Task

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


def test_neither_a_prediction_nor_an_event_walks_through_all_texts(tmp_path: Path) -> None:
    project = made(tmp_path)
    steps: list[str] = []

    @event.listens_for(project.engine, "before_cursor_execute")
    def explain(connection, cursor, statement, parameters, context, many):  # type: ignore[no-untyped-def]
        if "texts" in statement:
            found = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            steps.extend(step[3] for step in found)

    with project.reads() as session:
        [found] = predict(session, [{"data": {"text": "It crashes."}}], Config())
        assert place(session, [Task("7", "It crashes."), Task("b", "new")])[0][0] == "a"
    assert found["score"] == 0.75
    assert any("texts_by_digest" in step for step in steps)
    assert [step for step in steps if step.startswith("SCAN texts")] == []
