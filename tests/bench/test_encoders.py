from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import encoders
from hybridal.testing.small import toy_task
from tests.helpers.topic_encoder import topic_encoder


def rounds(f1: dict[str, float], task: str = "t", chosen: str = "b") -> list[dict[str, object]]:
    return [
        {
            "task": task,
            "backbone": backbone,
            "seed": seed,
            "round": 1,
            "chosen": chosen if backbone == "auto" else "",
            "changed": False,
            "steps": 10,
            "test_f1": value + 0.01 * seed,
            "seconds_train": 2.0,
            "seconds_encoder": 1.0 if backbone == "auto" else None,
        }
        for seed in (1, 2, 3)
        for backbone, value in f1.items()
    ]


def test_auto_is_compared_with_the_better_encoder_of_each_task() -> None:
    found = pd.DataFrame(rounds({"a": 0.5, "b": 0.6, "auto": 0.6}) + rounds({"a": 0.7, "b": 0.5, "auto": 0.68}, "u"))
    cells = encoders.regret_table(found).splitlines()[-1].split("|")
    assert [cell.strip() for cell in cells[1:8]] == ["50", "0.620", "0.570", "0.660", "0.670", "5.0", "10.0"]
    assert cells[8].strip().startswith("1.0 [")
    assert "| `u` | -2.0 | b 3 | 0.0 |" in encoders.task_table(found)
    assert "| auto | 10 | 3.0 | 1.0 |" in encoders.price_table(found)
    assert "| a | 10 | 2.0 | 0.0 |" in encoders.price_table(found)


def test_encoders_that_were_run_alone_have_scores_where_they_are_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pd.DataFrame(rounds({"a": 0.5, "b": 0.6}) + rounds({"a": 0.7}, "u"))
    found.to_parquet(tmp_path / "alone.parquet")
    assert encoders.main(["--read", str(tmp_path / "alone.parquet")]) == 0
    printed = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()[2:]]
    assert printed == [["", "`a`", "0.620", *[""] * 5], ["", "`b`", *[""] * 6]]


def test_one_command_runs_the_study_and_writes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task, home = toy_task(), tmp_path / "data" / "toy"
    home.mkdir(parents=True)
    for name, split in task.splits():
        table = pa.table({"text": split.texts, "label": pa.array(split.labels, pa.int8())})
        names = {"label_names": '["sport", "food"]'}
        pq.write_table(table.replace_schema_metadata(names), home / f"{name}.parquet")
    monkeypatch.setenv("HYBRIDAL_DATA", str(tmp_path / "data"))
    backbones = [str(topic_encoder(task, tmp_path / name)) for name in ("one", "two")]
    words = ["--rounds", "1", "--seeds", "1", "--device", "cpu", "--workers", "1", "--max-length", "16"]
    out = tmp_path / "encoders.parquet"
    assert encoders.main([*words, "--backbones", *backbones, "--out", str(out)]) == 0
    found = pd.read_parquet(out)
    assert found.backbone.tolist() == ["one", "two", "auto"]
    assert found.chosen.tolist() == ["", "", "one"]
    assert "3 rounds; 0 of 3 cells failed" in capsys.readouterr().out
