from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, QueuedText, Text
from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer import publish as module
from hybridal.app.trainer import stored_predictions as keeping
from hybridal.app.trainer.publish import publish, published_round
from hybridal.app.trainer.stored_predictions import ScoredTexts, rows_of

from ..copies import copied
from ..made_up import merge_classes
from .projects import TASK, ask, made, row

IDS = list(TASK.train.ids)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def queue(project: Project) -> list[tuple[str, int]]:
    with project.reads() as session:
        found = select(Text.id, QueuedText.round).join(QueuedText).order_by(QueuedText.rank)
        return [(id, round) for id, round in session.execute(found)]


def predictions(project: Project) -> dict[str, tuple[int, float, int]]:
    with project.reads() as session:
        found = select(Text.id, Prediction.class_number, Prediction.probability, Prediction.round).join(Prediction)
        return {id: (number, sure, round) for id, number, sure, round in session.execute(found)}


def scored(ids: list[str], first: float) -> ScoredTexts:
    """The first class has this probability."""
    return ScoredTexts(ids, np.array([[first, 1 - first]] * len(ids)), (1, 2))


def test_new_model_replaces_the_queue_and_the_predictions(project: Project) -> None:
    publish(project, 1, IDS[:3], [scored(IDS[:4], 0.875)], learnt_annotation=5)
    assert queue(project) == [(id, 1) for id in IDS[:3]]
    publish(project, 2, [IDS[7], IDS[2]], [scored([IDS[2]], 0.25)], learnt_annotation=9)
    assert queue(project) == [(IDS[7], 2), (IDS[2], 2)]
    assert predictions(project) == {**dict.fromkeys([IDS[0], IDS[1], IDS[3]], (1, 0.875, 1)), IDS[2]: (2, 0.75, 2)}
    kept = project.probabilities.read()
    assert kept is not None
    with project.reads() as session:
        rows = rows_of(session, IDS[:5])
    assert kept.about["classes"] == [1, 2]
    assert [kept.values[rows[id]].tolist() for id in IDS[1:3]] == [[0.875, 0.125], [0.25, 0.75]]
    assert kept.stamps[[rows[id] for id in IDS[:4]]].tolist() == [2, 2, 3, 2]
    assert kept.stamps.sum() == 9
    with project.reads() as session:
        assert published_round(session) == 2
    assert (row(project).learnt_annotation, row(project).round) == (9, 2)


def test_a_wish_is_fulfilled_in_the_same_moment(project: Project) -> None:
    ask(project, "train")
    publish(project, 1, [], [], request="train")
    assert (row(project).request, row(project).phase, row(project).learnt_annotation) == ("", "waiting", 0)


def test_many_predictions_are_written_in_parts_and_the_queue_with_the_last(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "PART", 3)
    publish(project, 1, IDS[:3], [scored(IDS[:8], 0.9)], learnt_annotation=5)
    assert set(predictions(project)) == set(IDS[:8])
    monkeypatch.setattr(module, "clear_request", _fail)
    with pytest.raises(RuntimeError):
        publish(project, 2, IDS[5:8], [scored(IDS[4:10], 0.8)], learnt_annotation=9)
    with project.reads() as session:
        assert published_round(session) == 1  # so that the next process publishes it again
    assert set(predictions(project)) == set(IDS[:10])


def _fail(*_arguments: object) -> None:
    raise RuntimeError


def test_half_of_a_queue_is_never_seen(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(project, 1, IDS[:3], [scored(IDS[:1], 0.9)], learnt_annotation=5)

    monkeypatch.setattr(module, "clear_request", _fail)
    with pytest.raises(RuntimeError):
        publish(project, 2, IDS[5:8], [], learnt_annotation=9)
    assert queue(project) == [(id, 1) for id in IDS[:3]]
    assert (row(project).learnt_annotation, row(project).round) == (5, 1)


def test_predictions_use_the_name_of_a_class_merged_during_training(project: Project) -> None:
    with project.sessions.begin() as session:
        gone, left = classes.find(session, "food").number, classes.find(session, "sport").number
        merge_classes(session, gone, left)
    publish(project, 1, [], [ScoredTexts(IDS[:1], np.array([[0.875, 0.125]]), (gone, left))])
    assert predictions(project) == {IDS[0]: (left, 0.875, 1)}


def test_a_class_that_is_archived_between_two_parts_is_not_predicted_in_the_next(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with project.sessions.begin() as session:
        food, sport = (classes.find(session, name).number for name in ("food", "sport"))
    scored = ScoredTexts(IDS[:4], np.array([[0.875, 0.125]] * 4), (food, sport))

    def archive(_: float) -> None:
        with project.sessions.begin() as session:
            if not classes.get(session, food).archived:
                classes.archive(session, food, "out")

    monkeypatch.setattr(keeping, "PART", 2)
    monkeypatch.setattr("hybridal.app.trainer.stored_predictions.time.sleep", archive)
    publish(project, 1, [], [scored])
    assert predictions(project) == {}


def test_many_ids_are_looked_up_and_unknown_ones_left_out(project: Project) -> None:
    asked = [*IDS, *(f"unknown-{number}" for number in range(1200)), IDS[0]]
    with project.reads() as session:
        assert set(rows_of(session, asked)) == set(IDS)
