from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import BACKBONE_NAMES, hub_models, load_backbone, local_backbone, remote_limits, tiny
from hybridal.backbones.catalogue import CATALOGUE
from hybridal.errors import UserError
from hybridal.testing.small import toy_task


@pytest.fixture
def encoder_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my encoder"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


@pytest.mark.parametrize("name", ["./nowhere", "~/nowhere", "/nowhere/at/all"])
def test_missing_path_makes_no_hub_request(name: str) -> None:
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

    monkeypatch.setattr(hub_models, "folder", folder)
    backbone = load_backbone(name, toy_task())
    assert (backbone.name, backbone.folder) == (name, encoder_folder)
    assert asked == [hub_id]


def test_tiny_belongs_to_the_task() -> None:
    task = toy_task()
    assert load_backbone("tiny", task).folder == tiny.folder(task) != tiny.folder(toy_task(seed=1))


def test_folder_is_found_in_every_spelling(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(encoder_folder.parent))
    monkeypatch.chdir(encoder_folder.parent)
    for name in (str(encoder_folder), "my encoder", "~/my encoder", "./my encoder"):
        backbone = load_backbone(name, toy_task())
        assert (backbone.name, backbone.folder) == (name, encoder_folder.resolve())


def test_a_folder_without_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"{tmp_path} has no config\.json; save an encoder there first"):
        load_backbone(str(tmp_path), toy_task())


def test_backbone_names_lists_the_catalogue_and_the_mirror() -> None:
    assert BACKBONE_NAMES == ("minilm", "mpnet", "tiny", "distilbert", "bert", "roberta")


def test_every_named_backbone_is_in_the_catalogue() -> None:
    assert [*CATALOGUE] == [*BACKBONE_NAMES]
    made = load_backbone("tiny", toy_task()).limits
    assert (made.layers, made.positions) == (CATALOGUE["tiny"].layers, CATALOGUE["tiny"].positions)


def test_the_limits_of_an_encoder_on_the_hub_are_those_of_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 3, "max_position_embeddings": 99}')
    monkeypatch.setattr(hub_models, "configuration", lambda _id: tmp_path)
    limits = remote_limits("someone/something")
    assert (limits.layers, limits.positions) == (3, 99)


def test_uncached_backbones_are_not_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    for name in ("minilm", "bert", "someone/something"):
        assert local_backbone(name, toy_task()) is None


def test_a_misspelt_name_is_offered_when_the_hub_does_not_have_it_either() -> None:
    with pytest.raises(UserError, match=r"^Backbone 'minillm' is neither .*\(did you mean 'minilm'\?\)$"):
        load_backbone("minillm", toy_task())


def test_the_nested_folder_of_older_sentence_transformers(tmp_path: Path) -> None:
    for name, content in (
        ("modules.json", "[]"),
        ("0_Transformer/config.json", '{"num_hidden_layers": 3}'),
        ("1_Pooling/config.json", '{"pooling_mode_mean_tokens": true}'),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    backbone = load_backbone(str(tmp_path), toy_task())
    assert (backbone.folder.name, backbone.layers, backbone.pooling) == ("0_Transformer", 3, "mean")
