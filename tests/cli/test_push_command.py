from __future__ import annotations

from pathlib import Path

import huggingface_hub
import pandas as pd
import pytest

from hybridal.runs.record import RunFolder
from tests.helpers.stand_in_hub import stand_in_hub

from .conftest import hybridal


def test_model_and_labels_of_a_run_are_pushed(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in_hub(tmp_path, monkeypatch) as hub:
        ended = hybridal("push", unbroken, "me/toy")
        assert (ended.code, ended.stdout) == (0, f"Model pushed to {hub.address}/me/toy\n")
        ended = hybridal("push", unbroken, "me/toy-labels", "--labels", "--public")
        assert (ended.code, ended.stdout) == (0, f"Labels pushed to {hub.address}/datasets/me/toy-labels\n")
        assert [asked["visibility"] for asked in hub.asked.values()] == ["private", "public"]
    model = unbroken / "model"
    assert {path.name for path in hub.files("me/toy").iterdir()} == {path.name for path in model.iterdir()}
    assert (hub.files("me/toy") / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert "this folder" in (model / "README.md").read_text(encoding="utf-8")
    labels = pd.read_parquet(hub.files("me/toy-labels") / "train.parquet")
    acquired = [id for record in RunFolder(unbroken).history()[:3] for id in record.acquired]
    assert labels["id"].tolist()[12:] == acquired


def test_other_folders_are_refused(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    ended = hybridal("push", unbroken, "me/toy")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("hybridal: There is no access token for the hub; create one with write")
    ended = hybridal("push", tmp_path, "me/toy")
    assert (ended.code, ended.stderr) == (2, f"hybridal: {tmp_path} is not a run folder: it has no run.json.\n")
