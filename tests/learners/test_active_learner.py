from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from hybridal import ActiveLearner
from hybridal.acquisition import ACQUISITIONS
from hybridal.acquisition.entropy import Entropy
from hybridal.acquisition.margin import Margin
from hybridal.annotators.callback import Callback
from hybridal.core.label_sets import LabelSets
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rounds import Round
from hybridal.errors import RunError, UserError
from hybridal.learners import active_learner
from hybridal.measures.advice import advise
from hybridal.measures.calibration import softmax
from hybridal.models.training.forward_passes import predict
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules.fixed import FixedSwitch
from hybridal.system.journal import Journal
from hybridal.tasks import Split, Task
from hybridal.testing.small import multi_label_task, toy_task

TASK = toy_task(train=60, validation=20, test=0)
RULES: dict[str, Any] = {
    "batch": 6,
    "candidates": 30,
    "max_length": 16,
    "max_epochs": 3,
    "train_batch": 8,
    "learning_rate": 2e-3,
}


def learner_of(task: Task | str = TASK, schedule: Any = "fixed:3", **options: Any) -> ActiveLearner:
    asked: dict[str, Any] = {"protocol": "paper", **RULES, **options}
    return ActiveLearner(task, backbone="tiny", schedule=schedule, device="cpu", **asked)


def hidden(task: Task, train: Any = UNKNOWN, validation: Any = None) -> Task:
    """The task with these labels in place of its own."""
    labels = np.broadcast_to(train, len(task.train)).astype(np.int64)
    known = task.validation.labels if validation is None else np.broadcast_to(validation, len(task.validation))
    return replace(
        task,
        train=replace(task.train, labels=labels),
        validation=replace(task.validation, labels=known.astype(np.int64)),
    )


def teach(learner: ActiveLearner, rounds: int = 1) -> list[Round]:
    for _ in range(rounds):
        learner.teach(TASK.answers(learner.query().ids))
    return without_seconds(learner.history)


def without_seconds(history: Sequence[Round]) -> list[Round]:
    return [replace(record, seconds={}) for record in history]


def weights_of(learner: ActiveLearner) -> dict[str, Any]:
    return learner.transformer.classifier.weights()


def same_weights(one: ActiveLearner, other: ActiveLearner) -> bool:
    a, b = weights_of(one), weights_of(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- learning ------------------------------------------------------------------------------------------------------


def test_no_labels_at_all_can_start() -> None:
    learner = learner_of(hidden(TASK))
    assert learner.labels == {}
    ids = learner.query(5).ids
    assert set(ids) <= set(TASK.train.ids)
    record = learner.teach(TASK.answers(ids)).trained
    assert record is not None
    assert (record.labels, record.update_sequence) == (5, "R")
    assert learner.labels == TASK.answers(ids)


def test_a_partly_labelled_task_starts_from_its_labels() -> None:
    partly = np.where(np.arange(60) % 4 == 0, TASK.train.labels, UNKNOWN)
    learner = learner_of(hidden(TASK, partly))
    assert learner.labels == TASK.answers(TASK.train.ids[::4])
    record = learner.update()
    assert (record.labels, record.cost.examples) == (15, 15 * record.cost.epochs)


def test_the_same_labels_give_the_same_learner_whether_the_task_knows_them_or_not() -> None:
    known, unknown = learner_of(), learner_of(hidden(TASK))
    assert teach(known, 3) == teach(unknown, 3)
    assert same_weights(known, unknown)


def test_a_schedule_may_be_an_object_and_signals_names() -> None:
    learner = learner_of(schedule=FixedSwitch(2), signals=["loss"])
    history = teach(learner, 3)
    assert [record.update_sequence for record in history] == ["R", "RF", "RFF"]
    assert all(record.changes.keys() == {"loss"} for record in history)
    assert learner.settings.schedule == "fixed:2"


def test_a_task_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active_learner, "load_task", {"toys": TASK}.__getitem__)
    assert learner_of("toys").experiment.task is TASK


@pytest.mark.parametrize(
    ("protocol", "asked", "chosen"),
    [
        ("best", None, "margin"),
        ("paper", None, "entropy"),
        ("quick", None, "entropy"),
        ("best", "entropy", "entropy"),
        ("paper", "margin", "margin"),
        ("best", Margin(), "margin"),
    ],
)
def test_acquisition_comes_from_the_protocol_unless_given(
    protocol: str, asked: Any, chosen: str, tmp_path: Path
) -> None:
    learner = learner_of(protocol=protocol, acquisition=asked)
    assert learner.experiment.acquisition == ACQUISITIONS.make(chosen)
    learner.save(tmp_path / "run")
    assert RunFolder(tmp_path / "run").about()["settings"]["acquisition"] == chosen
    again = ActiveLearner.load(tmp_path / "run")
    assert (again.experiment.acquisition, again.settings.acquisition) == (ACQUISITIONS.make(chosen), chosen)


def test_saved_learner_keeps_its_entropy_acquisition(tmp_path: Path) -> None:
    """Its folder records entropy and no minimum of fine-tuning steps."""
    learner_of(protocol="best").save(tmp_path)
    saved = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    saved["settings"]["acquisition"] = "entropy"
    del saved["protocol"]["min_finetune_steps"]
    (tmp_path / "run.json").write_text(json.dumps(saved), encoding="utf-8")
    again = ActiveLearner.load(tmp_path)
    assert (again.experiment.acquisition, again.experiment.rules.min_finetune_steps) == (Entropy(), 0)


@pytest.mark.parametrize(
    ("keyword", "meant"), [("learning_rat", "learning_rate"), ("backbon", "backbone"), ("sheduel", "schedule")]
)
def test_a_misspelt_keyword_gets_a_suggestion(keyword: str, meant: str) -> None:
    told = (
        rf"^`{keyword}` is neither an argument of ActiveLearner nor a field of its protocol; did you mean '{meant}'\?$"
    )
    with pytest.raises(UserError, match=told) as error:
        ActiveLearner(TASK, "tiny", **{keyword: 1.0})  # type: ignore[arg-type]
    assert error.value.field == keyword


# --- validation texts ----------------------------------------------------------------------------------------------


def test_unlabelled_validation_texts_are_asked_for_first() -> None:
    partly = np.where(np.arange(20) < 12, TASK.validation.labels, UNKNOWN)
    learner = learner_of(hidden(TASK, validation=partly))
    missing = list(TASK.validation.ids[12:])
    batch = learner.query(100)
    assert batch.ids == missing
    assert batch.note.startswith("100 were requested; validation texts come first")
    assert learner.query().ids == learner.query().ids == missing[:6]
    result = learner.teach(TASK.answers(missing[:6]))
    assert (result.learnt, result.measured, result.trained) == (0, 6, None)
    assert result.reason == "there are no labels to learn from yet"
    assert learner.history == []
    assert learner.labels == {}  # they are measured by, not learnt from
    assert learner.query().ids == missing[6:]
    learner.teach(TASK.answers(missing[6:]))
    assert set(learner.query().ids) <= set(TASK.train.ids)
    with_all = learner_of(hidden(TASK))
    assert teach(learner, 2) == teach(with_all, 2)
    assert learner.history[0].validation is not None
    assert learner.history[0].validation.n == 20


def test_signal_on_growing_validation_is_refused_before_labelling() -> None:
    with pytest.raises(UserError, match="The signal 'cka' compares the same validation texts in all rounds"):
        learner_of(hidden(TASK, validation=UNKNOWN), schedule="hybrid:cka", protocol="best")
    assert learner_of(schedule="hybrid:cka", protocol="best").settings.rules.validation == "fixed"


@pytest.mark.parametrize("n", [0, -1])
def test_query_of_zero_texts_is_refused(n: int) -> None:
    with pytest.raises(UserError, match="a whole number of texts, at least one"):
        learner_of(hidden(TASK, validation=UNKNOWN)).query(n)


def test_validation_and_train_labels_may_come_together() -> None:
    learner = learner_of(hidden(TASK, validation=UNKNOWN))
    ids = [*TASK.validation.ids[:4], *TASK.train.ids[:8]]
    record = learner.teach(TASK.answers(ids)).trained
    assert record is not None
    assert record.labels == 8
    assert record.validation is not None
    assert record.validation.n == 4
    assert set(learner.labels) == set(TASK.train.ids[:8])
    assert learner.validation_labels == TASK.answers(TASK.validation.ids[:4])


def test_without_any_validation_label_alpha_can_be_watched_and_accuracy_not() -> None:
    nothing = replace(hidden(TASK), validation=Split.empty())
    learner = learner_of(nothing, schedule="hybrid:alpha:100.0:1")
    teach(learner, 2)
    assert learner.history[-1].validation is None
    assert learner.predict_proba(["goal"]).sum() == pytest.approx(1.0)
    with pytest.raises(
        UserError, match=r"'accuracy' is measured on validation texts, .* none with labels; give it some"
    ):
        learner_of(nothing, schedule="hybrid:accuracy")
    with pytest.raises(UserError, match="'loss' is measured on validation texts"):
        learner_of(nothing, schedule="retrain", signals=["loss"])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"train-999": "sport"}, "'train-999' is not the id of a text"),
        ({"train-3": "sprot"}, "'sprot' is not a class"),
        ({"validation-3": "sprot"}, "'sprot' is not a class"),
    ],
)
def test_batch_with_an_unknown_id_changes_nothing(wrong: dict[str, str], message: str) -> None:
    learner = learner_of(hidden(TASK, validation=UNKNOWN))
    good = TASK.answers([*TASK.validation.ids[:3], *TASK.train.ids[:2]])
    with pytest.raises(UserError, match=message):
        learner.teach({**good, **wrong})
    assert learner.labels == {}
    assert learner.query(3).ids == list(TASK.validation.ids[:3])
    assert len(learner.transformer.validation.rows) == 0


def test_withdrawn_validation_label_is_not_evaluated(tmp_path: Path) -> None:
    learner = learner_of()
    learner.withdraw([*TASK.validation.ids[:15], *TASK.train.ids[:1]])
    learner.save(tmp_path / "run")
    for one in (learner, ActiveLearner.load(tmp_path / "run")):
        one.teach(TASK.answers(TASK.train.ids[:8]))
        measured = one.history[-1].validation
        assert measured is not None
        assert measured.n == 5


# --- predictions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("acquisition", "read"), [("entropy", [30]), ("badge", [30]), ("random", [6])])
def test_a_query_reads_each_text_once(acquisition: str, read: list[int], passes: list[int]) -> None:
    learner = learner_of(hidden(TASK), acquisition=acquisition)
    learner.teach(TASK.answers(TASK.train.ids[:12]))
    passes.clear()
    batch = learner.query()
    assert sorted(passes) == read
    told = [[*(query.probabilities or {}).values()] for query in batch]
    np.testing.assert_allclose(told, learner.predict_proba(batch.texts), atol=1e-6)


def test_query_reads_only_candidates_and_new_validation_texts(passes: list[int]) -> None:
    learner = learner_of(blank(), validation="share", validation_share=0.25)
    learner.teach(TASK.answers(learner.query(8).ids))
    passes.clear()
    batch = learner.query(8)
    assert passes == [30, 2]
    assert all(query.probabilities for query in batch)


def test_probabilities_are_scaled_by_the_last_temperature() -> None:
    learner = learner_of()
    teach(learner, 2)
    texts = list(TASK.validation.texts)
    found = learner.predict_proba(texts)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    temperature = learner.history[-1].temperature
    assert temperature is not None
    assert temperature != pytest.approx(1.0, abs=0.01)
    model = learner.transformer
    logits = predict(model.classifier, model.validation.source, np.arange(20)).logits
    np.testing.assert_allclose(found, softmax(logits, temperature), atol=1e-6)
    assert learner.predict(texts).tolist() == [TASK.classes[best] for best in logits.argmax(axis=1)]


def test_predict_without_texts_or_without_model() -> None:
    learner = learner_of()
    with pytest.raises(UserError, match="has not learnt anything yet; teach it first"):
        learner.predict(["goal"])
    teach(learner)
    assert learner.predict_proba([]).shape == (0, 2)
    assert learner.predict([]).tolist() == []


# --- save and load -------------------------------------------------------------------------------------------------

VARIANTS: dict[str, dict[str, Any]] = {
    "fixed": {"schedule": "fixed:2"},
    "carried moments": {"schedule": "finetune", "moments": "carry"},
    "hybrid": {"schedule": "hybrid:loss:100.0:2", "signals": ["weight-distance", "cka"], "acquisition": "bald:2"},
    "newonly": {"schedule": "newonly", "acquisition": "badge"},
    "a part of validation": {"schedule": "hybrid:accuracy:0.5:1", "validation_size": 8},
}


@pytest.mark.parametrize("variant", [*VARIANTS])
def test_loaded_learner_continues_as_if_never_saved(variant: str, tmp_path: Path) -> None:
    never, saved = (learner_of(hidden(TASK), seed=3, **VARIANTS[variant]) for _ in range(2))
    teach(never, 2)
    teach(saved, 2)
    asked = never.query().ids
    assert saved.query().ids == asked
    saved.save(tmp_path / "run")
    loaded = ActiveLearner.load(tmp_path / "run")
    assert without_seconds(loaded.history) == without_seconds(never.history)
    assert loaded.labels == never.labels
    assert same_weights(loaded, never)
    assert np.array_equal(loaded.predict_proba(TASK.test.texts), never.predict_proba(TASK.test.texts))
    assert loaded.query().ids == asked
    assert teach(loaded, 2) == teach(never, 2)
    assert same_weights(loaded, never)
    assert loaded.query().ids == never.query().ids


@pytest.mark.parametrize("rounds", [0, 1])
def test_pending_labels_are_saved(rounds: int, tmp_path: Path) -> None:
    never, saved = learner_of(), learner_of()
    for learner in (never, saved):
        teach(learner, rounds)
        learner.teach(TASK.answers(learner.query(4).ids), update=False)
        learner.withdraw(list(learner.labels)[:1])
    loaded = ActiveLearner.load(saved.save(tmp_path / "run"))
    assert loaded.labels == never.labels
    assert len(loaded.labels) == 6 * rounds + 3
    never.update()
    loaded.update()
    assert without_seconds(loaded.history) == without_seconds(never.history)


def test_validation_labels_are_saved(tmp_path: Path) -> None:
    learners = [learner_of(hidden(TASK, validation=UNKNOWN)) for _ in range(2)]
    for learner in learners:
        learner.teach(TASK.answers(TASK.validation.ids[:7]))
    never = learners[0]
    loaded = ActiveLearner.load(learners[1].save(tmp_path / "run"))
    assert loaded.query(100).ids == never.query(100).ids == list(TASK.validation.ids[7:])
    for learner in (never, loaded):
        learner.teach(TASK.answers(TASK.validation.ids[7:]))
    assert teach(loaded) == teach(never)
    assert loaded.history[0].validation is not None
    assert loaded.history[0].validation.n == 20


def test_sets_that_are_new_are_saved_and_loaded_as_if_never_saved(tmp_path: Path) -> None:
    whole = multi_label_task(train=60, validation=20, test=0)
    answers = {
        id: whole.answer(label) for _, rows in whole.splits() for id, label in zip(rows.ids, rows.labels, strict=True)
    }
    never, saved = (  # only by teaching do their tasks learn of sets of several classes
        learner_of(hidden(replace(whole, label_sets=LabelSets(3)), validation=UNKNOWN), acquisition="random")
        for _ in range(2)
    )
    for learner in (never, saved):
        learner.teach({id: answers[id] for id in whole.validation.ids[:12]})
        learner.teach({id: answers[id] for id in whole.train.ids[:16]})
        learner.teach({id: answers[id] for id in whole.train.ids[16:20]}, update=False)
    folder = saved.save(tmp_path / "run")
    loaded = ActiveLearner.load(folder)
    assert loaded.labels == never.labels == {id: answers[id] for id in whole.train.ids[:20]}
    assert loaded.validation_labels == never.validation_labels == {id: answers[id] for id in whole.validation.ids[:12]}
    assert {*map(len, loaded.labels.values())} >= {0, 1, 2}

    read = Task.from_file(folder / "labels.csv", label="label", id="id", test_size=0, validation_size=0)
    assert read.answers(read.train.ids) == {**loaded.labels, **loaded.validation_labels}
    for learner in (never, loaded):
        learner.teach({id: answers[id] for id in learner.query(4).ids if id in answers})
    assert without_seconds(loaded.history) == without_seconds(never.history)
    assert ActiveLearner.load(loaded.save(tmp_path / "run")).labels == loaded.labels


def test_observer_can_be_replaced(tmp_path: Path) -> None:
    class Counts(Observer):
        epochs = 0

        def epoch_done(self, epoch: int, of: int) -> None:
            self.epochs += 1

    learner = learner_of(observer=(first := Counts()))
    teach(learner)
    loaded = ActiveLearner.load(learner.save(tmp_path / "run"), observer=(second := Counts()))
    teach(loaded)
    loaded.observer = Observer()
    teach(loaded)
    assert [first.epochs, second.epochs] == [record.cost.epochs for record in loaded.history[:2]]


def test_second_save_appends_to_the_folder(tmp_path: Path) -> None:
    learner, never = learner_of(), learner_of()
    for _ in range(3):
        teach(learner)
        learner.save(tmp_path / "run")
        learner.query()  # after the round was recorded: the next save remembers it
        learner.save(tmp_path / "run")
    teach(never, 3)
    never.query()
    folder = RunFolder.open(tmp_path / "run")
    assert [record.update_sequence for record in folder.history()] == ["R", "RR", "RRF"]
    assert len(list(folder.checkpoint.iterdir())) == 1
    loaded = ActiveLearner.load(tmp_path / "run")
    assert without_seconds(loaded.history)[-1] == without_seconds(never.history)[-1]
    assert loaded.history[-1].acquired
    assert without_seconds(folder.history()) == without_seconds(never.history)  # only the file knows the query
    assert same_weights(loaded, never)
    teach(loaded)
    loaded.save(tmp_path / "run")
    assert len(folder.history()) == 4


def test_saved_folder_has_a_table_of_labels(tmp_path: Path) -> None:
    learner = learner_of(hidden(TASK, validation=UNKNOWN))
    learner.teach(TASK.answers(TASK.validation.ids[:2]))
    learner.teach(TASK.answers(TASK.train.ids[5:8]), update=False)
    learner.save(tmp_path / "run")
    with (tmp_path / "run" / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ids = [*TASK.train.ids[5:8], *TASK.validation.ids[:2]]
    assert {row["id"]: row["label"] for row in rows} == TASK.answers(ids)


def test_validation_labels_may_come_before_training_labels() -> None:
    learner = learner_of(hidden(TASK, validation=UNKNOWN), protocol="best", validation="share")
    batch = learner.query(20)
    result = learner.teach(TASK.answers(batch.ids[:2]))
    assert (result.learnt, result.measured, result.trained) == (0, 2, None)
    assert (len(learner.labels), len(learner.validation_labels)) == (0, 2)
    record = learner.teach(TASK.answers(batch.ids[2:])).trained
    assert record is not None
    assert record.labels == 18


def test_an_update_that_is_interrupted_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, other = learner_of(schedule="finetune"), learner_of(schedule="finetune")
    teach(learner)
    before, asked = learner.predict_proba(TASK.train.texts), learner.query().ids

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(learner.transformer, "view", interrupted)  # after the training
        with pytest.raises(KeyboardInterrupt):
            learner.teach(TASK.answers(asked))
    assert (learner.predict_proba(TASK.train.texts) == before).all()
    learner.update()
    teach(other, 2)
    assert same_weights(learner, other)


def test_a_batch_may_be_taught_text_by_text_with_corrections_between() -> None:
    def learner() -> ActiveLearner:
        return learner_of(hidden(TASK, validation=UNKNOWN), protocol="best", schedule="retrain", validation="share")

    def taught(some: ActiveLearner, by_text: bool) -> ActiveLearner:
        first = some.query(20).ids
        some.teach(TASK.answers(first))
        ids = some.query(20).ids
        wrong = next(iter(some.labels))
        for label in ("sport", "food", TASK.answers([wrong])[wrong]) if by_text else ():
            some.teach({wrong: label}, update=False)
        for id in ids if by_text else ():
            some.teach(TASK.answers([id]), update=False)
        some.teach(TASK.answers(ids))
        return some

    whole, piecemeal = taught(learner(), False), taught(learner(), True)
    assert len(whole.validation_labels) == 4
    assert piecemeal.validation_labels == whole.validation_labels
    assert piecemeal.labels == whole.labels


def test_saved_folder_has_a_table_of_validation_labels(tmp_path: Path) -> None:
    learner = ActiveLearner(hidden(TASK, validation=UNKNOWN), "tiny", device="cpu")
    batch = learner.query(20)
    answers = TASK.answers(batch.ids)
    learner.teach(answers, update=False)
    assert len(learner.labels) < len(answers)
    assert {**learner.labels, **learner.validation_labels} == answers
    learner.save(tmp_path / "run")
    with (tmp_path / "run" / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["id"]: row["label"] for row in rows} == answers
    assert {row["id"] for row in rows if row["split"] == "train"} == {*learner.labels}


def test_learner_of_another_device_is_loaded_on_this_one(tmp_path: Path) -> None:
    learner = learner_of()
    teach(learner)
    run = learner.save(tmp_path / "run") / "run.json"
    run.write_text(run.read_text().replace('"device": "cpu"', '"device": "cuda:99"', 1))
    with pytest.raises(UserError, match="device"):
        ActiveLearner.load(tmp_path / "run")
    again = ActiveLearner.load(tmp_path / "run", device="cpu")
    assert again.settings.device == "cpu"
    assert same_weights(again, learner)


def test_texts_and_ids_of_any_length_and_line_end_are_saved_and_loaded(tmp_path: Path) -> None:
    texts = [f"{sequence} " * 30_000 for sequence in ("goal", "soup") * 6]
    ids = [f'{row}\r\n",\r' for row in range(12)]
    task = Task.from_texts(texts, ["sport", "food"] * 6, ids=ids, validation_size=4, test_size=0)
    learner = learner_of(task)
    learner.withdraw(task.validation.ids[:1])
    learner.teach(task.answers(task.train.ids))
    again = ActiveLearner.load(learner.save(tmp_path / "run"))
    assert again.labels == learner.labels
    assert again.validation_labels == learner.validation_labels
    assert len(again.validation_labels) == 3


def test_a_report_goes_into_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    learner = learner_of()
    teach(learner)
    assert "Round" in learner.report(tmp_path / "pages" / "run.html").read_text()


def test_foreign_labels_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,label\n1,mine\n")
    with pytest.raises(UserError, match=r"has a 'labels\.csv' of something else; save this learner to a folder"):
        learner_of().save(tmp_path)
    assert (tmp_path / "labels.csv").read_text() == "id,label\n1,mine\n"
    assert len([*tmp_path.iterdir()]) == 1


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    one, other = learner_of(), learner_of()
    teach(one)
    teach(other)
    one.save(tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="holds another run; save this learner to a folder of its own"):
        other.save(tmp_path / "run")
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    with pytest.raises(UserError, match=r"is not a run folder: it has no run\.json"):
        ActiveLearner.load(tmp_path)


def test_a_run_of_the_command_line_is_not_loaded(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", Settings("toy", backbone="tiny"), TASK, {})
    with pytest.raises(UserError, match=r"run was not saved by an ActiveLearner; go on with `hybridal resume .*run`\."):
        ActiveLearner.load(tmp_path / "run")


def test_folder_with_newer_rounds_is_refused(tmp_path: Path) -> None:
    learner = learner_of()
    teach(learner)
    learner.save(tmp_path / "run")
    twin = ActiveLearner.load(tmp_path / "run")
    teach(twin, 2)
    twin.save(tmp_path / "run")
    with pytest.raises(UserError, match="has gone on without this learner"):
        learner.save(tmp_path / "run")
    assert len(ActiveLearner.load(tmp_path / "run").history) == 3


def test_a_round_whose_record_was_cut_off_is_in_the_checkpoint(tmp_path: Path) -> None:
    learner, never = learner_of(), learner_of()
    teach(learner, 1)
    learner.save(tmp_path / "run")
    teach(never, 2)
    teach(learner, 1)
    recorded = (tmp_path / "run" / "rounds.jsonl").read_bytes()
    learner.save(tmp_path / "run")
    (tmp_path / "run" / "rounds.jsonl").write_bytes(recorded)  # as if killed before the last line was written
    loaded = ActiveLearner.load(tmp_path / "run")
    assert len(loaded.history) == 2
    assert without_seconds(loaded.history)[-1] == without_seconds(never.history)[-1]
    teach(loaded)
    loaded.save(tmp_path / "run")
    assert len(Journal(tmp_path / "run" / "rounds.jsonl").read()) == 3


def test_folder_with_missing_rounds_is_refused(tmp_path: Path) -> None:
    learner = learner_of()
    teach(learner, 3)
    learner.save(tmp_path / "run")
    (tmp_path / "run" / "rounds.jsonl").write_bytes(b"")
    with pytest.raises(RunError, match="has 1 rounds, but the checkpoint is of round 3"):
        ActiveLearner.load(tmp_path / "run")


def test_saved_folder_records_the_settings(tmp_path: Path) -> None:
    learner = learner_of(seed=9, acquisition="margin")
    learner.save(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["settings"]["seed"] == 9
    assert about["settings"]["acquisition"] == "margin"
    assert about["protocol"]["batch"] == 6
    assert about["versions"]["torch"] == torch.__version__
    assert ActiveLearner.load(tmp_path / "run").settings == learner.settings


def test_a_learner_of_an_unpublished_version_is_refused_in_one_sentence(tmp_path: Path) -> None:
    learner = learner_of()
    file = learner.save(tmp_path / "run") / "run.json"
    about = json.loads(file.read_text())
    del about["format"]
    file.write_text(json.dumps(about))
    with pytest.raises(UserError, match="run was written by an unpublished version of hybridal; start a new run"):
        ActiveLearner.load(tmp_path / "run")


def test_a_callback_labels_round_after_round() -> None:
    known = toy_task()
    blank = replace(
        known,
        train=replace(known.train, labels=np.full(len(known.train), UNKNOWN)),
        validation=replace(known.validation, labels=np.full(len(known.validation), UNKNOWN)),
    )
    asked: list[str] = []

    def ask(texts: Mapping[str, str]) -> Mapping[str, str]:
        asked.extend(texts)
        return known.answers(texts)

    learner = ActiveLearner(blank, "tiny", "retrain", "quick", device="cpu", batch=20, candidates=40, max_epochs=1)
    records = learner.run(Callback(ask), rounds=2)
    assert [record.labels for record in records] == [20, 40]
    # The validation texts came first, and nothing was asked for twice.
    assert set(asked[:40]) == set(known.validation.ids)
    assert len(asked) == len(set(asked)) == 40 + 40
    assert learner.run(Callback(lambda _texts: {}), rounds=1) == []


# --- with the defaults ---------------------------------------------------------------------------------------------


def by_default(task: Task) -> ActiveLearner:
    small: dict[str, Any] = {
        "batch": 10,
        "candidates": 30,
        "max_length": 16,
        "min_steps": 4,
        "min_finetune_steps": 4,
        "max_epochs": 2,
        "probe_until": 15,
    }
    return ActiveLearner(task, backbone="tiny", device="cpu", **small)


def blank() -> Task:
    """Nothing is labelled, as where people start."""
    return replace(TASK, train=replace(TASK.train, labels=np.full(60, UNKNOWN)), validation=Split.empty())


def test_unlabelled_task_starts_with_a_probe_and_draws_validation(tmp_path: Path) -> None:
    learner = by_default(blank())
    measured: list[int] = []
    for _ in range(4):
        record = learner.teach(TASK.answers(learner.query().ids)).trained
        assert record is not None
        measured.append(record.validation.n if record.validation else 0)
        assert record.labels + measured[-1] == 10 * record.round
        learner.save(tmp_path / "run")
    assert measured == [1, 2, 3, 4]
    assert [record.cost.steps > 0 for record in learner.history] == [False, True, False, True]  # the head alone between
    again = ActiveLearner.load(tmp_path / "run")
    assert again.query().ids == learner.query().ids
    ours, theirs = (one.teach(TASK.answers(one.query().ids)).trained for one in (learner, again))
    assert ours is not None
    assert theirs is not None
    assert replace(ours, seconds={}) == replace(theirs, seconds={})
    assert again.predict_proba(["goal"]).tolist() == learner.predict_proba(["goal"]).tolist()


def test_validation_labels_that_are_there_are_used_and_cost_nothing() -> None:
    learner = by_default(replace(TASK, train=blank().train))
    record = learner.teach(TASK.answers(learner.query().ids)).trained
    assert record is not None
    assert record.validation is not None
    assert (record.labels, record.validation.n) == (10, 20)


def test_all_validation_labels_that_are_there_are_used() -> None:
    many = toy_task(train=20, validation=70, test=0)
    learner = by_default(hidden(many))
    record = learner.teach(many.answers(learner.query().ids)).trained
    assert record is not None
    assert record.validation is not None
    assert record.validation.n == 70  # more than a share would take


def test_an_update_between_a_query_and_its_labels_measures_on_those_there_are() -> None:
    learner = by_default(blank())
    learner.teach(TASK.answers(learner.query().ids))
    asked = learner.query(20).ids
    record = learner.update()
    assert record.validation is not None
    assert record.validation.n == 1
    after = learner.teach(TASK.answers(asked))  # what was asked for before is still welcome
    assert after is not None
    assert after.labels + (after.validation.n if after.validation else 0) == 30


def test_repeated_labels_trigger_no_update() -> None:
    learner = by_default(blank())
    answers = dict(TASK.answers(learner.query().ids))
    learner.teach(answers)
    learner.teach({**answers, **TASK.answers(learner.query().ids)})
    label_changes = learner.history[-1].label_changes
    assert label_changes is not None
    assert (label_changes.known, label_changes.added, label_changes.corrected) == (9, 9, 0)


def test_a_new_head_on_a_trained_encoder_gets_the_temperature_of_a_trained_model() -> None:
    small: dict[str, Any] = {"max_length": 16, "max_epochs": 1, "min_steps": 2, "probe_until": 9}
    learner = ActiveLearner(blank(), "tiny", device="cpu", validation="none", **small)
    for _ in range(3):
        learner.teach(TASK.answers(learner.query(8).ids))
    probe, trained, refitted = learner.history
    assert [record.cost.steps > 0 for record in learner.history] == [False, True, False]
    assert probe.temperature == pytest.approx(1.0, abs=1e-3)
    assert refitted.temperature is not None
    assert trained.temperature is not None
    assert refitted.temperature > trained.temperature > 1.1  # on the way to what trained models need


def test_first_draw_is_diverse_and_repeatable() -> None:
    learner = by_default(blank())
    first = learner.query(10).ids
    assert first == by_default(blank()).query(10).ids
    assert len({*TASK.answers(first).values()}) == 2


@pytest.mark.parametrize("given", [pd.DataFrame({"text": ["a"]}), ["a", "b"], None])
def test_wrong_type_of_task_is_named(given: Any) -> None:
    with pytest.raises(UserError, match=r"Expected a Task, got a (DataFrame|list|NoneType); use Task\.from_pandas or"):
        ActiveLearner(given, backbone="tiny", device="cpu")


def test_an_observer_without_its_methods_is_refused() -> None:
    with pytest.raises(UserError, match=r"^`observer` is <built-in function len>; give .* `hybridal.Observer`"):
        ActiveLearner(TASK, backbone="tiny", observer=len)  # type: ignore[arg-type]


def test_a_backbone_may_be_a_path(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no-model"):
        ActiveLearner(TASK, backbone=tmp_path / "no-model")


def test_single_signal_as_a_string_is_refused() -> None:
    with pytest.raises(UserError, match=r"`signals` is the text 'loss'; give a list, such as \['loss'\]"):
        learner_of(signals="loss")


def test_a_path_with_a_nul_character_is_refused() -> None:
    learner = learner_of()
    for write in (learner.save, learner.report, ActiveLearner.load):
        with pytest.raises(UserError, match=r"^The path 'a\\x00b' contains a NUL character; name another\.$"):
            write("a\0b")


def test_numbers_of_numpy_are_saved(tmp_path: Path) -> None:
    learner = learner_of(seed=np.int64(7), batch=np.int32(5), learning_rate=np.float32(0.5))
    again = ActiveLearner.load(learner.save(tmp_path / "run"))
    assert again.settings == learner.settings
    assert type(again.settings.seed) is int


def test_a_report_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "report.html", tmp_path / "file" / "deeper" / "report.html"):
        with pytest.raises(
            UserError, match=r"^The report .*report\.html cannot be written \(.+\); choose another path\.$"
        ):
            learner_of().report(place)


def test_a_finished_model_is_not_taken_for_a_learner(tmp_path: Path) -> None:
    (tmp_path / "hybridal.json").touch()
    with pytest.raises(UserError, match=r"is not a run folder: it is a finished model, for `TextClassifier\.load`\.$"):
        ActiveLearner.load(tmp_path)


def test_a_report_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is a folder; name a file in it, such as '.*report\.html'"):
        learner_of().report(tmp_path)


def test_advice_is_given_in_a_sentence() -> None:
    learner = by_default(blank())
    assert learner.advice().stop is False
    for _ in range(3):
        learner.teach(TASK.answers(learner.query().ids))
    left = len(TASK.train) - len(learner.labels) - len(learner.validation_labels)
    assert learner.advice() == advise(learner.history, 2, left)


@pytest.mark.parametrize("finish", [False, True])
def test_report_contains_the_advice(finish: bool, tmp_path: Path) -> None:
    learner = by_default(blank())
    for _ in range(3):
        learner.teach(TASK.answers(learner.query().ids))
    if finish:
        learner.finish()
    told = learner.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert learner.advice().sentence in told
    assert "All texts are labelled" not in told
    assert "ended by itself" not in told
    assert "not at its end" not in told, "a learner has no planned number of rounds"
    assert f"{len(learner.history)} rounds, {len(learner.labels)} labels." in told
