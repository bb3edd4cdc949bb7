from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import hub_models, load_backbone, local_backbone, remote_limits, tiny
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
    ("name", "hub_id", "revision"),
    [
        ("distilbert", "distilbert/distilbert-base-uncased", None),
        ("bert", "google-bert/bert-base-uncased", None),
        ("roberta", "FacebookAI/roberta-base", None),
        ("gte-small", "thenlper/gte-small", CATALOGUE["gte-small"].revision),
        ("thenlper/gte-small", "thenlper/gte-small", CATALOGUE["gte-small"].revision),
        ("gte-small@main", "thenlper/gte-small", "main"),
        ("minilm@main", "sentence-transformers/all-MiniLM-L6-v2", "main"),
        ("someone/something", "someone/something", None),
        ("someone/something@v1.0", "someone/something", "v1.0"),
    ],
)
def test_names_and_ids_go_to_the_hub(
    name: str, hub_id: str, revision: str | None, encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str | None]] = []

    def folder(hub_id: str, revision: str | None, notify: Callable[[str], None]) -> Path:
        asked.append((hub_id, revision))
        return encoder_folder

    monkeypatch.setattr(hub_models, "folder", folder)
    backbone = load_backbone(name, toy_task())
    assert (backbone.name, backbone.folder) == (name, encoder_folder)
    assert asked == [(hub_id, revision)]


def test_named_encoders_are_found_in_the_folder_of_models(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also `minilm`, which is then not taken from its wheel; other names go their usual way."""
    monkeypatch.setenv("HYBRIDAL_MODELS", str(tmp_path / "models"))
    with pytest.raises(UserError, match=r"^HYBRIDAL_MODELS: there is no folder .*models; correct the variable or"):
        local_backbone("gte-small", toy_task())
    for name in ("gte-small", "minilm", "org/encoder"):
        folder = shutil.copytree(encoder_folder, tmp_path / "models" / name)
        assert load_backbone(name, toy_task()).folder == folder
    monkeypatch.chdir(encoder_folder)
    assert load_backbone(".", toy_task()).folder == encoder_folder
    assert local_backbone("e5-small", toy_task()) is None
    assert load_backbone("tiny", toy_task()).folder == tiny.folder(toy_task())


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


def test_limits_and_pooling_of_tiny_are_those_of_the_catalogue() -> None:
    made, entry = load_backbone("tiny", toy_task()), CATALOGUE["tiny"]
    assert (made.limits.layers, made.limits.positions, made.pooling) == (entry.layers, entry.positions, entry.pooling)


def test_the_limits_of_an_encoder_on_the_hub_are_those_of_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 3, "max_position_embeddings": 99}')
    monkeypatch.setattr(hub_models, "configuration", lambda _id, _revision: tmp_path)
    limits = remote_limits("someone/something")
    assert (limits.layers, limits.positions) == (3, 99)


def test_uncached_backbones_are_not_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    for name in ("minilm", "bert", "someone/something"):
        assert local_backbone(name, toy_task()) is None


def test_a_misspelt_name_is_offered_when_the_hub_does_not_have_it_either() -> None:
    with pytest.raises(UserError, match=r"^Backbone 'minillm' is not on this machine, .*\(did you mean 'minilm'\?\)$"):
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
