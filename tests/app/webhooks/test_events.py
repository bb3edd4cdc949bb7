from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridal.app.db.schema import Text, Trainer, Webhook
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.app.webhooks.events import EVENTS, LABELS_PER_MESSAGE, current_position, has_new_events, take_new_events
from hybridal.core.rounds import LabelChanges
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import toy_task

from ..insight.rounds import round_of
from ..made_up import make, me


def hook(project: Project, *events: str) -> int:
    with project.sessions.begin() as session:
        made = Webhook(url="http://x", secret="", events=list(events or EVENTS), **current_position(session, project))
        session.add(made)
        session.flush()
        return made.number


def news(project: Project, number: int) -> list[tuple[str, dict[str, Any]]]:
    with project.reads() as session:
        worth_a_look = has_new_events(session, session.get_one(Webhook, number))
    with project.sessions.begin() as session:
        found = take_new_events(session, project, session.get_one(Webhook, number))
    assert worth_a_look or not found
    return found


def label(project: Project, id: str, class_name: str | None = "a") -> None:
    with project.sessions.begin() as session:
        action: Any = "label" if class_name else "skip"
        annotate(session, me(project), id, action, class_name=class_name, key=f"{id} {class_name}", comment="why")


def test_each_annotation_is_one_event_in_order_without_file_labels(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    label(project, "t0")
    number = hook(project, "labels.saved")
    assert news(project, number) == []
    label(project, "t1")
    label(project, "t2", None)
    with project.sessions.begin() as session:
        undo(session, me(project), "undo")
        file = machine_annotator(session, "(file)", "file")
        annotate(session, file, "t5", "label", class_name="b", key="file:5")
    [(event, data)] = news(project, number)
    assert event == "labels.saved"
    sent = [(one["text"], one["action"], one["class"], one["person"]) for one in data["labels"]]
    assert sent == [("t1", "label", "a", "me"), ("t2", "skip", None, "me"), ("t2", "withdraw", None, "me")]
    assert data["labels"][0]["comment"] == "why"
    assert news(project, number) == []
    project.close()


def test_events_of_a_project_with_several_classes_have_sets(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True)
    number = hook(project, "labels.saved")
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_names=["b", "a"], key="1")
        annotate(session, me(project), "t2", "label", decisions={"c": False, "a": None}, key="2")
        annotate(session, me(project), "t3", "skip", key="3")
        undo(session, me(project), "undo")
    [(_, data)] = news(project, number)
    sent = [(one["text"], one["class"], one["classes"], one["decisions"]) for one in data["labels"]]
    expected = [("t1", None, ["a", "b"], None), ("t2", None, [], {"a": None, "c": False})]
    assert sent == [*expected, ("t3", None, None, None), ("t3", None, None, None)]
    project.close()


def test_many_labels_come_in_several_messages(project: Project) -> None:
    number = hook(project, "labels.saved")
    with project.sessions.begin() as session:
        session.add_all(Text(id=f"x{i}", body="x", random_order=0.5) for i in range(LABELS_PER_MESSAGE + 5))
        owner = me(project)
        for i in range(LABELS_PER_MESSAGE + 5):
            annotate(session, owner, f"x{i}", "label", class_name="a", key=f"x{i}")
    told = [len(data["labels"]) for _ in range(3) for _, data in news(project, number)]
    assert told == [LABELS_PER_MESSAGE, 5]


def test_goal_event_is_sent_for_each_goal_reached(project: Project) -> None:
    number = hook(project, "goal.reached")
    project.decide({"budget": 2})
    label(project, "t0")
    assert news(project, number) == []
    label(project, "t1")
    assert news(project, number) == [("goal.reached", {"labels": 2, "goal": 2})]
    label(project, "t2")
    assert news(project, number) == []
    assert news(project, hook(project, "goal.reached")) == []
    project.decide({"budget": 3})
    assert [event for event, _ in news(project, number)] == ["goal.reached"]


def test_round_events_are_sent_when_complete_and_the_last_one_twice(project: Project) -> None:
    task = toy_task(train=40, validation=2, test=0)
    folder = RunFolder.create(project.runs / "001", Settings("toys"), task, {})
    folder.append(round_of(1))
    number, last_only = hook(project), hook(project, "model.finished")
    with project.sessions.begin() as session:
        trainer = session.get_one(Trainer, 1)
        trainer.round, trainer.phase = 2, "training"
    assert news(project, number) == []
    folder.append(round_of(2))
    other = RunFolder.create(project.runs / "002", Settings("toys"), task, {})
    other.append(round_of(1, label_changes=LabelChanges(last=True)))
    with project.sessions.begin() as session:
        trainer = session.get_one(Trainer, 1)
        trainer.round, trainer.phase = 3, "waiting"
    told = news(project, number)
    assert [(event, data["round"]) for event, data in told] == [
        ("round.finished", 2),
        ("round.finished", 3),
        ("model.finished", 3),
    ]
    assert (told[0][1]["labels"], told[0][1]["accuracy"]) == (20, 0.75)
    assert [event for event, _ in news(project, last_only)] == ["model.finished"]
    assert news(project, number) == []
