from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hybridal import __version__
from hybridal.acquisition.margin import Margin
from hybridal.annotators.callback import Callback
from hybridal.annotators.oracle import Oracle
from hybridal.backbones import hub_models
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.models import device
from hybridal.runs import assemble
from hybridal.runs.assemble import build_experiment, build_model, build_team, find_task, surroundings, watched
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.signals.accuracy import Accuracy
from hybridal.signals.cka import Cka
from hybridal.signals.loss import Loss
from hybridal.testing.small import toy_task

TASK = toy_task(train=30, validation=10, test=10)
SETTINGS = Settings("toy", backbone="tiny", protocol="paper", device="cpu", overrides={"max_length": 16})


# --- the task ------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    def load_task(name: str, **options: Any) -> Any:
        calls.append({"name": name, **options})
        return TASK

    monkeypatch.setattr(assemble, "load_task", load_task)
    return calls


def test_every_setting_of_a_task_is_passed_on(asked: list[dict[str, Any]]) -> None:
    messages: list[str] = []
    options: dict[str, Any] = {
        "text": "body",
        "label": "kind",
        "id": "number",
        "validation": "v.csv",
        "test": "t.csv",
        "classes": ("a", "b"),
        "max_words": 7,
        "drop_empty": True,
        "drop_duplicates": True,
        "multi_label": True,
        "label_separator": ";",
        "descriptions": "classes.json",
    }
    notify = messages.append
    assert find_task(Settings("mail.csv", seed=5, **options), notify) is TASK
    expected = {**options, "name": "mail.csv", "validation_size": None, "test_size": None, "split_seed": 42}
    assert asked == [{**expected, "notify": notify}]


@pytest.mark.parametrize(
    ("size", "passed"), [(None, None), (0.25, 0.25), (1.0, 1), (120.0, 120), (0.0, 0.0), (1.5, 1.5)]
)
def test_sizes_are_counts_from_one_on_and_shares_below(
    asked: list[dict[str, Any]], size: float | None, passed: Any
) -> None:
    find_task(Settings("x", validation_size=size, test_size=size))
    for name in ("validation_size", "test_size"):
        assert asked[0][name] == passed
        assert type(asked[0][name]) is type(passed)


def test_the_published_splits_follow_the_seed_of_the_run(asked: list[dict[str, Any]]) -> None:
    for name, overrides in (("paper", {}), ("reference", {}), ("reference", {"split_seed": 3})):
        find_task(Settings("x", protocol=name, seed=11, overrides=overrides))
    assert [call["split_seed"] for call in asked] == [42, 11, 3]


def test_a_real_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    path.write_text("body,kind\n" + "".join(f"text {row},{'ham' if row % 2 else 'spam'}\n" for row in range(40)))
    task = find_task(Settings(str(path), text="body", label="kind", validation_size=8, test_size=0.25))
    assert task.classes == ("ham", "spam")
    assert (len(task.validation), len(task.test), len(task.train)) == (8, 10, 22)


# --- signals -------------------------------------------------------------------------------------------------------


def test_each_requested_signal_is_built_once() -> None:
    settings = replace(SETTINGS, signals=("cka", "accuracy", "cka"))
    schedules = [make_schedule(spec) for spec in ("hybrid:loss", "hybrid:accuracy:0.1:3", "retrain")]
    assert watched(settings, *schedules) == (Cka(), Accuracy(), Loss())
    assert watched(SETTINGS, make_schedule("retrain")) == ()
    assert watched(SETTINGS) == ()
    with pytest.raises(UserError, match="did you mean 'accuracy'"):
        watched(replace(SETTINGS, signals=("acuracy",)))


# --- model and experiment ---


def test_features_are_kept_only_for_signals_that_need_them() -> None:
    assert not build_model(SETTINGS, TASK, (Accuracy(), Loss())).keeps_features
    assert build_model(SETTINGS, TASK, (Accuracy(), Cka())).keeps_features


def test_model_follows_the_settings() -> None:
    observer = Observer()
    settings = replace(SETTINGS, seed=8)
    model = build_model(settings, TASK, (), observer)
    assert (model.seed, model.rules, model.encoder.max_length) == (8, settings.rules, 16)
    assert model.classifier.device.kind == "cpu"
    assert model.observer is observer
    other = build_model(replace(settings, seed=9), TASK, ())
    assert not torch.equal(model.pretrained["classifier.weight"], other.pretrained["classifier.weight"])


def test_slow_steps_are_announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def folder(hub_id: str, revision: str | None, notify: Any) -> Path:
        notify(f"fetching {hub_id}")
        raise UserError("no hub here")

    messages: list[str] = []
    observer = Observer()
    monkeypatch.setattr(observer, "message", messages.append)
    monkeypatch.setattr(hub_models, "folder", folder)
    with pytest.raises(UserError, match="no hub here"):
        build_model(replace(SETTINGS, backbone="bert"), TASK, (), observer)
    assert messages == ["fetching google-bert/bert-base-uncased"]


def test_a_length_that_the_backbone_cannot_read() -> None:
    with pytest.raises(UserError, match="`max_length` is 513, but backbone 'tiny' reads 512 tokens at most"):
        build_model(replace(SETTINGS, overrides={"max_length": 513}), TASK, ())


def test_experiment_has_the_requested_components() -> None:
    settings = replace(SETTINGS, acquisition="margin", seed=4, test_every_round=True)
    model = build_model(settings, TASK, ())
    experiment = build_experiment(settings, TASK, model, (Loss(),))
    assert (experiment.task, experiment.model, experiment.rules, experiment.seed) == (TASK, model, settings.rules, 4)
    assert (experiment.acquisition, experiment.signals, experiment.tests_every_round) == (Margin(), (Loss(),), True)


def test_annotator_is_called_only_for_unlabelled_texts() -> None:
    labels = np.where(np.arange(30) < 3, TASK.train.labels, UNKNOWN)
    task = replace(TASK, train=replace(TASK.train, labels=labels))
    questions: list[list[str]] = []

    def answer(texts: Mapping[str, str]) -> dict[str, str]:
        questions.append(list(texts))
        return dict.fromkeys(texts, "food")

    texts = dict.fromkeys(TASK.train.ids[:5], "")
    people = build_team(SETTINGS, task, Callback(answer))
    assert isinstance(people, Oracle)
    answers = people.label(texts)
    assert questions == [list(TASK.train.ids[3:5])]
    assert answers == {**TASK.answers(TASK.train.ids[:3]), TASK.train.ids[3]: "food", TASK.train.ids[4]: "food"}


def test_versions_and_hardware_are_recorded() -> None:
    found = surroundings("cpu", protocol("best"))
    assert found["versions"]["hybridal"] == __version__
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["python"] == platform.python_version()
    assert found["hardware"]["device"] == "cpu"


def test_the_precision_of_a_processor_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "multiplies_bfloat16", lambda: True)
    rules = {name: protocol("best", {"precision": name}) for name in ("auto", "fp32")}
    found = {name: surroundings("cpu", asked)["hardware"]["device"] for name, asked in rules.items()}
    assert found == {"auto": "cpu in bf16", "fp32": "cpu"}
