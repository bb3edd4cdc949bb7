"""The model of an exported project: what is in the archive, and that an imported project goes on with it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Prediction, QueuedText
from hybridal.app.exchange import model_export, model_import
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.exchange.project_archive import import_project
from hybridal.app.insight.project_progress import progress
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project, chapter_folders
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.model_check import check
from hybridal.backbones import load_backbone
from hybridal.core.rounds import Round
from hybridal.errors import UserError

from ..copies import copied
from ..made_up import me
from ..trainer.projects import RULES, TASK, label_some, made, row, unlabelled

OFFERED = ["auto", "tiny"]


def try_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_import, "require_success", lambda command, _seconds: check(Path(command[-1])))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try models in this process, which has torch loaded, and leave pauses for the database out."""
    try_here(monkeypatch)
    monkeypatch.setattr("hybridal.app.trainer.stored_predictions.PAUSE", 0.0)


def started(project: Project) -> Cycle:
    cycle = Cycle(project)
    cycle.start()
    return cycle


def trained(folder: Path, **settings: Any) -> Project:
    """A project after two rounds, of which the second trained the encoder, and with all predictions."""
    project = made(folder, **settings)
    cycle = started(project)
    for n in (6, 1):
        label_some(project, 6, n)
        assert cycle.turn()
    while cycle.score():
        pass
    return project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(copied(trained, tmp_path / "old")) as project:
        yield project


def exported(project: Project, path: Path) -> Path:
    path.write_bytes(b"".join(archive_parts(project, with_model=True)))
    return path


def imported(path: Path, folder: Path, db: str | None = None, **options: Any) -> Project:
    import_project(path, folder, db, title="new", encoders=OFFERED, **{"with_model": True, **options})
    return Project.open(folder, db)


def records(project: Project) -> list[dict[str, Any]]:
    return [
        {**json.loads(line), "seconds": None}
        for folder in chapter_folders(project.runs)
        for line in (folder / "rounds.jsonl").read_text().splitlines()
    ]


def published(project: Project) -> list[Any]:
    """The queue and the predictions, with all probabilities."""
    kept = project.probabilities.read()
    assert kept is not None
    with project.reads() as session:
        queue = session.execute(
            select(QueuedText.text_row, QueuedText.rank, QueuedText.round).order_by(QueuedText.rank)
        ).all()
        found = session.scalars(select(Prediction).order_by(Prediction.text_row)).all()
        columns = Prediction.__table__.columns.keys()
        predictions = [tuple(getattr(one, name) for name in columns) for one in found]
    return [queue, predictions, dict(kept.about), np.where(kept.stamps[:, None], kept.values, 0).tolist()]


def some_labels(project: Project) -> None:
    label_some(project, 6, 1)


def copy_and_project_learn_the_same(
    copy: Project, project: Project, give: Callable[[Project], None] = some_labels
) -> bool:
    """Both get the same labels and train a round."""
    for one in (project, copy):
        round = row(one).round
        give(one)
        cycle = started(one)
        assert row(one).round == round
        assert cycle.turn()
    return records(copy) == records(project) and published(copy) == published(project)


def test_an_imported_project_has_its_model_at_once_and_goes_on_as_the_original(
    project: Project, tmp_path: Path, db: str | None
) -> None:
    steps: list[tuple[int, int]] = []
    path = exported(project, tmp_path / "whole.zip")
    copy = imported(path, tmp_path / "new", db, on_progress=lambda done, total: steps.append((done, total)))
    assert steps == sorted(steps)
    assert steps[-1][0] > 0.9 * steps[-1][1]
    assert records(copy) == records(project)
    assert published(copy) == published(project)
    assert (row(copy).round, row(copy).learnt_annotation) == (2, row(project).learnt_annotation)
    assert progress(copy)["rounds"] == progress(project)["rounds"]
    assert copy_and_project_learn_the_same(copy, project)
    assert [record["update_sequence"] for record in records(copy)] == ["R", "RR", "RRH"]
    copy.close()


def test_a_project_exported_while_a_round_is_trained_trains_it_too(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label_some(project, 6, 1)
    train = Chapter.learn

    def export_meanwhile(*arguments: Any) -> Round:
        exported(project, tmp_path / "whole.zip")
        return train(*arguments)

    monkeypatch.setattr(Chapter, "learn", export_meanwhile)
    assert started(project).turn()
    monkeypatch.undo()
    try_here(monkeypatch)
    with closing(imported(tmp_path / "whole.zip", tmp_path / "new")) as copy:
        assert len(records(copy)) == 2
        assert started(copy).turn()
        assert records(copy) == records(project)
        assert len(records(copy)) == 3


def test_earlier_chapters_are_counted_too(project: Project, tmp_path: Path) -> None:
    project.decide({"overrides": {**RULES, "max_epochs": 1}})
    label_some(project, 6, 1)
    assert started(project).turn()
    with closing(imported(exported(project, tmp_path / "whole.zip"), tmp_path / "new")) as copy:
        assert records(copy) == records(project)
        assert (len(chapter_folders(copy.runs)), row(copy).round, row(project).round) == (2, 3, 3)
        assert not started(copy).turn()
        assert progress(copy)["rounds"] == progress(project)["rounds"]


def some_sets(project: Project) -> None:
    texts = [*unlabelled(project, "pool", 7), *unlabelled(project, "validation", 5)]
    with project.sessions.begin() as session:
        for number, id in enumerate(texts):
            names = [[], ["food"], ["food", "sport"]][number % 3]
            annotate(session, me(project), id, "label", class_names=names, key=f"{id}-sets")


def test_several_classes_per_text(tmp_path: Path) -> None:
    with closing(made(tmp_path / "old", multi_label=True)) as project:
        some_sets(project)
        assert started(project).turn()
        with closing(imported(exported(project, tmp_path / "whole.zip"), tmp_path / "new")) as copy:
            assert (records(copy), published(copy)) == (records(project), published(project))
            assert copy_and_project_learn_the_same(copy, project, some_sets)


def test_a_project_without_a_round_has_no_model_to_export(tmp_path: Path) -> None:
    with closing(copied(made, tmp_path / "old")) as project:
        path = exported(project, tmp_path / "whole.zip")
    with closing(ProjectArchive(path)) as archive:
        assert (archive.has_model, archive.model_bytes, archive.name) == (False, 0, "toys")
    with closing(imported(path, tmp_path / "new")) as copy:
        assert row(copy).round == 0


def test_the_model_is_left_out_unless_it_is_asked_for(project: Project, tmp_path: Path) -> None:
    plain = tmp_path / "plain.zip"
    plain.write_bytes(b"".join(archive_parts(project)))
    for path, wanted in ((exported(project, tmp_path / "whole.zip"), False), (plain, True)):
        with closing(imported(path, tmp_path / path.stem, with_model=wanted)) as copy:
            assert (row(copy).round, chapter_folders(copy.runs)) == (0, [])


def test_files_that_are_replaced_meanwhile_are_opened_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_export, "PAUSE", 0.0)
    opened, (folder,) = model_export._opened, chapter_folders(project.runs)
    times = iter(range(100))

    def saved_meanwhile(*arguments: Any) -> Any:
        if next(times) < 2:
            (folder / "labels.csv").write_bytes((folder / "labels.csv").read_bytes() + b" ")
        return opened(*arguments)

    monkeypatch.setattr(model_export, "_opened", saved_meanwhile)
    with zipfile.ZipFile(exported(project, tmp_path / "whole.zip")) as archive:
        assert archive.read("model/001/labels.csv").endswith(b"  ")
    times = iter([0] * 100)
    with pytest.raises(UserError, match="export the project again in a minute"):
        archive_parts(project, with_model=True)


def test_an_encoder_that_this_server_does_not_offer_is_named(project: Project, tmp_path: Path) -> None:
    path = exported(project, tmp_path / "whole.zip")
    with pytest.raises(UserError, match=r"needs the encoder 'tiny', which this server does not offer\); import"):
        import_project(path, tmp_path / "new", title="new", encoders=["minilm"], with_model=True)
    import_project(path, tmp_path / "copy", title="copy", trusted=True, with_model=True)


def encoder(folder: Path) -> str:
    """An encoder in a folder."""
    return str(shutil.copytree(load_backbone("tiny", TASK).folder, folder))


def test_the_same_encoder_may_lie_in_another_folder(tmp_path: Path) -> None:
    theirs, ours = encoder(tmp_path / "theirs"), encoder(tmp_path / "ours")
    with closing(trained(tmp_path / "old", backbone=theirs)) as project:
        path = exported(project, tmp_path / "whole.zip")
        (tmp_path / "theirs").rename(tmp_path / "away")
        import_project(path, tmp_path / "new", title="new", encoders=[ours, "auto"], with_model=True)
        (tmp_path / "away").rename(theirs)
        with closing(Project.open(tmp_path / "new")) as copy:
            assert copy.setting("backbone") == ours
            assert copy_and_project_learn_the_same(copy, project)
            assert [record["update_sequence"] for record in records(copy)] == ["R", "RR", "RRH"]


def test_another_encoder_is_refused_also_in_the_same_folder(tmp_path: Path) -> None:
    name = encoder(tmp_path / "encoder")
    with closing(trained(tmp_path / "old", backbone=name)) as project:
        path = exported(project, tmp_path / "whole.zip")
    with closing(imported(path, tmp_path / "as-offered", with_model=False)) as copy:
        assert copy.setting("backbone") == "auto"
    # It lies there, but this server does not offer the folder.
    with pytest.raises(UserError, match=f"needs the encoder '{name[:80]}', which this server does not offer"):
        imported(path, tmp_path / "new")
    import_project(path, tmp_path / "same", title="same", encoders=[name], with_model=True)
    config = tmp_path / "encoder" / "config.json"
    config.write_text(config.read_text().replace("{", '{"note": 1,', 1))
    with pytest.raises(UserError, match=f"has another encoder in '{name[:80]}"):
        import_project(path, tmp_path / "new", title="new", encoders=[name], with_model=True)


def test_settings_that_would_fill_the_memory_are_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exported(project, tmp_path / "whole.zip")
    monkeypatch.setattr("hybridal.app.exchange.model_import.MAX_ABOUT", 100)
    with pytest.raises(UserError, match=r"cannot be used .*; import the project without its model"):
        imported(path, tmp_path / "new")
