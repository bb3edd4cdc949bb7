from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Prediction, QueuedText, Text
from hybridal.app.insight.project_progress import calibration_bins, progress, review_texts
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.learnt_predictions import are_from_names
from hybridal.app.project import Project, chapter_folders
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.first_model import serving_order
from hybridal.app.trainer.publish import Status, published_round
from hybridal.app.trainer.snapshot import Snapshot, learnt_classes, snapshot
from hybridal.app.web.routes.project_routes import trainer_status
from hybridal.learners.probe_model import ProbeModel
from hybridal.loop.first_draw import first_draw
from hybridal.measures.objective import SingleLabel
from hybridal.models.training.class_descriptions import readable_names
from hybridal.models.training.probe import ProbeFitter
from hybridal.randomness import stream
from hybridal.runs.record import RunFolder

from ..copies import copied
from .projects import ask, label, label_some, made, row, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def prepared(project: Project) -> Cycle:
    cycle = Cycle(project)
    cycle.start()
    while cycle.prepare():
        pass
    return cycle


def queue(project: Project) -> list[int]:
    with project.reads() as session:
        return [*session.scalars(select(QueuedText.text_row).order_by(QueuedText.rank))]


def only_first(cycle: Cycle, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that ends when the first model is published, before its round is trained."""

    def ended(_now: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cycle, "_chapter_for", ended)
        with pytest.raises(KeyboardInterrupt):
            cycle.turn()


def test_the_first_texts_are_representative(project: Project) -> None:
    with project.reads() as session:
        served = serving_order(session)
        pool = {text.id: text.row for text in session.scalars(select(Text).where(Text.split == "pool"))}
    cycle = prepared(project)
    assert cycle.first is not None
    ids = [id for id in served if id in pool]
    model = cycle.first.chapter.model
    rows = {id: row for row, id in enumerate(cycle.first.chapter.learner.experiment.task.train.ids)}
    features = model.features.of(np.array([rows[id] for id in ids]))
    drawn = first_draw(features, len(ids), stream(model.seed, "initial"), model.class_features())
    assert queue(project) == [pool[ids[at]] for at in drawn]
    with project.reads() as session:
        assert published_round(session) == 0
        assert cycle.first.draw(learnt_classes(session), {}) == ([], [])  # only once


def predicted(project: Project) -> dict[str, tuple[str, float]]:
    """The likeliest class of each text that has a prediction, and its probability; all are of round 0."""
    names = select(Text.id, Class.name, Prediction.probability).join(Text, Text.row == Prediction.text_row)
    with project.reads() as session:
        assert {*session.scalars(select(Prediction.round))} <= {0}
        found = session.execute(names.join(Class, Class.number == Prediction.class_number))
        return {id: (name, sure) for id, name, sure in found}


def test_class_names_predict_before_the_first_label(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = prepared(project)
    assert cycle.first is not None
    found = predicted(project)
    assert len(found) == 90
    learner = cycle.first.chapter.learner
    task, by_learner = learner.experiment.task, learner.model
    sure = by_learner.predict_proba([*task.train.texts]).max(axis=1)
    np.testing.assert_allclose([found[id][1] for id in task.train.ids], sure, atol=1e-2)
    with project.reads() as session:
        assert are_from_names(session)
        assert trainer_status(session).from_names
    label_some(project, 6, 6)
    assert progress(project)["calibration"] == calibration_bins([])  # nothing has been validated
    with project.reads() as session:
        assert review_texts(session)["contradicted"] == []
        assert review_texts(session)["uncertain"]
    only_first(cycle, monkeypatch)
    with project.reads() as session:
        assert not are_from_names(session)


def test_the_page_still_says_how_many_labels_are_missing(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    while not cycle.turn() and cycle.prepare():  # as a trainer does: counts the labels, then prepares
        pass
    assert predicted(project)
    assert not cycle.turn()
    assert (row(project).phase, row(project).done, row(project).total) == ("waiting", 0, 6)


def test_predictions_follow_the_classes(project: Project) -> None:
    cycle = prepared(project)
    assert {name for name, _ in predicted(project).values()} == {"food", "sport"}
    with project.sessions.begin() as session:
        classes.add(session, ["space"])
    cycle.prepare()
    assert {name for name, _ in predicted(project).values()} == {"food", "sport", "space"}
    before = predicted(project)
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "space").number, "planets and stars")
    cycle.prepare()
    assert predicted(project) != before


def test_names_that_say_nothing_predict_nothing(project: Project) -> None:
    with project.sessions.begin() as session:
        for found, name in zip(classes.active(session), ("1", "2"), strict=True):
            classes.rename(session, found.number, name)
    prepared(project)
    assert not predicted(project)
    with project.reads() as session:
        assert not are_from_names(session)


def test_class_descriptions_attract_similar_texts(tmp_path: Path) -> None:
    project = copied(made, tmp_path / "toys.hybridal")
    with project.sessions.begin() as session:
        for found, name in zip(classes.active(session), ("1", "2"), strict=True):
            classes.rename(session, found.number, name)  # names that say nothing
    cycle = prepared(project)
    assert cycle.first is not None
    before, model = queue(project), cycle.first.chapter.model
    assert model.class_features() is None
    with project.sessions.begin() as session:
        one, other = classes.active(session)
        classes.describe(session, one.number, "win the match", "a goal\nthe score")
        classes.describe(session, other.number, examples="soup and bread")
    cycle.prepare()
    after = queue(project)
    assert (sorted(after), after != before) == (sorted(before), True)
    with project.reads() as session:
        ids = {text.row: text.id for text in session.scalars(select(Text))}
        served = [id for id in serving_order(session) if id in {ids[row] for row in after}]
    rows = {id: row for row, id in enumerate(cycle.first.chapter.learner.experiment.task.train.ids)}
    described = model.embed(["win the match", "a goal", "the score", "soup and bread"])
    near = [described[:3].mean(axis=0), described[3]]
    features = model.features.of(np.array([rows[id] for id in served]))
    drawn = first_draw(features, len(served), stream(model.seed, "initial"), np.stack(near))
    assert [ids[row] for row in after] == [served[at] for at in drawn]
    project.close()


def test_everything_is_loaded_and_computed_before_there_are_labels(project: Project) -> None:
    cycle = prepared(project)
    assert cycle.first is not None
    assert cycle.first.is_ready()
    assert cycle.chapter is None
    assert not cycle.turn()
    assert (row(project).phase, row(project).round) == ("waiting", 0)
    assert not list(project.runs.iterdir())


def test_when_labels_are_due_nothing_is_loaded_or_encoded_any_more(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)

    def not_now(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("too late for this")

    with monkeypatch.context() as patch:
        patch.setattr("hybridal.app.trainer.cycle.ActiveLearner", not_now)
        patch.setattr("hybridal.models.training.forward_passes.predict", not_now)
        only_first(cycle, monkeypatch)
    assert (row(project).phase, row(project).round, row(project).learnt_annotation) == ("training", 1, 12)
    assert len(queue(project)) == 24


def test_the_page_says_how_far_the_first_model_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10,000 classes one fit takes half a minute."""
    cycle, fit = prepared(project), ProbeModel.fit
    during: list[tuple[str, int]] = []
    shares: list[tuple[str, int, int]] = []
    monkeypatch.setattr(Status, "progress", lambda _, *reported: shares.append(reported))

    def watched(probe: ProbeModel, *labels: Any) -> None:
        during.append((row(project).phase, row(project).round))
        fit(probe, *labels)

    monkeypatch.setattr(ProbeModel, "fit", watched)
    label_some(project, 6, 6)
    only_first(cycle, monkeypatch)
    assert during == [("training", 1)]
    assert shares[-1] == ("fits", 4, 4)


def test_the_round_that_follows_is_of_the_same_probe(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    only_first(cycle, monkeypatch)
    with project.reads() as session:
        first = dict(session.execute(select(Prediction.text_row, Prediction.probability)).all())
        assert {*session.scalars(select(Prediction.round))} == {0}, "its round will say all of it again"
    ask(project, "train")
    assert cycle.turn()
    assert (row(project).phase, row(project).round) == ("waiting", 1)
    with project.reads() as session:
        after = dict(session.execute(select(Prediction.text_row, Prediction.probability)).all())
    same = sorted(first.keys() & after.keys())
    assert len(same) > 24
    np.testing.assert_allclose([first[one] for one in same], [after[one] for one in same], atol=1e-3)
    (folder,) = chapter_folders(project.runs)
    assert [record.labels for record in RunFolder(folder).history()] == [6]


def test_labels_that_come_while_it_prepares_are_learnt(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    label_some(project, 3, 3)
    assert not cycle.turn()
    assert cycle.prepare()
    label_some(project, 3, 3)
    assert cycle.turn()
    assert cycle.chapter is not None
    assert len(cycle.chapter.learnt()) == 6


def test_labels_that_are_due_at_once_get_a_first_model_before_a_round(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = Cycle(project)
    cycle.start()
    label_some(project, 6, 6)
    begun: list[tuple[int, int]] = []
    monkeypatch.setattr(Chapter, "learn", lambda *_: begun.append((row(project).round, len(queue(project)))))
    monkeypatch.setattr(cycle, "_publish", lambda *_: None)
    assert cycle.turn()
    [(round, chosen)] = begun
    assert (round, chosen >= 6) == (1, True)


def test_first_model_chooses_by_margin_as_the_next_round(project: Project) -> None:
    with project.sessions.begin() as session:
        classes.add(session, ["space"])  # of two classes, others would choose the same
    cycle = prepared(project)
    labelled = {*label_some(project, 6, 6)}
    assert cycle.first is not None
    with project.reads() as session:
        now = snapshot(session)
        pool = {*session.scalars(select(Text.id).where(Text.split == "pool"))}
    chosen, found = cycle.first.learn(now, 1000)
    assert {*chosen} == ({*found.ids} & pool) - labelled
    likeliest = {id: sorted(some.tolist())[-2:] for id, some in zip(found.ids, found.probabilities, strict=True)}
    apart = [best - second for second, best in map(likeliest.__getitem__, chosen)]
    assert apart == sorted(apart)
    assert cycle.turn()
    assert cycle.chapter is not None
    assert cycle.chapter.learner.settings.acquisition == "margin"


def test_the_name_of_a_class_that_has_gone_meanwhile_is_left_out(project: Project) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    assert cycle.first is not None
    with project.reads() as session:
        now = snapshot(session)
    stays, *_ = now.classes
    pool, validation = (
        {id: number for id, number in known.items() if number == stays} for known in (now.pool, now.validation)
    )
    fewer = replace(now, classes={stays: now.classes[stays]}, pool=pool, validation=validation)
    _, found = cycle.first.learn(fewer, 24)
    assert (found.probabilities == 1).all()


def test_first_model_uses_the_newest_class_descriptions(project: Project) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "food").number, "soup and bread", "a meal")
    assert cycle.first is not None
    with project.reads() as session:
        now = snapshot(session)
    _, found = cycle.first.learn(now, 24)
    model, rules = cycle.first.chapter.model, cycle.first.chapter.learner.experiment.rules
    rows = {id: row for row, id in enumerate(cycle.first.chapter.learner.experiment.task.train.ids)}
    features = model.pretrained_features(np.array([rows[id] for id in now.pool]))
    order = list(now.classes)
    labels = np.array([order.index(number) for number in now.pool.values() if isinstance(number, int)])
    described = model.embed([*readable_names([*now.classes.values()]), "soup and bread", "a meal"])
    food = order.index(next(number for number, name in now.classes.items() if name == "food"))
    probe = ProbeFitter(model.seed).best(features, labels, SingleLabel(2), (described, np.array([0, 1, food, food])))
    some = [id for id in found.ids if id in rows]
    expected = probe.logits(model.pretrained_features(np.array([rows[id] for id in some]))).argmax(axis=1)
    by_id = dict(zip(found.ids, found.probabilities.argmax(axis=1), strict=True))
    assert rules.use_class_descriptions
    assert [by_id[id] for id in some] == expected.tolist()
    assert probe.weight.shape[0] == 2


def test_an_early_description_causes_no_second_pass(project: Project, passes: list[int]) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "food").number, "soup and bread")
    already = len(passes)
    assert cycle.turn()
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.descriptions == {"food": ("soup and bread",)}
    assert sum(passes[already:]) <= 2 + 6 + 12, (
        "more than the description twice, to validate, and to show labelled texts"
    )
    assert cycle.first is not None, "it goes on with the new chapter"
    assert cycle.first.chapter is cycle.chapter


def test_its_round_encodes_only_new_texts(project: Project, passes: list[int]) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    already = len(passes)
    assert cycle.turn()
    assert sum(passes[already:]) <= 6 + 12, "more than to validate, and to show what it thinks of labelled texts"


def test_texts_with_labels_are_computed_before_those_that_wait(project: Project) -> None:
    cycle = Cycle(project)
    cycle.start()
    last = unlabelled(project, "pool", 80)[-2:]
    assert cycle.prepare()
    label(project, last)
    assert not cycle.turn()
    assert cycle.prepare()
    assert cycle.first is not None
    assert {*last} <= set(cycle.first.probe.ids)


def test_first_model_uses_the_projects_acquisition(project: Project) -> None:
    project.decide({"acquisition": "entropy"})
    with project.sessions.begin() as session:
        classes.add(session, ["space"])  # with two classes, margin would choose the same
    cycle = prepared(project)
    label_some(project, 6, 6)
    assert cycle.first is not None
    with project.reads() as session:
        now = snapshot(session)
    chosen, found = cycle.first.learn(now, 1000)
    doubts = dict(zip(found.ids, found.doubts.tolist(), strict=True))
    assert [doubts[id] for id in chosen] == sorted((doubts[id] for id in chosen), reverse=True)
    assert cycle.turn()
    assert cycle.chapter is not None
    assert cycle.chapter.learner.settings.acquisition == "entropy"


def test_an_update_takes_one_snapshot(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = prepared(project)
    label_some(project, 6, 6)
    taken: list[int] = []

    def counted(session: Session) -> Snapshot:
        taken.append(1)
        return snapshot(session)

    monkeypatch.setattr("hybridal.app.trainer.cycle.snapshot", counted)
    assert cycle.turn()
    assert (row(project).round, len(taken)) == (1, 1)


@pytest.mark.parametrize("what", ["class", "text", "setting"])
def test_changes_during_preparation_lead_to_the_right_chapter(project: Project, what: str) -> None:
    cycle = prepared(project)
    with project.sessions.begin() as session:
        if what == "class":
            classes.add(session, ["space"])
        elif what == "text":
            texts.add(session, [("new-1", "a rocket and a star", None), ("new-2", "a goal", None)])
    if what == "setting":
        project.decide({"seed": 7})
    while cycle.prepare():
        pass
    label_some(project, 6, 6)
    assert cycle.turn()
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.classes == (
        ("sport", "food", "space") if what == "class" else ("sport", "food")
    )
    task = cycle.chapter.learner.experiment.task
    assert len(task.train) + len(task.validation) == (92 if what == "text" else 90)
    assert cycle.chapter.learner.settings.seed == (7 if what == "setting" else 42)
    assert (row(project).round, row(project).error, len(cycle.chapter.learnt())) == (1, "", 6)


def test_classes_that_are_defined_while_labelling_start_it(tmp_path: Path) -> None:
    project = copied(made, tmp_path / "toys.hybridal")
    with project.sessions.begin() as session:
        for found in classes.active(session)[1:]:
            session.delete(found)
    cycle = prepared(project)
    before = cycle.first
    with project.sessions.begin() as session:
        classes.add(session, ["food"])
    assert cycle.prepare()
    assert (before is None, cycle.first is None) == (True, False)
    project.close()


def test_failed_preparation_is_reported_when_it_is_needed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any, **_options: Any) -> None:
        raise OSError("no such backbone")

    monkeypatch.setattr("hybridal.app.trainer.cycle.ActiveLearner", broken)
    cycle = Cycle(project)
    cycle.start()
    assert not cycle.prepare()
    assert not cycle.turn()
    assert row(project).phase == "waiting"
    label_some(project, 6, 6)
    assert cycle.turn()
    assert (row(project).phase, row(project).error) == ("failed", "OSError: no such backbone")


def test_texts_served_first_are_embedded_first(project: Project) -> None:
    with project.reads() as session:
        order = serving_order(session)
        split = dict(session.execute(select(Text.id, Text.split)).all())
    assert [split[id] for id in order[:4]] == ["validation", "pool", "validation", "pool"]
    assert order[1:4:2] == unlabelled(project, "pool", 2)
