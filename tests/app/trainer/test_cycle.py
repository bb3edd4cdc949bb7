from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from tokenizers import Tokenizer

from hybridal.app.db.schema import Class, Consensus, Person, Prediction, QueuedText, Text
from hybridal.app.insight.project_progress import progress, review_texts
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.annotations import undo
from hybridal.app.labelling.removal import delete_texts, restore_texts
from hybridal.app.project import READER_FILE, Project, chapter_folders
from hybridal.app.project_settings import DEFAULTS
from hybridal.app.project_settings import write as decide
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.cycle import Cycle
from hybridal.errors import UserError
from hybridal.measures.advice import advise
from hybridal.runs.record import RunFolder

from ..copies import copied
from ..made_up import merge_classes
from .projects import RULES, ask, label, label_some, made, row, scoring, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def started(project: Project) -> Cycle:
    cycle = Cycle(project)
    cycle.start()
    return cycle


def trained(project: Project) -> Cycle:
    """A trainer after its first round."""
    label_some(project, 6, 6)
    cycle = started(project)
    assert cycle.turn()
    return cycle


def words(project: Project) -> list[str]:
    return [RunFolder(path).history()[-1].update_sequence for path in chapter_folders(project.runs)]


def labels_of(cycle: Cycle) -> dict[str, str]:
    assert cycle.chapter is not None
    return cycle.chapter.learner.labels


def test_cycle_waits_for_enough_labels(project: Project) -> None:
    cycle = started(project)
    assert (row(project).phase, row(project).round) == ("waiting", 0)
    assert not cycle.turn()
    label_some(project, 4, 6)
    assert not cycle.turn()
    assert (row(project).phase, row(project).done, row(project).total) == ("waiting", 4, 6)
    assert not list(project.runs.iterdir())


def test_first_model_fills_the_queue_and_the_predictions(project: Project) -> None:
    cycle = trained(project)
    assert not cycle.turn()
    status = row(project)
    assert (status.phase, status.round, status.update, status.error, status.learnt_annotation) == (
        "waiting",
        1,
        "retrain",
        "",
        12,
    )
    assert (status.done, status.total) == (0, 6)  # new labels, of those that the next update waits for
    with project.reads() as session:
        queue = session.execute(select(QueuedText, Text).join(Text).order_by(QueuedText.rank)).all()
        predictions = {prediction.text_row: prediction for prediction in session.scalars(select(Prediction))}
        labelled = set(session.scalars(select(Consensus.text_row)))
    assert [queued.rank for queued, _ in queue] == list(range(24))
    assert all(text.split == "pool" and text.open and queued.round == 1 for queued, text in queue)
    # It asks first about what it is least sure of.
    entropies = [predictions[text.row].entropy for _, text in queue]
    assert entropies == sorted(entropies, reverse=True)
    shown = [predictions[one] for one in labelled | {text.row for _, text in queue}]
    assert all(0.5 <= prediction.probability <= 1 and prediction.round == 1 for prediction in shown)


def test_rounds_go_on_in_one_folder_that_is_a_run(project: Project) -> None:
    cycle = trained(project)
    for _ in range(3):
        label_some(project, 6, 1)
        assert cycle.turn()
    assert not cycle.turn()
    (folder,) = chapter_folders(project.runs)
    history = RunFolder(folder).history()
    assert [record.labels for record in history] == [6, 12, 18, 24]
    assert [record.validation.n for record in history if record.validation] == [6, 7, 8, 9]
    assert [record.update for record in history] == ["retrain", "retrain", "refit", "finetune:3"]
    # A probe; the protocol's two epochs; a new head; three epochs, since there are twice as many labels.
    # The names of both classes are examples too.
    batches = [-(-(record.labels + 2) // 8) for record in history]
    assert [record.cost.steps for record in history] == [0, 2 * batches[1], 0, 3 * batches[3]]
    assert len(history[-1].acquired) == 24


def test_by_default_the_first_model_needs_ten_labels_and_no_training_step(tmp_path: Path) -> None:
    project = made(tmp_path / "toys.hybridal", batch=16, overrides=DEFAULTS["overrides"])
    cycle = started(project)
    label_some(project, 9, 6)
    assert not cycle.turn()
    label_some(project, 1)
    assert cycle.turn()
    assert cycle.chapter is not None
    (record,) = cycle.chapter.learner.history
    assert (record.labels, record.cost.steps, record.reason) == (10, 0, "the encoder is untrained")
    assert record.validation is not None
    assert record.validation.n == 6
    told = progress(project)
    assert told["rounds"][0]["reason"] == record.reason
    assert told["advice"] == advise([record], 2, left=74).sentence  # there are ninety texts
    project.close()


def test_fewer_labels_than_a_batch_are_learnt_on_request(project: Project) -> None:
    cycle = trained(project)
    label_some(project, 1)
    assert not cycle.turn()
    ask(project, "train")
    assert cycle.turn()
    assert (row(project).request, row(project).round) == ("", 2)
    assert len(labels_of(cycle)) == 7


def test_corrected_and_withdrawn_labels_reach_the_model(project: Project) -> None:
    label(project, unlabelled(project, "validation", 5))
    validation = label(project, unlabelled(project, "validation", 1))
    first = label_some(project, 6)
    cycle = started(project)
    cycle.turn()
    wrong = {"sport": "food", "food": "sport"}[labels_of(cycle)[first[0]]]
    label(project, first[:1], wrong)
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        undo(session, me, "undo-the-correction")
        undo(session, me, "undo-the-newest")
    label(project, first[:1], wrong)
    with project.sessions.begin() as session:
        session.execute(Consensus.__table__.delete().where(Consensus.text_row == _row(project, validation[0])))  # type: ignore[attr-defined]
    ask(project, "train")
    assert cycle.turn()
    assert set(labels_of(cycle)) == set(first[:5])
    assert labels_of(cycle)[first[0]] == wrong
    assert cycle.chapter is not None
    measured = cycle.chapter.learner.history[-1].validation
    assert measured is not None
    assert measured.n == 5


def _row(project: Project, id: str) -> int:
    with project.reads() as session:
        return session.scalars(select(Text.row).where(Text.id == id)).one()


def test_a_renamed_class_is_the_same_class(project: Project) -> None:
    cycle = trained(project)
    with project.sessions.begin() as session:
        classes.rename(session, classes.find(session, "sport").number, "games")
    assert not cycle.turn()
    label(project, unlabelled(project, "pool", 6), "games")
    assert cycle.turn()
    assert words(project) == ["RR"]
    assert row(project).error == ""
    assert cycle.chapter is not None
    assert set(cycle.chapter.learner.experiment.task.classes) == {"food", "games"}  # whose names are examples


def test_class_descriptions_are_learnt_in_the_next_round(project: Project) -> None:
    cycle = trained(project)
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "sport").number, "goals and teams", "the score\n\na match")
    assert not cycle.turn()
    label(project, unlabelled(project, "pool", 6), "sport")
    assert cycle.turn()
    assert (words(project), row(project).error) == (["RR"], "")
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.descriptions == {"sport": ("goals and teams", "the score", "a match")}
    assert cycle.chapter.model.description_texts[-3:] == ["goals and teams", "the score", "a match"]
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "sport").number, "goals and teams", "the score\n\na match")
    chapter = cycle.chapter
    label(project, unlabelled(project, "pool", 6), "food")
    assert cycle.turn()
    assert cycle.chapter is chapter  # nothing else has changed


def test_a_description_after_the_last_round_is_learnt_by_another_last_round(project: Project) -> None:
    cycle = trained(project)
    ask(project, "finish")
    assert cycle.turn()
    before = row(project).round
    with project.sessions.begin() as session:
        classes.describe(session, classes.find(session, "sport").number, "goals and teams")
    ask(project, "finish")
    assert cycle.turn()
    assert (row(project).round, row(project).request, row(project).error) == (before + 1, "", "")
    assert cycle.chapter is not None
    assert cycle.chapter.folder.exists()
    ask(project, "finish")
    assert cycle.turn()
    assert row(project).round == before + 1, "once"


def weights_of(cycle: Cycle) -> dict[str, Any]:
    assert cycle.chapter is not None
    return dict(cycle.chapter.model.classifier.weights())


def test_a_model_that_is_made_otherwise_begins_a_chapter_that_knows_all_labels(project: Project) -> None:
    cycle = trained(project)
    with project.sessions.begin() as session:
        decide(session, {"seed": 7})
    label_some(project, 6)
    assert cycle.turn()
    assert words(project) == ["R", "R"]
    assert len(labels_of(cycle)) == 12
    assert row(project).round == 2
    with project.reads() as session:
        rounds = dict(session.execute(select(Prediction.text_row, Prediction.round)).all())
        labelled = {*session.scalars(select(Consensus.text_row))}
    assert {rounds[row] for row in labelled} == {2}
    assert 1 in rounds.values(), "predictions of the last model stay until this one has scored the text"


@pytest.mark.parametrize("how", ["class added", "class archived", "texts added", "text restored"])
def test_model_is_kept_when_classes_or_texts_change(tmp_path: Path, how: str) -> None:
    # One that is trained, not a probe: what it has learnt is in the encoder too.
    project = made(tmp_path / "toys.hybridal", schedule="finetune", overrides={**RULES, "probe_until": 0})
    with project.sessions.begin() as session:
        classes.add(session, ["space"])
        rows = session.scalars(select(Text.row).where(Text.split == "pool").limit(1)).all()
        if how == "text restored":
            delete_texts(session, rows, at=1.0)
    cycle = trained(project)
    assert cycle.chapter is not None
    before, began_from = weights_of(cycle), []
    with project.sessions.begin() as session:
        if how == "class added":
            classes.add(session, ["music"])
        elif how == "class archived":
            classes.archive(session, classes.find(session, "space").number, "out")
        elif how == "texts added":
            texts.add(session, [("new-1", "a rocket and a star", "food"), ("new-2", "a goal", "sport")])
        else:
            restore_texts(session, rows)
    label_some(project, 6)
    again = started(project)  # the weights are those on disk
    learn = Chapter.learn

    def watched(chapter: Chapter, *arguments: Any) -> Any:
        began_from.append({**chapter.learner._state.weights})  # type: ignore[dict-item]
        return learn(chapter, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chapter, "learn", watched)
        assert again.turn()
    assert words(project) == ["FF"]
    assert [path.name for path in project.runs.iterdir() if path.name.isdigit()] == ["002"]
    [start] = began_from
    same = {name for name in start if start[name].shape == before[name].shape and (start[name] == before[name]).all()}
    assert len(same) >= len(before) - 2  # all but the head, at most
    [weight] = [name for name in before if name.endswith("classifier.weight")]
    both = [*{*cycle.chapter.spec.classes} & {*again.chapter.spec.classes}]  # type: ignore[union-attr]
    for number in both:
        old, new = (one.chapter.spec.classes.index(number) for one in (cycle, again))  # type: ignore[union-attr]
        assert (start[weight][new] == before[weight][old]).all()
    assert len(labels_of(again)) >= 12
    assert (row(project).round, progress(project)["rounds"][-1]["round"]) == (2, 2)
    assert not started(project).turn()
    # A trainer that was killed before it could remove what it replaced.
    shutil.copytree(project.runs / "002", project.runs / "001")
    assert [path.name for path in chapter_folders(project.runs)] == ["002"]
    started(project)
    assert [path.name for path in project.runs.iterdir()] == ["002"]
    project.close()


def test_deleted_texts_are_left_out_without_a_new_chapter(project: Project) -> None:
    cycle = trained(project)
    learnt = [*labels_of(cycle)]
    with project.reads() as session:
        free = session.scalars(select(Text.id).where(Text.open, Text.split == "pool")).all()
    gone = [*learnt[:1], *free[:5]]
    with project.sessions.begin() as session:
        delete_texts(session, session.scalars(select(Text.row).where(Text.id.in_(gone))).all(), at=1.0)
    label_some(project, 6)
    assert cycle.turn()
    assert words(project) == ["RR"]
    assert [path.name for path in chapter_folders(project.runs)] == ["001"]
    assert not {*gone} & {*labels_of(cycle)}
    with project.reads() as session:
        queued = session.scalars(select(Text.id).join(QueuedText, QueuedText.text_row == Text.row)).all()
        scored = session.scalars(select(Text.id).join(Prediction, Prediction.text_row == Text.row)).all()
    assert queued
    assert not {*gone} & {*queued, *scored}
    with project.sessions.begin() as session:
        restore_texts(session, session.scalars(select(Text.row).where(Text.id.in_(gone))).all())
    label_some(project, 6)
    assert cycle.turn()
    assert learnt[0] in labels_of(cycle)
    assert words(project) == ["RRF(3)"]


def test_merged_classes_are_learnt_as_one(project: Project) -> None:
    with project.sessions.begin() as session:
        classes.add(session, ["match"])
    label(project, unlabelled(project, "pool", 6), "match")
    cycle = trained(project)
    with project.sessions.begin() as session:
        merge_classes(session, classes.find(session, "match").number, classes.find(session, "sport").number)
    ask(project, "train")
    assert cycle.turn()
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.classes == ("sport", "food")
    assert len(labels_of(cycle)) == 12
    assert words(project) == ["RR"]


def test_deleted_run_folders_are_trained_again(project: Project) -> None:
    cycle = trained(project)
    before = labels_of(cycle)
    shutil.rmtree(project.runs)
    cycle = started(project)
    assert (row(project).round, row(project).learnt_annotation) == (0, 0)
    assert cycle.turn()
    assert labels_of(cycle) == before
    assert words(project) == ["R"]


@pytest.mark.parametrize("damage", ["run.json", "chapter.json", "rounds.jsonl", "checkpoint"])
def test_a_damaged_chapter_costs_only_a_retraining(project: Project, damage: str) -> None:
    trained(project)
    (folder,) = chapter_folders(project.runs)
    if (folder / damage).is_dir():
        shutil.rmtree(folder / damage)
    else:
        (folder / damage).write_text("{ no\n")
    cycle = started(project)
    assert cycle.turn()
    assert (folder.parent / "002").is_dir()
    assert len(labels_of(cycle)) == 6


def test_a_trainer_that_goes_on_finds_nothing_to_do_again(project: Project) -> None:
    trained(project)
    with project.reads() as session:
        before = session.scalars(select(QueuedText.text_row).order_by(QueuedText.rank)).all()
    cycle = started(project)
    assert not cycle.turn()
    assert (row(project).phase, row(project).round) == ("waiting", 1)
    label_some(project, 6)
    assert cycle.turn()
    assert words(project) == ["RR"]
    assert before


def test_saved_but_unpublished_round_is_published_at_the_start(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = trained(project)
    label_some(project, 6)
    with monkeypatch.context() as patch:
        patch.setattr("hybridal.app.trainer.cycle.publish", killed)
        with pytest.raises(KeyboardInterrupt):
            cycle.turn()
    cycle = started(project)
    assert not cycle.turn()
    assert words(project) == ["RR"]
    with project.reads() as session:
        assert (
            {*session.scalars(select(QueuedText.round))} == {2} == {session.scalar(select(func.max(Prediction.round)))}
        )


def test_a_database_that_went_away_at_the_wrong_moment_costs_no_round(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = trained(project)
    label_some(project, 6)
    with monkeypatch.context() as patch:
        patch.setattr("hybridal.app.trainer.cycle.publish", failing(OperationalError("", {}, Exception("gone"))))
        with pytest.raises(OperationalError):
            cycle.turn()
    assert row(project).phase == "scoring"
    cycle = started(project)
    assert (row(project).phase, row(project).round, words(project)) == ("waiting", 2, ["RR"])
    assert not cycle.turn()


def killed(*_arguments: Any, **_options: Any) -> None:
    raise KeyboardInterrupt  # not caught anywhere, like a kill


def failing(error: Exception) -> Callable[..., None]:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise error

    return fail


def test_failure_gets_one_sentence_and_is_retried_on_request(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = trained(project)
    label_some(project, 6)
    with monkeypatch.context() as patch:
        patch.setattr("hybridal.models.training.fit.fit", failing(MemoryError(f"no room in {project.folder}/x\nmore")))
        assert cycle.turn()
    status = row(project)
    assert (status.phase, status.error, status.round) == ("failed", "MemoryError: no room in x", 1)
    assert not cycle.turn()
    ask(project, "retry")
    assert cycle.turn()
    status = row(project)
    assert (status.phase, status.error, status.round, status.request) == ("waiting", "", 2, "")
    assert words(project) == ["RR"]


def test_after_a_failure_a_batch_of_new_labels_is_reason_to_try_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = trained(project)
    label_some(project, 6)
    with monkeypatch.context() as patch:
        patch.setattr("hybridal.runs.checkpoint.save", failing(UserError("The disk is full; make room.")))
        assert cycle.turn()
        assert row(project).error == "The disk is full; make room."
        label_some(project, 5)
        assert not cycle.turn()
        assert row(project).phase == "failed"
    label_some(project, 1)
    assert cycle.turn()
    assert len(labels_of(cycle)) == 18
    assert words(project) == ["RR"]


def test_a_first_round_that_fails_leaves_no_chapter_behind(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    label_some(project, 6, 6)
    monkeypatch.setattr("hybridal.runs.checkpoint.save", failing(UserError("The disk is full.")))
    assert started(project).turn()
    assert list(project.runs.iterdir()) == []


def test_unlearnable_labels_are_refused_with_a_reason(project: Project) -> None:
    cycle = started(project)
    ask(project, "train")
    assert cycle.turn()
    assert (row(project).phase, row(project).request) == ("failed", "")
    assert row(project).error == "There are no labels to learn from yet; label some texts first."


def test_progress_is_published_during_training(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("hybridal.app.trainer.publish.time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    written: list[dict[str, Any]] = []
    cycle = started(project)
    monkeypatch.setattr(cycle.status, "_write", lambda **values: written.append(values))
    label_some(project, 12, 6)
    cycle.turn()
    assert [values["phase"] for values in written if "phase" in values] == ["loading", "training", "scoring"]
    assert {"update": "retrain", "round": 1} in written
    told = [(values["step"], values["done"], values["total"]) for values in written if "while_busy" in values]
    fits, epochs = [("fits", fit, 4) for fit in (1, 2, 3, 4)], [("epochs", 1, 2), ("epochs", 2, 2)]
    assert [one for one in told if one[0] != "texts"] == fits + epochs
    assert told[-1] == ("texts", 24, 24)
    assert written[-1]["seconds_left"] == 0


def test_no_transaction_is_open_during_training(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.nn import functional

    loss, held = functional.cross_entropy, []

    def watched(*arguments: Any, **options: Any) -> Any:
        held.append(project.engine.pool.checkedout())  # type: ignore[attr-defined]
        return loss(*arguments, **options)

    monkeypatch.setattr(functional, "cross_entropy", watched)
    label_some(project, 6)
    trained(project)
    assert len(held) >= 2
    assert set(held) == {0}


def test_both_databases_serve_it(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path / "toys.hybridal", db=db)
    cycle = trained(project)
    label_some(project, 6, 1)
    assert cycle.turn()
    while cycle.score():
        pass
    assert (row(project).phase, row(project).round, row(project).error) == ("waiting", 2, "")
    assert (project.exports / "model").is_dir()
    with project.reads() as session:
        assert {*session.execute(select(func.count(), func.max(Prediction.round)))} == {(90, 2)}
    told = progress(project)
    assert [round["labels"] for round in told["rounds"]] == [6, 12]
    assert sum(bin["n"] for bin in told["calibration"]) == 7
    with project.reads() as session:
        assert len(session.scalars(select(QueuedText)).all()) == 24
        assert len(review_texts(session, 5)["uncertain"]) == 5
    assert not started(project).turn()
    project.close()


def test_when_all_texts_are_labelled_the_queue_is_empty(project: Project) -> None:
    cycle = trained(project)
    label_some(project, 90, 90)
    assert cycle.turn()
    with project.reads() as session:
        assert session.scalars(select(QueuedText)).all() == []
        assert len(session.scalars(select(Prediction)).all()) == 90
        assert len(session.scalars(select(Class)).all()) == 2


def test_a_last_round_goes_over_all_labels_and_more_labels_simply_go_on(project: Project) -> None:
    cycle = trained(project)
    label_some(project, 6)
    assert cycle.turn()
    label_some(project, 2)
    ask(project, "finish")
    assert cycle.turn()
    assert cycle.chapter is not None
    history = cycle.chapter.learner.history
    assert (history[-1].labels, history[-1].reason, history[-1].label_changes and history[-1].label_changes.last) == (
        14,
        "the last round",
        True,
    )
    assert (row(project).phase, row(project).request, row(project).round) == ("waiting", "", 3)
    assert progress(project)["finish"]["finished"]
    assert scoring(project).done == 0
    assert (project.exports / "model" / "config.json").is_file(), "a finished model can be downloaded at once"
    (project.exports / "model").rename(project.exports / "taken away")
    cycle = started(project)
    ask(project, "finish")
    assert cycle.turn()
    assert (row(project).request, row(project).round) == ("", 3), "what is finished is not trained again"
    assert (project.exports / "model" / "config.json").is_file()
    label_some(project, 6)
    assert not progress(project)["finish"]["finished"]
    assert cycle.turn()
    assert (row(project).phase, row(project).round, len(labels_of(cycle))) == ("waiting", 4, 20)
    assert not progress(project)["finish"]["finished"]


def test_a_probe_is_finished_once_too(project: Project) -> None:
    cycle = trained(project)
    assert cycle.first is not None
    for _ in range(2):
        ask(project, "finish")
        assert cycle.turn()
        assert (row(project).phase, row(project).request, row(project).round) == ("waiting", "", 2)
    assert progress(project)["finish"]["finished"]


def test_trainer_saves_its_tokenizer_for_the_page(project: Project) -> None:
    cycle = trained(project)
    assert cycle.chapter is not None
    length = cycle.chapter.learner.experiment.rules.max_length
    reader = Tokenizer.from_file(str(project.folder / READER_FILE))
    text = "rocket " * 2 * length
    assert reader.encode(text).ids == cycle.chapter.model.encoder.encode([text])[0]
    assert len(reader.encode(text)) == length
    (project.folder / READER_FILE).unlink()
    started(project)  # a project of an earlier version has none yet
    assert (project.folder / READER_FILE).exists()
