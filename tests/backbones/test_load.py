from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import BACKBONE_NAMES, hub, load_backbone, tiny
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


@pytest.fixture
def encoder_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my encoder"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


@pytest.mark.parametrize("name", ["./nowhere", "~/nowhere", "/nowhere/at/all"])
def test_a_path_that_is_no_folder_is_not_asked_of_the_hub(name: str) -> None:
    with pytest.raises(UserError, match=rf"Backbone '{name}' is not a folder; check the path") as caught:
        load_backbone(name, toy_task())
    assert caught.value.field == "backbone"


@pytest.mark.parametrize(
    ("name", "hub_id"),
    [
        ("distilbert", "distilbert/distilbert-base-uncased"),
        ("bert", "google-bert/bert-base-uncased"),
        ("roberta", "FacebookAI/roberta-base"),
        ("someone/something", "someone/something"),
    ],
)
def test_names_and_ids_go_to_the_hub(
    name: str, hub_id: str, encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def folder(hub_id: str, notify: Callable[[str], None]) -> Path:
        asked.append(hub_id)
        return encoder_folder

    monkeypatch.setattr(hub, "folder", folder)
    backbone = load_backbone(name, toy_task())
    assert (backbone.name, backbone.folder) == (name, encoder_folder)
    assert asked == [hub_id]


def test_tiny_belongs_to_the_task() -> None:
    task = toy_task()
    assert load_backbone("tiny", task).folder == tiny.folder(task) != tiny.folder(toy_task(seed=1))


def test_a_folder_however_it_is_written(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(encoder_folder.parent))
    monkeypatch.chdir(encoder_folder.parent)
    for name in (str(encoder_folder), "my encoder", "~/my encoder", "./my encoder"):
        backbone = load_backbone(name, toy_task())
        assert (backbone.name, backbone.folder) == (name, encoder_folder.resolve())


def test_a_folder_without_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{tmp_path} has no config\.json; save an encoder there first"):
        load_backbone(str(tmp_path), toy_task())


def test_the_names_that_are_offered() -> None:
    assert BACKBONE_NAMES == ("minilm", "mpnet", "tiny", "distilbert", "bert", "roberta")
