"""A study of a task in which a text may have several labels, from the file to the report."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.core.rounds import MultiLabelMetrics
from hybridal.errors import UserError
from hybridal.lab.reports.standard_catalogue import standard_catalogue
from hybridal.lab.reports.study_report import all_tables, write_with_catalogue
from hybridal.lab.study.engines import Here
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_results import results
from hybridal.lab.what_if import decisions
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.testing.small import multi_label_task

from .small_study import small_study
from .test_run_study_cells import Stop, timeless

TASK = multi_label_task()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study that was stopped once and resumed."""
    home = tmp_path_factory.mktemp("study")
    records = [
        {"body": text, "tags": sorted(TASK.label(label))}
        for text, label in zip(TASK.train.texts, TASK.train.labels, strict=True)
    ]
    (home / "texts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    task = {"task": str(home / "texts.jsonl"), "text": "body", "label": "tags", "validation_size": 30, "test_size": 30}
    study = small_study(
        home, tasks=(task,), schedules=("retrain", "hybrid:accuracy:0.5:1"), seeds=(1,), acquisitions=("random",)
    )
    whole = begin_study(study, home / "whole")
    assert [outcome.error for outcome in run_study(whole, Here())] == [None]
    stopped = begin_study(study, home / "stopped")
    with pytest.raises(KeyboardInterrupt):
        run_study(StudyFolder.open(stopped.path), Here(Stop(2)))
    run_study(StudyFolder.open(stopped.path), Here())
    assert timeless(stopped) == timeless(whole)
    return whole


def test_runs_have_the_metrics_of_several_labels(folder: StudyFolder) -> None:
    found = results(folder)
    last = {spec: history[-1] for cell in folder.cells for spec, history in folder.histories(cell).items()}
    for row in found.endpoints.to_dict("records"):
        test = last[row["schedule"]].test
        assert isinstance(test, MultiLabelMetrics)
        assert (row["f1"], row["micro_f1"], row["exact_match"]) == (test.f1, test.micro_f1, test.accuracy)
    assert {"test_lrap", "test_hamming", "validation_micro_f1"} <= {*found.runs}


def test_report_names_the_metrics_of_several_labels(folder: StudyFolder) -> None:
    page = write_with_catalogue(folder, standard_catalogue()).read_text(encoding="utf-8")
    for name in ("Test macro-F1", "Test micro-F1", "Test exact match"):
        assert name in page
    assert "Test F1" not in page
    assert "guessing the most frequent class" not in page
    with (folder.path / "report" / "tables" / "endpoint-exact-match.csv").open(encoding="utf-8") as file:
        assert len([*csv.reader(file)]) > 1


def test_dataset_table_counts_a_text_for_each_of_its_classes(folder: StudyFolder) -> None:
    table = all_tables(results(folder), standard_catalogue())["datasets"]
    task = folder.task(folder.cells[0])
    texts = {row[0].text: row[1].numbers[0] for row in table.sections[0].rows}
    labels = task.train.labels
    assert texts == {
        **dict(zip(task.classes, task.class_counts(labels).tolist(), strict=True)),
        "(none of these)": [task.answer(label) for label in labels].count(frozenset()),
        "Total": len(labels),
    }
    assert "counts for each of them" in table.caption


def test_what_if_needs_the_recorded_signal(folder: StudyFolder, tmp_path: Path) -> None:
    """The signal counts decisions; the metrics of a record have exact matches only."""
    (cell,) = folder.cells
    for name, keep in (("with", True), ("without", False)):
        run = RunFolder.create(tmp_path / name, Settings("texts.jsonl", backbone="tiny"), folder.task(cell), {})
        for round_record in folder.histories(cell)["retrain"]:
            run.append(replace(round_record, changes=round_record.changes if keep else {}))
    changes = [round_record.changes["accuracy"] for round_record in folder.histories(cell)["retrain"]]
    assert decisions(tmp_path / "with", signal="accuracy", column=None)["changes"] == changes
    with pytest.raises(UserError, match="did not record the signal 'accuracy'"):
        decisions(tmp_path / "without", signal="accuracy", column=None)
