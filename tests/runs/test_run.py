"""A run through the library; the command line's tests kill it at many instants."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybridal.annotators.labels_file import LabelsFile
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rounds import Round
from hybridal.errors import RunError, UserError
from hybridal.reports.run_report import write_report
from hybridal.runs import checkpoint, run
from hybridal.runs.assemble import find_task
from hybridal.runs.checks import check, check_start
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.signals import SIGNALS
from hybridal.tasks import Task
from hybridal.tasks.label_cells import CellReader
from hybridal.testing import FakeModel
from hybridal.testing.small import toy_task

OVERRIDES = {"rounds": 3, "initial": 12, "batch": 4, "candidates": 40, "max_epochs": 2, "learning_rate": 1e-3}


class Listener(Observer):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def round_started(self, round: int, of: int | None, update: str) -> None:
        self.heard.append(("started", round, of, update))

    def epoch_done(self, epoch: int, of: int) -> None:
        self.heard.append(("epoch", epoch, of))

    def round_done(self, history: Sequence[Round]) -> None:
        self.heard.append(("done", [round_record.round for round_record in history]))


class Notes:
    """A tracker that writes into a folder, if it is there."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        self.file = self.folder / id
        self.write(f"{name} {about['task']['name']}")

    def record(self, round_record: Round) -> None:
        self.write(f" {round_record.round}")

    def write(self, text: str) -> None:
        with self.file.open("a") as file:
            file.write(text)


def rows_of(task: Task, labelled: bool = True) -> list[list[str]]:
    labels = [task.classes[label] if labelled else "" for label in task.train.labels]
    return [list(row) for row in zip(task.train.ids, task.train.texts, labels, strict=True)]


def written(path: Path, rows: Sequence[Sequence[str]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text", "label"], *rows])
    return str(path)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        task=written(tmp_path / "texts.csv", rows_of(toy_task())),
        label="label",
        id="id",
        backbone="tiny",
        protocol="quick",
        overrides=OVERRIDES,
        schedule="hybrid:accuracy:0.9:1",
        acquisition="entropy",
        device="cpu",
    )


def no_seconds(history: Sequence[Round]) -> list[Round]:
    return [replace(round_record, seconds={}) for round_record in history]


class TestBegin:
    def test_begin_records_the_settings(self, settings: Settings, tmp_path: Path) -> None:
        folder = run.begin(settings, tmp_path / "deep" / "run")
        about = folder.about()
        assert folder.settings() == settings
        assert about["protocol"]["rounds"] == 3
        assert about["task"]["fingerprint"] == folder.task().fingerprint
        assert {"created", "versions", "hardware"} <= about.keys()
        assert folder.history() == []
        assert not folder.checkpoint.exists()

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"schedule": "sometimes"}, "There is no schedule named 'sometimes'"),
            ({"acquisition": "entropie"}, "did you mean 'entropy'?"),
            ({"acquisition": ""}, "There is no acquisition named ''"),
            ({"signals": ("accuracie",)}, "did you mean 'accuracy'?"),
            ({"protocol": "slow"}, "There is no protocol named 'slow'"),
            ({"overrides": {"round": 3}}, "`round` is not a field of a protocol"),
            ({"overrides": {**OVERRIDES, "rounds": "three"}}, "`rounds` must be a whole number, not 'three'"),
            ({"overrides": {**OVERRIDES, "max_length": 4096}}, "`max_length` is 4096, but backbone 'tiny' reads 512"),
            ({"overrides": {**OVERRIDES, "initial": 500}}, "too few for an initial pool of 500"),
            ({"tracker": "mlfow"}, "did you mean 'mlflow'?"),
            ({"device": "abacus"}, "`device` 'abacus' is not a device"),
            ({"backbone": "no/such-encoder"}, "Backbone 'no/such-encoder' is not on this machine, and"),
            ({"label": "topic"}, "there is no column 'topic'; its columns are id, text, label"),
        ],
    )
    def test_invalid_settings_leave_no_folder(
        self, changes: dict[str, object], sentence: str, settings: Settings, tmp_path: Path
    ) -> None:
        with pytest.raises(UserError) as caught:
            run.begin(settings.with_changes({"overrides": {}, **changes}), tmp_path / "run")
        assert sentence in str(caught.value)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("changes", [{"schedule": "hybrid:loss"}, {"schedule": "retrain", "signals": ("f1",)}])
    def test_validation_signals_need_validation_texts(
        self, changes: dict[str, object], settings: Settings, tmp_path: Path
    ) -> None:
        with pytest.raises(UserError, match=r"is measured on validation texts, and task 'texts' has none with labels;"):
            run.begin(settings.with_changes({"validation_size": 0, **changes}), tmp_path / "run")
        assert not (tmp_path / "run").exists()
        blind = settings.with_changes({"validation_size": 0, "schedule": "hybrid:alpha"})
        assert run.begin(blind, tmp_path / "run").settings() == blind

    def test_signals_on_fixed_texts_need_fixed_validation(self, settings: Settings, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="The signal 'cka' compares the same validation texts in all rounds"):
            run.begin(
                settings.with_changes({"overrides": {"validation": "share"}, "signals": ("cka",)}), tmp_path / "run"
            )
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("name", SIGNALS.names())
    def test_which_signals_are_measured_on_validation(self, name: str) -> None:
        class Blind(FakeModel):
            def gradient_norm(self) -> float:
                raise AttributeError("it is that of validation")

        model = Blind.random(seed=1)
        del model.validation, model.validation_labels
        try:
            SIGNALS.make(name).snapshot(model)
        except AttributeError:
            assert SIGNALS.make(name).needs_validation
        else:
            assert not SIGNALS.make(name).needs_validation

    def test_a_run_is_not_written_over(self, settings: Settings, tmp_path: Path) -> None:
        run.begin(settings, tmp_path / "run")
        with pytest.raises(UserError, match=r"holds a run already; go on with `hybridal resume"):
            run.begin(settings, tmp_path / "run")

    def test_texts_without_labels_need_a_labels_file(self, settings: Settings, tmp_path: Path) -> None:
        rows = rows_of(toy_task())
        for row in rows[:3]:
            row[2] = ""
        written(tmp_path / "texts.csv", rows)
        with pytest.raises(UserError, match=r"^3 of the \d+ texts of task 'texts' have no label; give `labels` a file"):
            run.begin(settings, tmp_path / "run")
        several = replace(settings, multi_label=True)
        for schedules, told in (((), "have no label; write"), (("retrain", "refit"), "have none; write")):
            with pytest.raises(UserError, match=rf"^.*{told} \[\] where a text has none of the classes, or "):
                check_start(several, tmp_path / "run", Observer(), schedules)


class TestCarryOn:
    def test_resume_reports_to_the_observer(self, settings: Settings, tmp_path: Path) -> None:
        listener = Listener()
        history = run.resume_run(run.begin(settings, tmp_path / "run"), listener)
        assert [round_record.update_sequence for round_record in history] == ["R", "RR", "RRF"]
        epochs = [("epoch", 1, 2), ("epoch", 2, 2)]
        assert listener.heard == [
            ("started", 1, 3, "retrain"),
            *epochs,
            ("done", [1]),
            ("started", 2, 3, "retrain"),
            *epochs,
            ("done", [1, 2]),
            ("started", 3, 3, "finetune"),
            *epochs,
            ("done", [1, 2, 3]),
        ]

    def test_finished_run_has_records_checkpoint_and_model(self, settings: Settings, tmp_path: Path) -> None:
        from hybridal.learners.text_classifier import TextClassifier

        folder = run.begin(settings, tmp_path / "run")
        history = run.resume_run(folder)
        assert folder.history() == history
        saved = checkpoint.load(folder.checkpoint)
        assert saved is not None
        assert (saved[0].update_sequence, saved[1]) == ("RRF", history[-1])
        assert [path.name for path in folder.checkpoint.iterdir()] == ["round-00003.safetensors"]
        assert TextClassifier.load(folder.model, "cpu").classes == folder.task().classes

    def test_the_same_settings_give_the_same_facts_and_another_seed_gives_others(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        first, second, other = (
            run.resume_run(run.begin(replace(settings, seed=seed), tmp_path / str(number)))
            for number, seed in enumerate((42, 42, 43))
        )
        assert no_seconds(first) == no_seconds(second)
        assert no_seconds(first) != no_seconds(other)

    def test_an_observer_that_fails_costs_no_recorded_round(self, settings: Settings, tmp_path: Path) -> None:
        class Failing(Observer):
            def round_done(self, history: Sequence[Round]) -> None:
                if len(history) == 2:
                    raise KeyboardInterrupt

        unbroken = run.resume_run(run.begin(settings, tmp_path / "unbroken"))
        folder = run.begin(settings, tmp_path / "run")
        with pytest.raises(KeyboardInterrupt):
            run.resume_run(folder, Failing())
        assert [round_record.round for round_record in folder.history()] == [1, 2]
        assert no_seconds(run.resume_run(folder)) == no_seconds(unbroken)

    def test_failed_tracker_gets_all_rounds_when_the_run_resumes(self, settings: Settings, tmp_path: Path) -> None:
        messages: list[str] = []

        class Listens(Observer):
            def message(self, text: str) -> None:
                messages.append(text)

        folder = run.begin(replace(settings, tracker=f"{__name__}.Notes:{tmp_path / 'notes'}"), tmp_path / "run")
        assert len(run.resume_run(folder, Listens())) == 3
        assert len(messages) == 1
        assert messages[0].startswith("The tracker failed ([Errno 2] No such file or directory: ")
        (tmp_path / "notes").mkdir()
        for _ in range(2):
            assert len(run.resume_run(folder)) == 3
        (notes,) = (tmp_path / "notes").iterdir()
        assert notes.read_text() == "run texts 1 2 3" * 2

    def test_leftovers_of_killed_exports_are_cleared_away(self, settings: Settings, tmp_path: Path) -> None:
        folder = run.begin(settings, tmp_path / "run")
        (folder.path / ".model.left").mkdir()
        (folder.path / ".model.left" / "model.safetensors").write_bytes(b"half")
        run.resume_run(folder)
        assert not list(folder.path.glob(".model.*"))

    def test_recomputing_writes_the_model_again(self, settings: Settings, tmp_path: Path) -> None:
        folder = run.begin(settings, tmp_path / "run")
        history = run.resume_run(folder)
        weights = folder.model / "model.safetensors"
        before = weights.read_bytes()
        weights.write_bytes(b"spoilt")
        assert run.resume_run(folder) == history
        assert weights.read_bytes() == b"spoilt", "a finished run is left as it is"
        assert run.resume_run(folder, recompute=True) == history
        assert weights.read_bytes() == before


class TestByHand:
    """In practice a person fills in the file; here the pause does."""

    def test_labels_are_asked_for_as_they_are_needed(
        self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = toy_task()
        answers = task.answers(task.train.ids)
        settings = replace(
            settings,
            task=written(tmp_path / "texts.csv", rows_of(task, labelled=False)),
            classes=task.classes,
            validation_size=10,
            labels=str(tmp_path / "mine.csv"),
        )
        folder = run.begin(settings, tmp_path / "run")
        requests: list[list[str]] = []

        def pause(_seconds: float) -> None:
            with (folder.path / "to_label.csv").open(newline="") as file:
                requests.append([row["id"] for row in csv.DictReader(file) if not row["label"]])
            known = {id: answers[id] for request in requests for id in request}
            (tmp_path / "mine.csv").write_text("id,label\n" + "".join(f"{id},{label}\n" for id, label in known.items()))

        monkeypatch.setattr("hybridal.annotators.labels_file.time", SimpleNamespace(sleep=pause))
        history = run.resume_run(folder)
        assert [len(request) for request in requests] == [10, 12, 4, 4]
        assert set(requests[0]) == set(folder.task().validation.ids)
        assert [tuple(request) for request in requests[2:]] == [round_record.acquired for round_record in history[:2]]
        assert [round_record.labels for round_record in history] == [12, 16, 20]
        assert history[-1].validation is not None
        assert history[-1].validation.n == 10
        saved = checkpoint.load(folder.checkpoint)
        assert saved is not None
        pool = saved[0].pool
        given = {folder.task().train.ids[row]: task.classes[pool.labels[row]] for row in pool.order}
        assert given == {id: answers[id] for request in requests[1:] for id in request}

    def test_the_labels_are_found_from_any_folder(
        self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        task = toy_task()
        answers = "".join(f"{id},{label}\n" for id, label in task.answers(task.train.ids).items())
        (tmp_path / "mine.csv").write_text(f"id,label\n{answers}")
        texts = written(tmp_path / "texts.csv", rows_of(task, labelled=False))
        asked = replace(settings, task=texts, classes=task.classes, validation_size=10, labels="mine.csv")
        monkeypatch.chdir(tmp_path)
        folder = run.begin(asked, tmp_path / "run")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        monkeypatch.setattr("hybridal.annotators.labels_file.time", SimpleNamespace())  # a wait would fail
        assert len(run.resume_run(folder)) == 3

    def test_validation_labels_come_from_the_file(self, tmp_path: Path) -> None:
        task = toy_task(validation=4)
        labels = task.validation.labels.copy()
        labels[[0, 2]] = UNKNOWN
        partly = replace(task, validation=replace(task.validation, labels=labels))
        known = task.answers(task.validation.ids)
        (tmp_path / "mine.csv").write_text("id,label\n" + "".join(f"{id},{name}\n" for id, name in known.items()))
        annotator = LabelsFile(tmp_path / "mine.csv", tmp_path / "to_label.csv", CellReader(task.classes))
        kept = tmp_path / "validation.json"
        found = run.with_validation(partly, annotator, kept)
        assert np.array_equal(found.validation.labels, task.validation.labels)
        assert partly.validation.labels.tolist().count(UNKNOWN) == 2, "the task itself is a value"
        others = {id: task.classes[1 - task.classes.index(name)] for id, name in known.items()}
        (tmp_path / "mine.csv").write_text("id,label\n" + "".join(f"{id},{name}\n" for id, name in others.items()))
        again = run.with_validation(partly, annotator, kept)
        assert np.array_equal(again.validation.labels, task.validation.labels), "it is measured as before"
        kept.write_text(kept.read_text()[:10])
        damaged = run.with_validation(partly, annotator, kept)
        assert not np.array_equal(damaged.validation.labels, task.validation.labels), "it asks again"


class TestRestore:
    def test_restore_before_the_first_round_is_none(self, settings: Settings, tmp_path: Path) -> None:
        assert run.restore(run.begin(settings, tmp_path / "run")) == (None, [])

    def test_a_round_between_checkpoint_and_record_is_recorded(
        self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = run.begin(settings, tmp_path / "run")

        def cut(_folder: RunFolder, round_record: Round) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "append", cut)
            with pytest.raises(KeyboardInterrupt):
                run.resume_run(folder)
        assert folder.history() == []
        assert run.restore(folder, recompute=True) == (None, [])
        state, history = run.restore(folder)
        assert state is not None
        assert state.round == 1
        assert [round_record.update_sequence for round_record in history] == ["R"]
        assert folder.history() == history
        again, same = run.restore(folder)
        assert again is not None
        assert same == history, "it was recorded twice"

    @pytest.mark.parametrize("order", [(1, 3), (2, 1, 3), (1, 2, 2)])
    def test_rounds_that_are_missing_or_out_of_order_are_not_gone_on_from(
        self, settings: Settings, tmp_path: Path, order: tuple[int, ...]
    ) -> None:
        folder = run.begin(settings.with_changes({"overrides": {"rounds": 3}}), tmp_path / "run")
        history = run.resume_run(folder)
        folder.rounds.path.unlink()
        for number in order:
            folder.append(history[number - 1])
        before = folder.rounds.path.read_bytes()
        with pytest.raises(RunError, match=r"Line \d of .*rounds\.jsonl is of round \d: lines are missing or out of "):
            run.resume_run(folder)
        assert folder.rounds.path.read_bytes() == before


def test_recomputed_rounds_may_differ_only_in_seconds(settings: Settings, tmp_path: Path) -> None:
    round_record = run.resume_run(run.begin(settings.with_changes({"overrides": {"rounds": 1}}), tmp_path / "run"))[0]
    run.require_equal_records(round_record, replace(round_record, seconds={"train": 1e9}))
    with pytest.raises(RunError, match=r"^Round 1 differs from its record: "):
        run.require_equal_records(round_record, replace(round_record, kept_epoch=round_record.kept_epoch + 1))


class TestBest:
    """The default settings, made small."""

    @pytest.fixture
    def best(self, settings: Settings) -> Settings:
        rules = {"rounds": 6, "initial": 12, "batch": 8, "candidates": 40, "max_epochs": 2}
        steps = {"min_steps": 6, "min_finetune_steps": 10}
        overrides = {**rules, **steps, "learning_rate": 1e-3, "probe_until": 15, "validation_share": 0.25}
        return Settings(settings.task, label="label", id="id", backbone="tiny", device="cpu", overrides=overrides)

    def test_auto_starts_with_a_probe_then_trains_then_replays(self, best: Settings, tmp_path: Path) -> None:
        history = run.resume_run(run.begin(best, tmp_path / "run"))
        assert [round_record.update for round_record in history[:2]] == ["retrain", "retrain"]
        assert [round_record.cost.steps > 0 for round_record in history] == [
            False,
            *(round_record.update != "refit" for round_record in history[1:]),
        ]
        assert "refit" in [round_record.update for round_record in history]
        assert history[0].reason == "the encoder is untrained"
        assert all((round_record.update == "refit") is not bool(round_record.reason) for round_record in history)
        assert (history[-1].update, history[-1].reason) == ("finetune:3", "the last round")
        assert [
            round_record.label_changes is not None and round_record.label_changes.last for round_record in history
        ] == [False] * 5 + [True]
        assert {*history[-1].changes} == {"agreement", "drift"}

    def test_each_round_announces_the_update_that_it_performs(self, best: Settings, tmp_path: Path) -> None:
        listener = Listener()
        history = run.resume_run(run.begin(best, tmp_path / "run"), listener)
        announced = [heard[1:] for heard in listener.heard if isinstance(heard, tuple) and heard[0] == "started"]
        assert announced == [(round_record.round, 6, round_record.update) for round_record in history]

    def test_enough_labels_end_with_a_round_over_all_of_them(
        self, best: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "advise", lambda history, *_: SimpleNamespace(stop=len(history) == 3))
        folder = run.begin(replace(best, stop="auto"), tmp_path / "run")
        history = run.resume_run(folder)
        assert history[3].update == "finetune:3"
        assert history[3].labels == history[2].labels  # no new labels were asked for
        # And the names of both classes; two steps an epoch, of which there are to be ten.
        assert (history[3].cost.examples, history[3].cost.steps) == (5 * (history[3].labels + 2), 10)
        assert run.resume_run(folder) == history
        again = run.resume_run(run.begin(replace(best, stop="auto"), tmp_path / "again"))
        assert no_seconds(again) == no_seconds(history)

    @pytest.mark.parametrize(("asked", "recorded", "sign"), [(None, "margin", -1), ("entropy", "entropy", 1)])
    def test_default_acquisition_is_margin_unless_recorded_otherwise(
        self, best: Settings, tmp_path: Path, asked: str | None, recorded: str, sign: int
    ) -> None:
        few = best.with_changes({"acquisition": asked, "overrides": {"rounds": 3}})
        folder = run.begin(few, tmp_path / "run")
        assert folder.about()["settings"]["acquisition"] == recorded
        history = run.resume_run(RunFolder.open(folder.path))
        # An entropy is positive, and a margin scored below zero.
        assert {np.sign(score) for round_record in history for score in round_record.scores} == {sign}

    def test_a_share_of_all_labels_is_measured_on_and_counted(self, best: Settings, tmp_path: Path) -> None:
        folder = run.begin(best, tmp_path / "run")
        history = run.resume_run(folder)
        assert len(folder.task().validation) == 0
        for round_record in history:
            assert round_record.validation is not None
            assert round_record.cross is None
            total = 12 + 8 * (round_record.round - 1)
            assert round_record.labels + round_record.validation.n == total
            assert round_record.validation.n == total // 4
        asked = [id for round_record in history for id in (*round_record.held, *round_record.acquired)]
        assert len(set(asked)) == len(asked)

    def test_run_killed_anywhere_resumes_to_the_same_records(self, best: Settings, tmp_path: Path) -> None:
        class Killed(Observer):
            def __init__(self, after: int) -> None:
                self.after = after

            def round_done(self, history: Sequence[Round]) -> None:
                if len(history) == self.after:
                    raise KeyboardInterrupt

        whole = run.resume_run(run.begin(best, tmp_path / "whole"))
        folder = run.begin(best, tmp_path / "run")
        for after in (1, 2, 4):
            with pytest.raises(KeyboardInterrupt):
                run.resume_run(RunFolder.open(folder.path), Killed(after))
        assert no_seconds(run.resume_run(RunFolder.open(folder.path))) == no_seconds(whole)

    def test_recomputed_rounds_equal_the_records(self, best: Settings, tmp_path: Path) -> None:
        folder = run.begin(best, tmp_path / "run")
        history = run.resume_run(folder)
        assert no_seconds(run.resume_run(folder, recompute=True)) == no_seconds(history)

    def test_without_validation_cross_fitted_probes_are_measured(self, best: Settings, tmp_path: Path) -> None:
        none = best.with_changes({"overrides": {"validation": "none", "rounds": 3}})
        history = run.resume_run(run.begin(none, tmp_path / "run"))
        assert [round_record.validation for round_record in history] == [None] * 3
        assert [round_record.cross.n if round_record.cross else 0 for round_record in history] == [12, 20, 28]
        assert [round_record.labels for round_record in history] == [12, 20, 28]
        # By experience alone: about 1 for a probe, and more for what was trained.
        first, *others = [round_record.temperature or 0.0 for round_record in history]
        assert first == pytest.approx(1.0, abs=1e-3)
        assert all(1.1 < other < 1.5 for other in others)

    def test_a_class_that_appears_late_is_seen_from_its_round_on(self, best: Settings, tmp_path: Path) -> None:
        late = best.with_changes({"overrides": {"late_class": 4, "probe_until": 0, "validation": "none"}})
        folder = run.begin(late, tmp_path / "run")
        history = run.resume_run(folder)
        state = checkpoint.load(folder.checkpoint)
        assert state is not None
        labels = state[0].pool.labels[state[0].pool.order]
        assert (labels[: 12 + 2 * 8] == 0).all()
        assert (labels[12 + 2 * 8 :] == 1).any()
        changes = [
            (round_record.round, round_record.label_changes) for round_record in history if round_record.label_changes
        ]
        assert next(round for round, change in changes if change.new_class_count and round > 1) == 4
        assert any(round_record.reason == "1 new class" for round_record in history)

    def test_class_of_a_dozen_texts_can_be_learnt(self, tmp_path: Path) -> None:
        rows = [[f"{c}-{i}", f"word{c} and text {i}", f"class {c}"] for c in range(30) for i in range(12)]
        asked = Settings(written(tmp_path / "many.csv", rows), label="label", id="id", backbone="tiny", device="cpu")
        check(asked, find_task(asked))


@pytest.mark.parametrize(("schedule", "labels"), [("retrain", [12, 16, 19]), ("auto", [12, 16, 19, 19])])
def test_a_run_ends_when_no_text_is_left(schedule: str, labels: list[int], settings: Settings, tmp_path: Path) -> None:
    """Of 24 texts 5 are set aside. `auto` goes over all labels once more."""
    few = replace(settings, task=written(tmp_path / "few.csv", rows_of(toy_task())[:24]), schedule=schedule)
    few = replace(few, overrides={**OVERRIDES, "rounds": 50, "validation": "none"})
    folder = run.begin(few, tmp_path / "run")
    history = run.resume_run(folder)
    assert [round_record.labels for round_record in history] == labels
    assert (history[-1].reason == "the last round") == (schedule == "auto")
    assert (history[-1].test is None) == (not len(folder.task().test))
    assert folder.model.is_dir()
    assert run.resume_run(folder) == history
    report = write_report(folder).read_text()
    assert f"The run ended by itself after {len(history)} of 50 rounds" in report
    assert "All texts are labelled." in report


def test_a_run_may_end_when_more_labels_would_hardly_help(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "advise", lambda history, *_: SimpleNamespace(stop=len(history) == 2))
    folder = run.begin(replace(settings, stop="auto"), tmp_path / "run")
    history = run.resume_run(folder)
    assert [round_record.round for round_record in history] == [1, 2]
    assert history[-1].test is not None
    assert folder.model.is_dir()
    assert run.resume_run(folder) == history  # it is finished, and left as it is
    going_on = run.resume_run(run.begin(settings, tmp_path / "other"))
    assert len(going_on) == 3


def test_a_run_loads_its_task_and_backbone_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run.begin(settings, tmp_path / "run")
    for reader in ("hybridal.runs.record.load_saved", "hybridal.runs.assemble.load_backbone"):
        monkeypatch.setattr(reader, lambda *_: pytest.fail("loaded twice"))
    history = run.resume_run(folder)
    monkeypatch.undo()
    again = RunFolder.open(folder.path)
    assert repr(again.task()) == repr(folder.task())
    assert no_seconds(run.resume_run(again, recompute=True)) == no_seconds(history)
