from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench import rounds
from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.tasks.task import Split, Task

MEASURED = Metrics(10, 8, 0.8, 0.75, 0.5, 0.1, 0.3, 0.4, 0.05)


def computed(sequence: str) -> Round:
    return Round(
        round=len(sequence),
        update="retrain" if sequence[-1] == "R" else "finetune",
        update_sequence=sequence,
        labels=20 * len(sequence),
        cost=Cost(steps=7),
        kept_epoch=1.0,
        temperature=1.5,
        validation=None if sequence == "R" else MEASURED,
        test=replace(MEASURED, f1=0.1 * len(sequence)),
        changes={"agreement": None if len(sequence) == 1 else 0.25},
    )


def study(path: Path, schedules: tuple[str, ...], words: tuple[str, ...]) -> StudyFolder:
    asked = {"rounds": 2, "validation": "fixed", "validation_size": 50}
    # A task that this machine does not know: the folder has come from another one.
    asked_for = Study("s", ("ag-news",), schedules, ("minilm",), seeds=(1,), protocol="paper", overrides=asked)
    task = Task("ag-news", ("a", "b", "c", "d"), Split.empty(), Split.empty(), Split.empty())
    tasks = {task_key(cell.settings): task for cell in asked_for.cells()}
    folder = StudyFolder.create(path, asked_for, {}, tasks)
    with folder.working_on(folder.cells[0]):
        for sequence in words:
            folder.journal(folder.cells[0]).append(computed(sequence).to_json())
    return folder


def test_whole_runs_become_rows(tmp_path: Path) -> None:
    folder = study(tmp_path / "study", ("retrain", "finetune", "hybrid:accuracy"), ("R", "RR", "F"))
    found = rounds.rows(folder)
    assert found["schedule"].unique().tolist() == ["retrain", "hybrid:accuracy"]  # which has not switched yet
    described = ["paper", "ag-news", "entropy", "equal", "50 fixed", "no", 0, "retrain", 1]
    assert found[rounds.RUN].iloc[0].tolist() == described
    own = found[found["schedule"] == "retrain"]
    assert own[["round", "labels", "steps", "test_f1", "validation_n"]].to_numpy().tolist() == [
        [1, 20, 7, 0.1, 0],
        [2, 40, 7, 0.2, 10],
    ]
    assert own["disagreement"].tolist()[1] == 0.25
    assert set(own["classes"]) == {4}


def test_only_the_usual_threshold_and_patience_are_left_out_of_a_name(tmp_path: Path) -> None:
    folder = study(tmp_path / "study", ("hybrid:accuracy", "hybrid:accuracy:0.005:20"), ("R", "RR"))
    assert rounds.rows(folder)["schedule"].unique().tolist() == [
        "hybrid:accuracy",
        "hybrid:accuracy:0.005:20",
    ]


def test_runs_that_are_described_alike_are_replaced_and_types_stay(tmp_path: Path) -> None:
    known = rounds.rows(study(tmp_path / "old", ("retrain", "finetune"), ("R", "RR", "F", "FF")))
    known = known.assign(steps=9).astype({"steps": "int32", "schedule": "category", "test_f1": "float32"})
    new = rounds.rows(study(tmp_path / "new", ("retrain",), ("R", "RR")))
    both = rounds.joined(known, new)
    assert both.groupby("schedule", observed=True)["steps"].apply(list).to_dict() == {
        "finetune": [9, 9],
        "retrain": [7, 7],
    }
    assert [str(both[name].dtype) for name in ("steps", "schedule", "test_f1")] == ["int32", "category", "float32"]
