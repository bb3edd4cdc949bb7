from __future__ import annotations

import csv
import errno
import shutil
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from hybridal.learners.text_classifier import TextClassifier
from hybridal.runs.record import RunFolder
from hybridal.testing.small import toy_task

from .conftest import copied, hybridal
from .laboratory import Laboratory


def test_export_writes_the_model_and_its_labels(unbroken: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "mine"
    ended = hybridal("export", unbroken, target)
    assert (ended.code, ended.stdout, ended.stderr) == (0, f"Model and labels written to {target}\n", "")
    model = AutoModelForSequenceClassification.from_pretrained(target)
    assert model.config.id2label == {0: "food", 1: "sport"}
    assert AutoTokenizer.from_pretrained(target)("the goal")["input_ids"]
    for path in (unbroken / "model").iterdir():
        assert (target / path.name).read_bytes() == path.read_bytes()
    with (target / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    acquired = [id for record in RunFolder(unbroken).history()[:3] for id in record.acquired]
    learnt = [row["id"] for row in rows if row["split"] == "train"]
    assert (len(learnt), learnt[12:]) == (24, acquired)
    task = toy_task()
    assert {row["id"]: row["label"] for row in rows} == task.answers(row["id"] for row in rows)


def test_export_writes_an_onnx_file(unbroken: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    target = tmp_path / "mine"
    ended = hybridal("export", unbroken, target, "--onnx")
    assert (ended.code, ended.stdout, ended.stderr) == (0, f"Model and labels written to {target}\n", "")
    there = {path.name for path in (unbroken / "model").iterdir()}
    assert {path.name for path in target.iterdir()} == there | {"labels.csv", "model.onnx"}
    assert not (unbroken / "model" / "model.onnx").exists()
    texts = list(toy_task().test.texts[:5])
    rows = AutoTokenizer.from_pretrained(target)(texts, padding=True, return_tensors="np")
    fed = {name: rows[name].astype("int64") for name in ("input_ids", "attention_mask")}
    (found,) = runtime.InferenceSession(target / "model.onnx").run(None, fed)
    np.testing.assert_allclose(found, TextClassifier.load(target, "cpu").predict_proba(texts), atol=1e-4)


def test_missing_onnx_packages_are_reported_first(
    unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hybridal.models.export.onnx_export.find_spec", lambda name: None if name == "onnxruntime" else object()
    )
    ended = hybridal("export", unbroken, tmp_path / "mine", "--onnx")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr == ("hybridal: onnxruntime is not installed; `pip install 'hybridal[onnx]'` brings ONNX.\n")
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_not_overwritten(unbroken: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "file").write_text("precious")
    for name in ("mine", "file"):
        ended = hybridal("export", unbroken, tmp_path / name)
        assert ended.code == 2
        assert ended.stderr == f"hybridal: {tmp_path / name} exists already; name a new folder.\n"
    assert list((tmp_path / "mine").iterdir()) == []
    assert (tmp_path / "file").read_text() == "precious"


def test_a_damaged_checkpoint_leaves_no_half_export(unbroken: Path, tmp_path: Path) -> None:
    folder = copied(unbroken, tmp_path / "run")
    next((folder / "checkpoint").iterdir()).write_bytes(b"x" * 100)
    ended = hybridal("export", folder, tmp_path / "mine")
    assert ended.code == 3
    assert "is damaged" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_full_disk_leaves_no_half_export(unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: str, target: str, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    monkeypatch.setattr(shutil, "copyfile", full)
    ended = hybridal("export", unbroken, tmp_path / "mine")
    assert ended.code == 3
    assert ended.stderr.startswith(f"hybridal: {tmp_path / 'mine'} could not be written ([Errno 28] No space left")
    assert ended.stderr.endswith("; make room, or export to another folder.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(unbroken: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = hybridal("export", unbroken, tmp_path / "file" / "mine")
    assert (ended.code, ended.stdout) == (3, "")
    assert ended.stderr.startswith(f"hybridal: {tmp_path / 'file' / 'mine'} could not be written (")


def test_a_deleted_checkpoint_took_the_labels_with_it(laboratory: Laboratory, unbroken: Path, tmp_path: Path) -> None:
    folder = copied(unbroken, tmp_path / "run")
    shutil.rmtree(folder / "checkpoint")
    ended = hybridal("export", folder, tmp_path / "mine")
    assert ended.code == 2
    assert ended.stderr == (
        f"hybridal: {folder} has no checkpoint, which contains the labels; compute it again with "
        f"`hybridal resume {folder} --recompute`.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert laboratory.run("resume", folder, "--recompute", "--quiet").code == 0  # with as many threads as before
    assert hybridal("export", folder, tmp_path / "mine").code == 0


def test_other_folders_are_refused(tmp_path: Path) -> None:
    ended = hybridal("export", tmp_path, tmp_path / "mine")
    assert (ended.code, ended.stderr) == (2, f"hybridal: {tmp_path} is not a run folder: it has no run.json.\n")
