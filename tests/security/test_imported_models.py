"""The model of an export may come from a stranger: a hostile one is refused, and the project imported without it."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from hybridal.app.exchange import model_import
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.exchange.model_import import ArchivedModel
from hybridal.app.exchange.project_archive import import_project
from hybridal.app.project import Project
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.model_check import check
from hybridal.errors import UserError
from hybridal.runs.checkpoint import _digest
from hybridal.system.files import folder_made_whole

from ..app.copies import copied
from ..app.trainer.projects import label_some, made

Entries = dict[str, bytes]
RUN, ROUNDS, TASK, CHAPTER = (f"model/001/{name}" for name in ("run.json", "rounds.jsonl", "task.json", "chapter.json"))
CHECKPOINT, MANIFEST = "model/001/checkpoint/round-00001.safetensors", "model/manifest.json"
PREDICTIONS, QUEUE = "model/predictions.jsonl", "model/queued_texts.jsonl"


def trained(folder: Path) -> Project:
    """A project after one round, of a probe."""
    project = made(folder)
    label_some(project, 6, 6)
    cycle = Cycle(project)
    cycle.start()
    assert cycle.turn()
    return project


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Entries:
    """The entries of a valid export."""
    path = tmp_path_factory.mktemp("export") / "whole.zip"
    with closing(copied(trained, path.parent / "p")) as project:
        path.write_bytes(b"".join(archive_parts(project, with_model=True)))
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def project(whole: Entries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The project of this export, imported without its model."""
    folder = tmp_path_factory.mktemp("plain")
    import_project(packed(folder / "x.zip", whole), folder / "p", title="new", encoders=["tiny"])
    with closing(Project.open(folder / "p")) as project:
        yield project


def packed(path: Path, entries: Entries) -> Path:
    """An archive whose hashes are right, as a stranger would make it."""
    files = {name: content for name, content in entries.items() if name.startswith("model/") and name != MANIFEST}
    hashes = {name.removeprefix("model/"): hashlib.sha256(content).hexdigest() for name, content in files.items()}
    about = {**json.loads(entries[MANIFEST]), "files": hashes}
    return zipped(path, {**entries, MANIFEST: json.dumps(about).encode()})


def zipped(path: Path, entries: Entries) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def refused(path: Path, project: Project, match: str = ".") -> None:
    """The model is refused in one sentence, before it is loaded."""
    with (
        pytest.raises(UserError, match=match) as caught,
        closing(ProjectArchive(path)) as archive,
        project.sessions.begin() as session,
    ):
        ArchivedModel(archive, ["auto", "tiny"]).restore(session, project, lambda: None)
    assert str(caught.value).startswith("The model of this export cannot be used (")
    assert str(caught.value).endswith("); import the project without its model.")
    shutil.rmtree(project.runs, ignore_errors=True)


def fails_when_tried(entries: Entries, project: Project) -> None:
    """The model is refused when it is loaded and used."""
    for name, content in entries.items():
        if name.startswith("model/001/"):
            path = project.runs / name.removeprefix("model/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    with pytest.raises(Exception, match=r"."):
        check(project.runs)


def with_json(entries: Entries, name: str, change: Callable[[Any], object]) -> Entries:
    found = json.loads(entries[name])
    change(found)
    return {**entries, name: json.dumps(found).encode()}


def with_first_line(entries: Entries, name: str, change: Callable[[Any], object], line: int = 0) -> Entries:
    lines = entries[name].decode().splitlines()
    found = json.loads(lines[line])
    change(found)
    lines[line] = json.dumps(found)
    return {**entries, name: "\n".join([*lines, ""]).encode()}


def with_tensors(entries: Entries, folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> Entries:
    """A checkpoint with other values, and with the checksum that belongs to them."""
    path = folder / "state.safetensors"
    path.write_bytes(entries[CHECKPOINT])
    with safe_open(path, framework="pt") as file:
        about, tensors = json.loads(file.metadata()["about"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(tensors, about)
    written = json.dumps(about)
    save_file(tensors, path, {"about": written, "sha256": _digest(tensors, written)})
    return {**entries, CHECKPOINT: path.read_bytes()}


@pytest.fixture(scope="module")
def with_model(whole: Entries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The project of this export, imported with its model, whose checkpoint was rewritten."""
    folder = tmp_path_factory.mktemp("whole")
    same = with_tensors(whole, folder, lambda _tensors, _about: None)
    import_project(
        packed(folder / "x.zip", same), folder / "p", title="new", encoders=["tiny"], with_model=True, trusted=True
    )
    with closing(Project.open(folder / "p")) as project:
        check(project.runs)
        yield project


def test_a_refused_model_leaves_nothing_and_the_project_can_do_without(
    whole: Entries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(_command: Any, _seconds: float) -> None:
        raise UserError("its weights are wrong.")

    monkeypatch.setattr(model_import, "require_success", no)
    path, new = packed(tmp_path / "x.zip", whole), tmp_path / "new"
    with (
        pytest.raises(UserError, match=r"used \(its weights are wrong\); import the project without its model\.$"),
        folder_made_whole(new) as folder,
    ):
        import_project(path, folder, title="new", encoders=["tiny"], with_model=True)
    assert [*tmp_path.iterdir()] == [path]
    import_project(path, new, title="new", encoders=["tiny"])
    assert not (new / "runs").exists()


@pytest.mark.parametrize(
    "name",
    [
        "model/../escaped",
        "model/001/../../escaped",
        "model/001/model.pt",
        "model/001/checkpoint/state.pkl",
        "model/001/checkpoint/../round-00001.safetensors",
        "model/001/task/train.parquet",
        "model/x/run.json",
        "model/001\\run.json",
        "/model/001/run.json",
    ],
)
def test_other_files_do_not_belong_there(name: str, whole: Entries, tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {**whole, name: b"x"})
    with pytest.raises(UserError, match="does not belong there"):
        import_project(path, tmp_path / "new", title="new", encoders=["tiny"], with_model=True)
    assert [*tmp_path.iterdir()] == [path]


def test_damage_is_noticed(whole: Entries, project: Project, tmp_path: Path) -> None:
    entries = {**whole, ROUNDS: whole[ROUNDS].replace(b"retrain", b"refit")}
    refused(zipped(tmp_path / "x.zip", entries), project, r"rounds\.jsonl is damaged")


def test_missing_files_are_noticed(whole: Entries, project: Project, tmp_path: Path) -> None:
    refused(zipped(tmp_path / "x.zip", {name: whole[name] for name in whole if name != ROUNDS}), project, "missing")


def test_a_model_of_another_version_is_refused(whole: Entries, project: Project, tmp_path: Path) -> None:
    entries = with_json(whole, MANIFEST, lambda about: about.update(hybridal="0.0.1"))
    refused(packed(tmp_path / "x.zip", entries), project, "made with hybridal 0.0.1, and this server has")


@pytest.mark.parametrize("about", [b"[]", b"{", b'{"hybridal": 1}', b"[" * 100_000, b"1" * 5000])
def test_a_broken_manifest_is_refused(about: bytes, whole: Entries, project: Project, tmp_path: Path) -> None:
    refused(zipped(tmp_path / "x.zip", {**whole, MANIFEST: about}), project)


def test_a_pickle_is_never_read(whole: Entries, with_model: Project, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "escaped",))

    fails_when_tried({**whole, CHECKPOINT: pickle.dumps(Evil())}, with_model)
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("schedule", "subprocess.Popen:true"),
        ("schedule", "../own.py"),
        ("acquisition", "hybridal.testing.common.Own"),
        ("acquisition", None),
        ("backbone", "/etc"),
        ("backbone", "someone/model"),
        ("backbone", "auto:tiny,/etc"),
        ("overrides", {"rounds": "many"}),
        ("overrides", {"unknown": 1}),
        ("seed", "x"),
        ("protocol", "worst"),
    ],
)
def test_settings_name_neither_code_nor_files(
    setting: str, value: Any, whole: Entries, project: Project, tmp_path: Path
) -> None:
    entries = with_json(whole, RUN, lambda run: run["settings"].update({setting: value}))
    refused(packed(tmp_path / "x.zip", entries), project)


def test_settings_that_a_trainer_does_not_set_are_not_taken_over(whole: Entries, tmp_path: Path) -> None:
    other = {"tracker": "own.py", "labels": "/etc/passwd", "signals": ["own.Signal"], "device": "cuda", "test": "/etc"}
    entries = with_json(whole, RUN, lambda run: (run["settings"].update(other), run.update(more="x")))
    path = packed(tmp_path / "x.zip", entries)
    import_project(path, tmp_path / "new", title="new", with_model=True, trusted=True)
    written = json.loads((tmp_path / "new" / "runs" / "001" / "run.json").read_text())
    assert "more" not in written
    settings = {name: written["settings"].get(name) for name in other}
    assert settings == {"tracker": None, "labels": None, "signals": [], "device": "auto", "test": None}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (RUN, lambda run: run["task"].update(fingerprint="0")),
        (RUN, lambda run: run.update(versions={"x": "y" * 1000})),
        (RUN, lambda run: run.update(key=["x"])),
        (TASK, lambda task: task["train"].append("none")),
        (TASK, lambda task: task["train"].append(task["train"][0])),
        (TASK, lambda task: task["train"].reverse()),
        (TASK, lambda task: task.update(classes=["a"])),
        (TASK, lambda task: task.update(label_sets=[[[99], None]])),
        (CHAPTER, lambda chapter: chapter.update(classes=[1, 99])),
        (CHAPTER, lambda chapter: chapter.update(classes=[1])),
        (CHAPTER, lambda chapter: chapter.update(classes=[[1], [2]])),
        (CHAPTER, lambda chapter: chapter.update(reserve="x")),
        (MANIFEST, lambda about: about.update(round="x")),
        (MANIFEST, lambda about: about.update(learnt_annotation=10**9)),
        (MANIFEST, lambda about: about.update(probabilities=[1])),
        (MANIFEST, lambda about: about.update(probabilities=[1, 99])),
    ],
)
def test_documents_must_be_of_this_project(
    name: str, change: Callable[[Any], object], whole: Entries, project: Project, tmp_path: Path
) -> None:
    refused(packed(tmp_path / "x.zip", with_json(whole, name, change)), project)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(round=7),
        lambda record: record.update(labels="many"),
        lambda record: record.update(reason={"<b>": 1}),
        lambda record: record.update(kept_epoch=None),
        lambda record: record["validation"].update(n="6"),
        lambda record: record["validation"].update(support=["x"]),
        lambda record: record["label_changes"].update(counts=[None]),
        lambda record: record.update(changes={"alpha": "x"}),
        lambda record: record.update(acquired=[1]),
        lambda record: record.update(unknown=1),
        lambda record: record.pop("cost"),
    ],
)
def test_records_are_checked(change: Callable[[Any], object], whole: Entries, with_model: Project) -> None:
    fails_when_tried(with_first_line(whole, ROUNDS, change), with_model)


def head(tensors: dict[str, Any]) -> str:
    return next(name for name in tensors if name.startswith("weights/") and tensors[name].ndim == 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, _: tensors.update({"pool/labels": tensors["pool/labels"] + 5}),
        lambda tensors, _: tensors.update({"pool/order": tensors["pool/order"] + 1000}),
        lambda tensors, _: tensors.update({"pool/order": tensors["pool/order"] * 0}),
        lambda tensors, _: tensors.update({"pool/pending": tensors["pool/pending"].float()}),
        lambda tensors, _: tensors.update({head(tensors): tensors[head(tensors)] * torch.nan}),
        lambda tensors, _: tensors.update({head(tensors): tensors[head(tensors)][:1].clone()}),
        lambda tensors, _: tensors.update({"weights/more": torch.zeros(3)}),
        lambda _, about: about.update(newest=-1),
        lambda _, about: about.update(round=9),
        lambda _, about: about.update(temperature="hot"),
        lambda _, about: about.update(update_sequence=7),
        lambda _, about: about["record"].update(reason=["<b>"]),
        lambda _, about: about.update(encoder={"backbone": "/etc"}),
        lambda tensors, _: tensors.update({"moments/exp_avg/x": torch.zeros(3)}),
    ],
)
def test_checkpoints_are_checked(
    change: Callable[[Any, Any], object], whole: Entries, with_model: Project, tmp_path: Path
) -> None:
    fails_when_tried(with_tensors(whole, tmp_path, change), with_model)


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        (PREDICTIONS, "class_number", 99),
        (PREDICTIONS, "text_row", 10**6),
        (PREDICTIONS, "label_set", 5),
        (PREDICTIONS, "round", -1),
        (PREDICTIONS, "probability", 1.5),
        (PREDICTIONS, "probability", "x"),
        (PREDICTIONS, "probabilities", "AAAA"),
        (PREDICTIONS, "probabilities", "AADAfwAAwH8="),  # not numbers
        (PREDICTIONS, "probabilities", "é"),
        (PREDICTIONS, "probabilities", None),
        (QUEUE, "text_row", 10**6),
        (QUEUE, "rank", "first"),
    ],
)
def test_predictions_and_queue_are_checked(
    name: str, column: str, value: Any, whole: Entries, project: Project, tmp_path: Path
) -> None:
    columns = json.loads(whole[name].splitlines()[0])

    def change(row: list[Any]) -> None:
        row[columns.index(column)] = value

    refused(packed(tmp_path / "x.zip", with_first_line(whole, name, change, line=1)), project)
