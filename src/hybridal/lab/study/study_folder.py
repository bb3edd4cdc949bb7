"""The study folder: the study as it was requested, its tasks, and the recorded rounds of every cell."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.lab.study.study import CellPlan, Study
from hybridal.lab.study.trie import histories
from hybridal.runs.about_file import read_about, write_about
from hybridal.runs.record import recorded_rounds
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json, usable_path, write_whole
from hybridal.system.journal import Journal
from hybridal.system.lock import InUseError, locked
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Task


class StudyFolder:
    """A study on disk.

    `study.json` holds the study, `tasks/` each task once, `cells/KEY/rounds.jsonl` each distinct round of a cell once
    (append-only), `cells/KEY/error.txt` the traceback of a failed cell. One process at a time writes a cell, so
    processes need no other coordination.

    Args:
        path: The folder.
        study: The study.
        device: Continue with this device instead of that of the study. The keys of cells contain the original one.
    """

    def __init__(self, path: Path, study: Study, device: str | None = None) -> None:
        self.path, self.study, self.device = usable_path(path), study, device or study.device
        self.cells = study.cells()

    @classmethod
    def create(
        cls, path: Path, study: Study, about: dict[str, Any], tasks: Mapping[str, Task] | None = None
    ) -> StudyFolder:
        """Create the folder with its tasks, by key. `study.json` is written last: if it exists, all else does."""
        folder = cls(path, study)
        folder._refuse_others()
        try:
            path.mkdir(parents=True, exist_ok=True)
            with locked(path / "study.lock", path):
                folder._refuse_others()  # created by another process in the meantime
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
        """Lock the folder of a cell for this process. Saved states are deleted once the cell is complete."""
        home = self.home(cell)
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / "cell.lock", home):
            yield home
            if self.complete(cell):
                shutil.rmtree(home / "states", ignore_errors=True)

    def tidy(self) -> None:
        """Delete the saved states of complete cells whose process was killed before it could; they can be gigabytes."""
        for cell in self.cells:
            if (self.home(cell) / "states").exists() and self.complete(cell):
                with suppress(InUseError), self.working_on(cell):
                    pass

    def journal(self, cell: CellPlan) -> Journal:
        return Journal(self.home(cell) / "rounds.jsonl")

    def rounds_by_sequence(self, cell: CellPlan) -> dict[str, Round]:
        """The recorded rounds of a cell by update sequence."""
        return {record.update_sequence: record for record in recorded_rounds(self.journal(cell))}

    def histories(self, cell: CellPlan) -> dict[str, tuple[Round, ...]]:
        """The recorded rounds of each schedule of a cell."""
        schedules = [make_schedule(spec) for spec in cell.schedules]
        return histories(self.rounds_by_sequence(cell), schedules, cell.settings.rules.rounds)

    def finished(self, cell: CellPlan) -> int:
        """The number of schedules of a cell that have all their rounds."""
        return sum(len(history) == cell.settings.rules.rounds for history in self.histories(cell).values())

    def complete(self, cell: CellPlan) -> bool:
        return self.finished(cell) == cell.runs

    def error(self, cell: CellPlan) -> str | None:
        """The traceback of a failed cell; None if it did not fail or was completed later."""
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
    """Return the name of a task's folder: equal for cells that have the same texts in the same splits."""
    rules = settings.rules
    seed = settings.seed if rules.split_seed is None else rules.split_seed
    merged = [] if rules.validation == "fixed" else ["merged"]
    asked = strict_json([*settings.source.key_values, seed, *merged])
    return f"{Path(settings.task).stem}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
