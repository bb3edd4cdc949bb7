"""A study in which people, a simulated model, or both label."""

from __future__ import annotations

import json
from pathlib import Path

from hybridal.lab.study.engines import Here
from hybridal.lab.study.run_study_cells import begin_study, run_study
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.study_presets import preset
from hybridal.lab.study.study_results import results

from .small_study import small_study

WHO = ("people", "simulated:0.2", "people+simulated:0.2:class")


def test_who_labels_is_a_factor(tmp_path: Path) -> None:
    study = small_study(tmp_path, seeds=(1,), schedules=("retrain",), annotators=WHO)
    folder = begin_study(study, tmp_path / "study")
    assert [outcome.error for outcome in run_study(folder, Here())] == [None] * 3
    folder = StudyFolder.open(folder.path)
    found = {cell.variant.get("annotator", "people"): folder.histories(cell)["retrain"][-1] for cell in folder.cells}
    assert found["people"].by_model == 0
    assert found["simulated:0.2"].by_model == found["simulated:0.2"].labels
    assert 0 < found["people+simulated:0.2:class"].by_model <= found["people+simulated:0.2:class"].labels
    runs = results(folder).runs
    assert set(runs["variant"]) == {"", "annotator=simulated:0.2", "annotator=people+simulated:0.2:class"}


def test_a_study_of_people_is_written_as_before() -> None:
    study = Study("s", ("trec",), ("retrain",), seeds=(1,))
    assert "annotators" not in study.to_json()
    assert not {"annotator", "overlap"} & {*study.cells()[0].settings.to_json()}


def test_the_preset_compares_people_with_models_of_several_errors() -> None:
    study = preset("annotators")
    assert Study.from_json(json.loads(json.dumps(study.to_json()))) == study
    assert len(study.annotators) == 13
    assert len({cell.key for cell in study.cells()}) == len(study.cells())
