from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bench import round_records
from hybridal.core.rounds import Cost, LabelChanges, Metrics, Round
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder

SCHEDULES = ("retrain", "finetune", "hybrid:accuracy:0.1:1")
ENDED = Metrics(10, 8, 0.8, 0.75, 0.5, 0.1, 0.3, 0.4, 0.05)


def computed(sequence: str, change: float | None) -> Round:
    """A round as an engine records it; only the third and last has met the test texts."""
    update = {"R": "retrain", "F": "finetune"}[sequence[-1]]
    return Round(
        round=len(sequence),
        update=update,
        update_sequence=sequence,
        labels=20,
        cost=Cost(steps=len(sequence) * (10 if update == "retrain" else 4)),
        kept_epoch=1.5,
        temperature=1.2,
        validation=ENDED,
        test=replace(ENDED, f1=0.7) if len(sequence) == 3 else None,
        changes={"accuracy": change},
        acquired=("a", "b"),
        scores=(0.5, 0.3),
        label_changes=LabelChanges(known=10, added=10, counts=(5, 15)),
    )


ROUNDS = [
    computed(sequence, None if len(sequence) == 1 else 0.01) for sequence in ("R", "RR", "RRR", "RRF", "F", "FF", "FFF")
]


@pytest.fixture
def folder(tmp_path: Path) -> StudyFolder:
    study = Study(
        "tiny", ("data/ag_news/train.parquet",), SCHEDULES, ("./minilm",), seeds=(1,), overrides={"rounds": 3}
    )
    made = StudyFolder.create(tmp_path / "study", study, {})
    with made.working_on(made.cells[0]):
        for record in ROUNDS:
            made.journal(made.cells[0]).append(record.to_json())
    return made


def means(record: Round) -> tuple[float, ...]:
    """Of the scores of a batch their mean is published."""
    return (sum(record.scores) / len(record.scores),) * len(record.scores) if record.scores else ()


def test_rounds_come_back_as_they_were(folder: StudyFolder, tmp_path: Path) -> None:
    round_records.published(folder, "abc").to_parquet(tmp_path / "records.parquet")
    [cell] = round_records.cells(pd.read_parquet(tmp_path / "records.parquet"))
    assert (cell.named["task"], cell.named["backbone"]) == ("agnews", "minilm")
    assert (cell.named["engine"], cell.named["study"], cell.rounds) == ("abc", "tiny", 3)
    assert cell.known == {record.update_sequence: replace(record, scores=means(record)) for record in ROUNDS}


def test_runs_are_assembled_from_update_sequences(folder: StudyFolder) -> None:
    found = round_records.runs(round_records.cells(round_records.published(folder, "abc")), SCHEDULES).set_index(
        "schedule"
    )
    assert found["update_sequence"].to_dict() == {"retrain": "RRR", "finetune": "FFF", "hybrid:accuracy:0.1:1": "RRF"}
    assert found["steps"].to_dict() == {"retrain": 60, "finetune": 24, "hybrid:accuracy:0.1:1": 42}
    assert set(found["test_f1"]) == {0.7}


def test_schedule_with_an_unmeasured_signal_has_no_run(folder: StudyFolder) -> None:
    known = round_records.cells(round_records.published(folder, "abc"))
    assert round_records.played(known, "hybrid:alpha") == []


def test_rows_of_other_runs_are_kept(
    folder: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "records.parquet"
    for engine in ("abc", "def", "abc"):
        asked = ["round_records", str(folder.path), "--out", str(out), "--engine", engine, "--study", "parts"]
        monkeypatch.setattr(sys, "argv", asked)
        round_records.main()
    assert pd.read_parquet(out).groupby(["engine", "study"]).size().to_dict() == {
        ("abc", "parts"): 7,
        ("def", "parts"): 7,
    }
    assert capsys.readouterr().out.splitlines()[-1] == f"{out}: 14 rounds in 2 cells."
