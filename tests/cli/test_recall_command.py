"""`hybridal recall` on a finished run: draw, label, certify."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from hybridal.runs.record import RunFolder

from .conftest import hybridal

CPU = ("--device", "cpu")


@pytest.fixture
def sample(unbroken: Path, tmp_path: Path) -> Path:
    target = tmp_path / "sample.csv"
    ended = hybridal("recall", unbroken, "sport", "--recall", "0.8", "--out", target, *CPU)
    assert (ended.code, ended.stderr) == (0, "")
    assert f"in {target} (yes or no in the column 'belongs')" in ended.stdout
    return target


def labelled_by_people(run: Path, sample: Path) -> pd.DataFrame:
    """Fill the column `belongs` with the true labels."""
    task, table = RunFolder.open(run).task(), pd.read_csv(sample, dtype=str)
    table["belongs"] = ["yes" if task.answers([id])[id] == "sport" else "no" for id in table["id"]]
    return table


def test_the_sample_has_no_text_that_is_labelled_or_given_the_class(unbroken: Path, sample: Path) -> None:
    from hybridal.learners.text_classifier import TextClassifier
    from hybridal.runs.export import finished_pool, labelled

    folder = RunFolder.open(unbroken)
    task, table = folder.task(), pd.read_csv(sample, dtype=str)
    known = {id for rows in labelled(task, finished_pool(folder)).values() for id in rows.ids}
    assert len(table) > 5
    assert not known & set(table["id"])
    assert set(TextClassifier.load(unbroken / "model", "cpu").predict(table["text"])) == {"food"}
    listed = json.loads(sample.with_suffix(".json").read_text())
    assert len(listed["order"]) + listed["given"] + len(known) == len(task.train) + len(task.validation)


def test_labels_of_the_sample_give_the_certificate(unbroken: Path, sample: Path) -> None:
    arguments = ("recall", unbroken, "sport", "--recall", "0.8", "--out", sample, *CPU)
    for _ in range(9):
        labelled_by_people(unbroken, sample).to_csv(sample, index=False)
        ended = hybridal(*arguments)
        assert (ended.code, ended.stderr) == (0, "")
        if ended.stdout.startswith("At least 80% of the texts of 'sport' are found, with 95% confidence: "):
            break
    else:
        pytest.fail(ended.stdout)
    found = json.loads(hybridal(*arguments, "--json").stdout)
    assert found["holds"]
    assert found["to_label"] == 0
    assert found["sure_recall"] >= 0.8
    assert found["sampled"] == len(pd.read_csv(sample))


def test_a_label_that_is_neither_yes_nor_no_is_refused(unbroken: Path, sample: Path) -> None:
    labelled_by_people(unbroken, sample).assign(belongs="maybe").to_csv(sample, index=False)
    ended = hybridal("recall", unbroken, "sport", "--out", sample, *CPU)
    assert ended.code == 2
    assert "'maybe' in the column 'belongs'; write yes or no" in ended.stderr


def test_a_sample_is_of_one_class(unbroken: Path, sample: Path) -> None:
    ended = hybridal("recall", unbroken, "food", "--out", sample, *CPU)
    assert ended.code == 2
    assert "is a sample for the class 'sport'; name another file with --out" in ended.stderr


def test_an_unknown_class_is_refused(unbroken: Path, tmp_path: Path) -> None:
    ended = hybridal("recall", unbroken, "sports", "--out", tmp_path / "s.csv", *CPU)
    assert ended.code == 2
    assert "did you mean 'sport'?" in ended.stderr
    assert not [*tmp_path.iterdir()]
