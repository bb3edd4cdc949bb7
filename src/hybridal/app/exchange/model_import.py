"""Import the model in the archive of a project, which may come from a stranger.

No file of a run is taken over as it is, except records, labels and weights: settings are rebuilt from known fields, so
that they name neither code nor files of this server, and the task is rebuilt from the texts of the project. Then the
model is loaded and used once in a separate process.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Table, func, insert, select, update
from sqlalchemy.orm import Session

from hybridal import __version__
from hybridal.app.db.schema import Annotation, Class, Prediction, Text, Trainer
from hybridal.app.exchange.archive_reader import MAX_ABOUT, ProjectArchive
from hybridal.app.exchange.archive_tables import ROWS_PER_CHUNK, readable
from hybridal.app.exchange.archived_settings import offered_encoder, settings_of, shown_values
from hybridal.app.exchange.model_export import FOLDER, LABELS, MANIFEST, PREDICTIONS, QUEUE, TASK, VALUES
from hybridal.app.project import CHAPTER_FILE, Project
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.runs.about_file import write_about
from hybridal.runs.record import describe_run
from hybridal.system.child_check import require_success
from hybridal.system.files import strict_json
from hybridal.tasks.store import save_task
from hybridal.tasks.task import Split, Task

WITHOUT_IT = "import the project without its model"
SECONDS = 900.0  # until a model is loaded; its encoder may have to be downloaded


@contextmanager
def _usable() -> Iterator[None]:
    """Say in one sentence that a damaged or hostile model is refused, and what to do."""
    try:
        with readable():
            yield
    except (UserError, TypeError, AttributeError, LookupError) as error:
        raise UserError(
            f"The model of this export cannot be used ({str(error).rstrip('.'):.200}); {WITHOUT_IT}."
        ) from error


class ArchivedModel:
    """The model in an archive, whose files are complete and undamaged.

    Attributes:
        archived_backbone: The setting `backbone` of its newest chapter in the archive.
        backbone: The same on this server, which may have the encoder in another folder.

    Args:
        archive: The archive.
        encoders: Encoders that the model may use; None for any, if this server wrote the archive.

    Raises:
        UserError: It cannot be used.
    """

    def __init__(self, archive: ProjectArchive, encoders: Sequence[str] | None) -> None:
        self.archive, self.encoders = archive, encoders
        with _usable():
            about = archive.document(MANIFEST, MAX_ABOUT)
            if about["hybridal"] != __version__:
                raise UserError(
                    f"it was made with hybridal {about['hybridal']!s:.20}, and this server has {__version__}"
                )
            hashes = about["files"]
            if {*archive.model_files()} - {MANIFEST} != {*hashes}:
                raise ValueError("files are missing")
            for name, known in hashes.items():
                if archive.hash_of(name) != known:
                    raise ValueError(f"{name} is damaged")
            self.chapters = sorted({name.split("/")[0] for name in hashes if "/" in name}, key=int)
            self.newest = self.chapters[-1]
            self.about = about
            runs = archive.documents([f"{name}/run.json" for name in self.chapters], MAX_ABOUT)
            self.runs = dict(zip(self.chapters, runs, strict=True))
            self.settings = {name: settings_of(run) for name, run in self.runs.items()}
            newest = self.settings[self.newest]
            self.archived_backbone = self.backbone = newest.backbone
            if encoders is not None:
                self.backbone = offered_encoder(newest.backbone, about.get("encoder"), encoders)
            self.settings[self.newest] = replace(newest, backbone=self.backbone)

    def restore(self, session: Session, project: Project, report: Callable[[], None]) -> None:
        """Add the model to a project that has the texts, labels and classes of the archive.

        Args:
            session: The transaction in which these were added.
            project: The project.
            report: Called after each part.

        Raises:
            UserError: The model contradicts the project or itself; the project is incomplete then.
        """
        with _usable():
            self._add_predictions(session, project, report)
            for rows in self._chunks(QUEUE):
                session.execute(insert(QUEUE), rows)
            self._add_status(session)
            for name in self.chapters:
                folder = project.runs / name
                folder.mkdir(parents=True)
                if name == self.newest:
                    self._write_model(session, folder, report)
                else:
                    write_about(folder / "run.json", self._about(name, {"name": self.settings[name].task}))
                self._copy(f"{name}/rounds.jsonl", folder / "rounds.jsonl")

    def try_out(self, project: Project) -> None:
        """Load the model of a complete project and predict with it.

        Raises:
            UserError: That fails.
        """
        with _usable():
            require_success(try_command(project.runs), SECONDS)

    def _add_predictions(self, session: Session, project: Project, report: Callable[[], None]) -> None:
        numbers = self._class_numbers(session, self.about["probabilities"])
        for rows in self._chunks(PREDICTIONS):
            values = np.stack([np.frombuffer(base64.b64decode(row.pop("probabilities")), VALUES) for row in rows])
            if values.shape[1] != len(numbers) or not ((values >= 0) & (values <= 1)).all():
                raise ValueError("a prediction has other probabilities than the classes")
            if not all(row["round"] >= 0 and 0 <= row["probability"] <= 1 for row in rows):
                raise ValueError("a prediction is none")
            session.execute(insert(Prediction), rows)
            project.probabilities.begin({"classes": numbers}, len(numbers))
            project.probabilities.write([row["text_row"] for row in rows], values, [row["round"] + 1 for row in rows])
            report()

    def _chunks(self, table: Table) -> Iterator[list[dict[str, Any]]]:
        rows = self.archive.rows(table, FOLDER)
        while chunk := list(islice(rows, ROWS_PER_CHUNK)):
            yield chunk

    def _add_status(self, session: Session) -> None:
        """Note what is published; a trainer that finds another round in the run folder publishes that one."""
        numbers = {name: self.about[name] for name in ("round", "learnt_annotation")}
        newest = session.scalar(select(func.max(Annotation.number))) or 0
        if (
            not all(type(number) is int and number >= 0 for number in numbers.values())
            or numbers["learnt_annotation"] > newest
        ):
            raise ValueError("its status is wrong")
        session.execute(update(Trainer).values(numbers))

    def _write_model(self, session: Session, folder: Path, report: Callable[[], None]) -> None:
        """Write the run folder of the chapter that goes on."""
        task = self._task(session)
        if task.fingerprint != self.runs[self.newest]["task"]["fingerprint"]:
            raise ValueError("its texts are not those of the project")
        save_task(task, folder / "task")
        settings = self.settings[self.newest]
        write_about(folder / "run.json", self._about(self.newest, describe_run(settings, task, {})["task"]))
        (folder / CHAPTER_FILE).write_text(strict_json(self._chapter(session, task), indent=2) + "\n", encoding="utf-8")
        self._copy(f"{self.newest}/{LABELS}", folder / LABELS)
        checkpoints = [name for name in self.archive.model_files() if name.endswith(".safetensors")]
        if len(checkpoints) != 1 or not checkpoints[0].startswith(f"{self.newest}/"):
            raise ValueError("it has not one checkpoint")
        (folder / "checkpoint").mkdir()
        self._copy(checkpoints[0], folder.parent / checkpoints[0])
        report()

    def _about(self, name: str, task: Mapping[str, Any]) -> dict[str, Any]:
        """The content of a chapter's `run.json`."""
        run, settings = self.runs[name], self.settings[name]
        parts = {part: shown_values(run[part]) for part in ("versions", "hardware")}
        return {
            "settings": settings.to_json(),
            "protocol": settings.rules.to_json(),
            "task": task,
            **parts,
            **shown_values({"key": run["key"]}),
        }

    def _chapter(self, session: Session, task: Task) -> dict[str, Any]:
        about = self.archive.document(f"{self.newest}/{CHAPTER_FILE}")
        classes = self._class_numbers(session, about["classes"])
        options = about["options"]
        if not (type(about["reserve"]) is int and isinstance(options, dict)) or len(classes) != len(task.classes):
            raise ValueError(f"{CHAPTER_FILE} is wrong")
        if options.get("backbone") == self.archived_backbone:
            options = {**options, "backbone": self.backbone}
        return {"classes": classes, "reserve": about["reserve"], "options": options, "replaces": None}

    def _task(self, session: Session) -> Task:
        """The task of the run, of the texts in the database."""
        about = self.archive.document(f"{self.newest}/{TASK}")
        bodies: dict[str, str] = dict(session.execute(select(Text.id, Text.body)).all())

        def split(name: str) -> Split:
            ids = about[name]
            return Split(ids, [bodies[id] for id in ids], np.full(len(ids), UNKNOWN, dtype=np.int64))

        task = Task(about["name"], tuple(about["classes"]), split("train"), split("validation"), Split.empty())
        if "label_sets" in about:
            sets = LabelSets(len(task.classes))
            sets.translated(np.empty(0, dtype=np.int64), about["label_sets"])
            task = replace(task, label_sets=sets)
        return task.with_descriptions(about["descriptions"])

    def _class_numbers(self, session: Session, numbers: Any) -> list[int]:
        """Numbers of classes, each of which the project has."""
        known = {*session.scalars(select(Class.number))}
        if not isinstance(numbers, list) or len({*numbers}) != len(numbers) or not {*numbers} <= known:
            raise ValueError("it has other classes than the project")
        return numbers

    def _copy(self, name: str, target: Path) -> None:
        with target.open("wb") as file:
            self.archive.copy(name, file)


def try_command(runs: Path) -> list[str]:
    """The command line of the program that loads and uses the newest model of a folder."""
    return [sys.executable, "-m", "hybridal.app.trainer.model_check", str(runs)]
