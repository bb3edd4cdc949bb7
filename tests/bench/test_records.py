from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from bench import records

FACT = {"round": 1, "seconds": {"train": 1.0}, "validation": {"accuracy": 0.5}, "scores": [0.25, 0.5]}


def recorded(folder: Path, record: dict[str, Any], bias: float = 0.0) -> Path:
    (folder / "run" / "model").mkdir(parents=True)
    (folder / "run" / "rounds.jsonl").write_text(json.dumps(record) + "\n")
    save_file({"bias": np.array([bias])}, folder / "run" / "model" / "model.safetensors")
    return folder


def test_seconds_may_differ_and_digits_may_not(tmp_path: Path) -> None:
    old = recorded(tmp_path / "old", FACT)
    same = recorded(tmp_path / "same", {**FACT, "seconds": {"train": 2.0}})
    other = recorded(tmp_path / "other", {**FACT, "scores": [0.25, 0.5000001]}, bias=1e-9)
    assert list(records.differences(old, same)) == []
    assert list(records.differences(old, other)) == [
        "run/model/model.safetensors: bias differs",
        "run/rounds.jsonl, line 1: .scores[1] was 0.5, is 0.5000001",
    ]


def test_a_renamed_key_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = recorded(tmp_path / "old", FACT)
    new = recorded(tmp_path / "new", {**{k: v for k, v in FACT.items() if k != "scores"}, "ranking": FACT["scores"]})
    assert len(list(records.differences(old, new))) == 2
    monkeypatch.setattr(records, "RENAMED", {"scores": "ranking"})
    assert list(records.differences(old, new)) == []


@pytest.mark.parametrize(("f1", "count"), [(0.6, 0), (0.3, 1)])
def test_macro_f1_of_classes_without_texts_is_converted(tmp_path: Path, f1: float, count: int) -> None:
    old = recorded(tmp_path / "old", {**FACT, "validation": {"f1": 0.2}})
    new = recorded(tmp_path / "new", {**FACT, "validation": {"f1": f1, "support": [4, 0, 0]}})
    assert len(list(records.differences(old, new))) == count


def test_a_run_that_is_missing_is_named(tmp_path: Path) -> None:
    old = recorded(tmp_path / "old", FACT)
    (tmp_path / "new").mkdir()
    [missing] = records.differences(old, tmp_path / "new")
    assert missing.endswith("lacks run/model/model.safetensors, run/rounds.jsonl")
