"""The hub's own client pushes to a stand-in of the hub on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import numpy as np
import pytest
from datasets import load_dataset
from huggingface_hub import ModelCard

from hybridal.core.pool import Pool
from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.errors import UserError
from hybridal.runs.cards import model_card
from hybridal.runs.hub_push import push_labels, push_model
from hybridal.runs.settings import Settings
from hybridal.tasks.task import Task
from hybridal.testing.small import multi_label_task, toy_task

from ..helpers.stand_in_hub import StandInHub, stand_in_hub

TASK = toy_task()
SETTINGS = Settings("toy", backbone="tiny", seed=9)
GOOD = Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05, support=(20, 20))
FACT = Round(
    3, "finetune", "RRF", 77, Cost(), 1, 1.25, GOOD, replace(GOOD, n=30, right=27, f1=0.7512345, support=(20, 10)), {}
)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    with stand_in_hub(tmp_path / "hub", monkeypatch) as served:
        yield served


def write_model(folder: Path) -> None:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(bytes(range(256)))
    (folder / "README.md").write_text(model_card(TASK, SETTINGS, FACT, plain=True), encoding="utf-8")


def test_a_model_is_there_with_a_card_that_the_hub_can_read(hub: StandInHub) -> None:
    assert push_model(write_model, "toy", private=True, token=None) == f"{hub.address}/me/toy"
    assert hub.asked["me/toy"]["visibility"] == "private"
    assert (hub.files("me/toy") / "model.safetensors").read_bytes() == bytes(range(256))
    card = ModelCard.load(hub.files("me/toy") / "README.md")
    assert 'model="me/toy"' in card.text
    found = {(one.dataset_split, one.metric_name): one.metric_value for one in card.data.eval_results}
    assert found == {("test", "accuracy"): 0.9, ("test", "macro-F1"): 0.7512}
    assert "| test | 30 | 0.900 (0.744 to 0.965) | 0.751 (0." in card.text


def test_a_card_publishes_no_figure_that_cannot_be_known() -> None:
    few = Metrics(24, 18, 0.75, 0.73, 0.8, 0.2, 0.4, 0.7, 0.1, support=(1,) * 24 + (0,) * 40)
    card = ModelCard(model_card(TASK, SETTINGS, replace(FACT, validation=few, test=None), plain=True))
    assert card.data.eval_results is None
    assert "| validation | 24 | 0.750 (0.551 to 0.880) | too few labels to tell | 0.800 | 0.700 | – | – |" in card.text
    card = ModelCard(model_card(TASK, SETTINGS, replace(FACT, test=few), plain=True))
    assert [one.metric_name for one in card.data.eval_results] == ["accuracy"]


def test_a_card_says_that_a_model_only_guesses() -> None:
    guess = Metrics(40, 20, 0.5, 0.333, 0.7, 0.1, 0.5, 0.7, 0.1, support=(20, 20))
    card = model_card(TASK, SETTINGS, replace(FACT, test=guess), plain=True)
    assert "The model is no better than guessing: it is right on 20 of 40 test texts" in card


def test_second_push_updates_the_same_repository(hub: StandInHub) -> None:
    for _ in range(2):
        address = push_model(write_model, "org/toy", private=False, token=None)
        assert address == f"{hub.address}/org/toy"
    assert hub.asked["org/toy"]["visibility"] == "public"


def test_a_label_set_is_a_dataset_and_a_task_again(hub: StandInHub, tmp_path: Path) -> None:
    pool = Pool.unlabelled(len(TASK.train)).choose(np.array([7, 2, 5]), held=np.array([1])).reveal({7: 1, 2: 0, 1: 1})
    address = push_labels(TASK, pool, SETTINGS, [FACT], "me/labels", private=True, token=None)
    assert address == f"{hub.address}/datasets/me/labels"
    folder = hub.files("me/labels")
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert loaded["train"]["id"] == [TASK.train.ids[7], TASK.train.ids[2]]
    again = Task.from_dataset(loaded, test_size=0, id="id")
    assert set(again.classes) == {"food", "sport"}
    assert list(again.train.texts) == [TASK.train.texts[7], TASK.train.texts[2]]
    assert again.validation.ids[0] == TASK.train.ids[1]
    card = (folder / "README.md").read_text(encoding="utf-8")
    measured = 1 + len(TASK.validation)
    assert f"{2 + measured} texts with labels" in card
    assert 'load_dataset("me/labels")' in card
    assert "| validation | 40 | 0.900 (0.769 to 0.960) | 0.850 (0.707 to 0.930) |" in card
    assert "| class | train | validation |\n|---|---|---|\n| sport | 1 | " in card


def test_sets_of_labels_are_a_dataset_and_a_task_again(hub: StandInHub, tmp_path: Path) -> None:
    task = multi_label_task()
    rows = [*range(40)]
    pool = Pool.unlabelled(len(task.train), task.label_sets).reveal({row: int(task.train.labels[row]) for row in rows})
    push_labels(task, pool, SETTINGS, [], "me/sets", private=True, token=None)
    loaded = load_dataset(str(hub.files("me/sets")), cache_dir=str(tmp_path / "cache"))
    again = Task.from_dataset(loaded, test_size=0, id="id")
    assert again.multi_label
    for part in ("train", "validation"):
        split = getattr(again, part)
        assert again.answers(split.ids) == task.answers(split.ids)
    card = (hub.files("me/sets") / "README.md").read_text(encoding="utf-8")
    counts = task.class_counts(task.train.labels[rows]), task.class_counts(task.validation.labels)
    assert f"| sport | {counts[0][0]} | {counts[1][0]} |" in card


def test_without_labels_nothing_is_pushed(hub: StandInHub) -> None:
    bare = replace(TASK, validation=TASK.validation.take(np.array([], dtype=np.int64)))
    with pytest.raises(UserError, match="no labels to push yet"):
        push_labels(bare, Pool.unlabelled(len(TASK.train)), SETTINGS, [], "me/labels", private=True, token=None)
    assert hub.asked == {}


def test_push_errors_get_one_sentence(hub: StandInHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"'me/toy' could not be pushed to the hub \(.*401.*\); check the name"):
        push_model(write_model, "me/toy", private=True, token="hf_wrong")
    with pytest.raises(UserError, match=r"'a b' could not be pushed to the hub \(Repo id must use"):
        push_model(write_model, "a b", private=True, token=None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"offline mode is enabled.*; check the name, the connection") as caught:
        push_model(write_model, "me/toy", private=True, token=None)
    assert "\n" not in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(UserError, match=r"no access token for the hub; create one .* or run `hf auth login`\.$"):
        push_model(write_model, "me/toy", private=True, token=None)
