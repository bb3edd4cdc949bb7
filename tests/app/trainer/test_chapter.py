from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hybridal import ActiveLearner
from hybridal.acquisition.entropy import entropies
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter, ModelSpec, begin, learner_options, newest, write_model
from hybridal.app.trainer.snapshot import Snapshot, snapshot, task_of
from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.observer import Observer
from hybridal.loop.loop import Experiment
from hybridal.models.training import forward_passes
from hybridal.runs.export import read_evidence
from hybridal.schedules import make_schedule

from ..copies import copied
from .projects import TASK, label, label_some, made, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    label_some(project, 6, 6)
    project.runs.mkdir()
    yield project
    project.close()


def taken(project: Project) -> Snapshot:
    with project.reads() as session:
        return snapshot(session)


def begun(project: Project) -> Chapter:
    """A chapter with one round, not saved yet."""
    now = taken(project)
    with project.reads() as session:
        task = task_of(session, "toys", now)
    chapter = begin(project.runs, ModelSpec.of(now, project), ActiveLearner(task, **learner_options(project)))
    chapter.sync_labels(now)
    chapter.learn(Observer())
    return chapter


def test_chapter_learns_the_labels_of_the_snapshot(project: Project) -> None:
    chapter = begun(project)
    assert chapter.learnt() == taken(project).pool
    assert (chapter.round, chapter.folder.name) == (1, "001")


def test_the_announced_update_allows_for_a_new_encoder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter, announced = begun(project), Observer()
    updates: list[str] = []
    monkeypatch.setattr(announced, "round_started", lambda _round, _of, update: updates.append(update))
    chapter.learner.schedule = make_schedule("fixed:2")
    monkeypatch.setattr(
        Experiment,
        "label_changes",
        lambda _self, state, last: replace(state.pool.label_changes(), encoder=EncoderChoice("tiny", changed=True)),
    )
    assert chapter.learn(announced).update == "retrain"
    assert updates == ["retrain"]


def test_an_export_under_other_names_does_not_change_the_live_model(project: Project, tmp_path: Path) -> None:
    chapter = begun(project)
    classifier = chapter.model.classifier
    names, config = classifier.classes, classifier.module.config.to_diff_dict()
    parameters = [*classifier.module.parameters()]
    weights, versions = classifier.weights(), [parameter._version for parameter in parameters]
    write_model(chapter, ["one", "two"], tmp_path / "model")
    assert classifier.classes == names == ("sport", "food")
    assert classifier.module.config.to_diff_dict() == config
    assert not classifier.module.training
    assert [parameter._version for parameter in parameters] == versions  # the weights were not written to
    assert all(torch.equal(weights[name], value) for name, value in classifier.weights().items())


def test_an_exported_model_carries_the_labels_that_test_its_promises(project: Project, tmp_path: Path) -> None:
    write_model(begun(project), ["one", "two"], tmp_path / "model")
    found = read_evidence(tmp_path / "model")
    assert found is not None
    assert len(found) == len(taken(project).validation) > 0


def test_labels_of_texts_that_came_later_wait_for_the_next_chapter(project: Project) -> None:
    chapter, now = begun(project), taken(project)
    later = Snapshot(now.newest, now.texts + 1, now.classes, {**now.pool, "later": 1}, now.validation, now.reserve)
    chapter.sync_labels(later)
    chapter.learn(Observer())
    assert chapter.learnt() == now.pool


def test_candidates_are_scored_once_with_calibration(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = begun(project)
    scored: list[int] = []
    predict = forward_passes.predict

    def counting(*arguments: object, **options: object) -> object:
        scored.append(len(arguments[2]))  # type: ignore[arg-type]
        return predict(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(forward_passes, "predict", counting)
    ids, (found,) = chapter.choose(10)
    assert scored == []  # its round looked at all of these texts already, and the model is a probe
    assert [found.ids[at] for at in np.argsort(-found.doubts, kind="stable")][:10] == ids
    texts = dict(zip(TASK.train.ids, TASK.train.texts, strict=True))
    expected = chapter.learner.predict_proba([texts[id] for id in found.ids])
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    np.testing.assert_allclose(found.doubts, entropies(expected), atol=1e-5)
    assert found.classes == chapter.spec.classes


def test_predictions_are_of_texts_of_both_splits(project: Project) -> None:
    now = taken(project)
    predictions = begun(project).predict([*now.pool, *now.validation, "unknown"])
    assert {*predictions.ids} == {*now.pool, *now.validation}


def test_a_chapter_appears_whole_and_can_be_taken_up(project: Project) -> None:
    chapter = begun(project)
    assert newest(project.runs) is None
    chapter.save()
    again = newest(project.runs)
    assert again is not None
    assert (again.spec, again.learnt(), again.round) == (chapter.spec, chapter.learnt(), 1)
    label(project, unlabelled(project, "pool", 4))
    for one in (chapter, again):
        one.sync_labels(taken(project))
        one.learn(Observer())
    assert chapter.learner.history[-1].validation == again.learner.history[-1].validation


@pytest.mark.parametrize(("min_finetune_steps", "epochs"), [(0, 3), (2, 3), (7, 4), (96, 48)])
def test_the_examples_of_the_next_update_are_those_that_it_trains_on(
    project: Project, min_finetune_steps: int, epochs: int
) -> None:
    project.decide(
        {"overrides": {**project.setting("overrides"), "probe_until": 0, "min_finetune_steps": min_finetune_steps}}
    )
    chapter = begun(project)
    label(project, unlabelled(project, "pool", 6))
    chapter.sync_labels(taken(project))
    foreseen, record = chapter.examples(), chapter.learn(Observer())
    assert (record.update, record.cost.epochs) == ("finetune:3", epochs)  # of 14 examples in batches of eight
    assert foreseen == record.cost.examples == epochs * 14


def test_the_next_chapter_counts_on(project: Project) -> None:
    begun(project).save()
    second = begun(project)
    assert (second.folder.name, second.earlier_rounds, second.round) == ("002", 1, 2)


def test_a_chapter_whose_folder_was_deleted_writes_it_again(project: Project) -> None:
    import shutil

    chapter = begun(project)
    chapter.save()
    shutil.rmtree(chapter.folder)
    chapter.sync_labels(taken(project))
    chapter.learn(Observer())
    chapter.save()
    again = newest(project.runs)
    assert again is not None
    assert again.round == 2
