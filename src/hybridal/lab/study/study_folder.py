"""The study folder: what was asked, and the facts of every cell."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.lab.study.study import CellPlan, Study
from hybridal.lab.study.trie import histories
from hybridal.runs.about_file import read_about, write_about
from hybridal.runs.journal import Journal
from hybridal.runs.record import recorded_rounds
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json, write_whole
from hybridal.system.lock import InUseError, locked
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Task


class StudyFolder:
    """A study on disk.

    `study.json` says what was asked; `tasks/` holds each task once; `cells/KEY/rounds.jsonl` the facts of a cell,
    append-only, each distinct round once; `cells/KEY/error.txt` why a cell failed. Every cell is written by one process
    at a time, so that nothing else needs to be agreed upon. It may go on with another `device` than `study.json` names,
    which is part of what its cells are called.
    """

    def __init__(self, path: Path, study: Study, device: str | None = None) -> None:
        self.path, self.study, self.device = path, study, device or study.device
        self.cells = study.cells()

    @classmethod
    def create(
        cls, path: Path, study: Study, about: dict[str, Any], tasks: Mapping[str, Task] | None = None
    ) -> StudyFolder:
        """A new folder with its tasks, by their keys; `study.json` comes last, so that whoever finds it finds all."""
        folder = cls(path, study)
        folder._refuse_others()
        try:
            path.mkdir(parents=True, exist_ok=True)
            with locked(path / "study.lock", path):
                folder._refuse_others()  # who began at the same moment and was first
                for key, task in (tasks or {}).items():
                    save_task(task, folder.task_home(key))
                write_about(path / "study.json", {"study": study.to_json(), **about})
        except OSError as error:
            raise UserError(
                f"The study folder {path} could not be written ({error.strerror}); choose another `folder`.",
                field="folder",
            ) from error
        return folder

    def _refuse_others(self) -> None:
        if (self.path / "study.json").exists():
            raise UserError(
                f"{self.path} holds a study already; go on with `hybridal study resume {self.path}`, or choose another "
                "`folder`.",
                field="folder",
            )
        for left in ("tasks", "cells"):
            if (self.path / left).exists():
                raise UserError(
                    f"{self.path} has a folder '{left}' that belongs to no study; delete it, or choose another "
                    "`folder`.",
                    field="folder",
                )

    @classmethod
    def open(cls, path: Path, device: str | None = None) -> StudyFolder:
        if not (path / "study.json").is_file():
            raise UserError(f"{path} is not a study folder: it has no study.json.")
        return cls(path, Study.from_json(read_about(path / "study.json", ("study",))["study"]), device)

    def about(self) -> dict[str, Any]:
        return read_about(self.path / "study.json", ("study",))

    def home(self, cell: CellPlan) -> Path:
        return self.path / "cells" / cell.key

    @contextmanager
    def working_on(self, cell: CellPlan) -> Iterator[Path]:
        """The cell's folder, for this process alone; its states are dropped when it is complete."""
        home = self.home(cell)
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / "cell.lock", home):
            yield home
            if self.complete(cell):
                shutil.rmtree(home / "states", ignore_errors=True)

    def tidy(self) -> None:
        """Drops states that complete cells were killed too early to drop: there may be gigabytes of them."""
        for cell in self.cells:
            if (self.home(cell) / "states").exists() and self.complete(cell):
                with suppress(InUseError), self.working_on(cell):
                    pass

    def journal(self, cell: CellPlan) -> Journal:
        return Journal(self.home(cell) / "rounds.jsonl")

    def facts(self, cell: CellPlan) -> dict[str, Round]:
        """The recorded rounds of a cell by their word."""
        return {fact.update_sequence: fact for fact in recorded_rounds(self.journal(cell))}

    def histories(self, cell: CellPlan) -> dict[str, tuple[Round, ...]]:
        """The rounds of each of a cell's schedules, as far as they are recorded."""
        schedules = [make_schedule(spec) for spec in cell.schedules]
        return histories(self.facts(cell), schedules, cell.settings.rules.rounds)

    def finished(self, cell: CellPlan) -> int:
        """How many of a cell's schedules have all their rounds."""
        return sum(len(history) == cell.settings.rules.rounds for history in self.histories(cell).values())

    def complete(self, cell: CellPlan) -> bool:
        return self.finished(cell) == cell.runs

    def error(self, cell: CellPlan) -> str | None:
        """The traceback of a cell that failed and was not completed since."""
        file = self.home(cell) / "error.txt"
        return file.read_text(encoding="utf-8") if file.exists() and not self.complete(cell) else None

    def write_error(self, cell: CellPlan, text: str) -> None:
        self.home(cell).mkdir(parents=True, exist_ok=True)
        write_whole(self.home(cell) / "error.txt", text)

    def task(self, cell: CellPlan) -> Task:
        return load_saved(self.task_home(task_key(cell.settings)))

    def task_home(self, key: str) -> Path:
        return self.path / "tasks" / key


def task_key(settings: Settings) -> str:
    """The same for cells that have the same texts in the same splits."""
    rules = settings.rules
    seed = settings.seed if rules.split_seed is None else rules.split_seed
    merged = [] if rules.validation == "fixed" else ["merged"]
    asked = strict_json([*astuple(settings.source), seed, *merged])
    return f"{Path(settings.task).stem}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
