"""The run folder: settings, round records, and everything that is needed to resume."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any

from hybridal.backbones import Backbone
from hybridal.backbones.exported import ABOUT
from hybridal.core.rounds import Chosen, Round
from hybridal.core.rules import Rules
from hybridal.errors import RunError, UserError
from hybridal.runs.about_file import read_about, write_about
from hybridal.runs.settings import Settings
from hybridal.system.files import usable_path
from hybridal.system.journal import Journal
from hybridal.system.lock import locked
from hybridal.tasks.store import load_saved, save_task
from hybridal.tasks.task import Task


class RunFolder:
    """One run on disk.

    `run.json` has settings and environment; `task/` the texts, so that the folder can be moved; `rounds.jsonl` the
    append-only round records; `checkpoint/` the state after the last round; `model/` and `report.html` are written at
    the end.
    """

    def __init__(self, path: Path, task: Task | None = None, backbone: Backbone | None = None) -> None:
        self.path = path = usable_path(path)
        self.rounds = Journal(path / "rounds.jsonl")
        self.checkpoint = path / "checkpoint"
        self.model = path / "model"
        self.report = path / "report.html"
        self.backbone, self._task = backbone, task

    @classmethod
    def create(
        cls, path: Path, settings: Settings, task: Task, about: Mapping[str, Any], backbone: Backbone | None = None
    ) -> RunFolder:
        """Create the folder of a new run.

        Args:
            path: A folder that does not hold a run.
            settings: The settings of the run.
            task: The task, which is saved in the folder and kept in memory.
            about: More fields of `run.json`.
            backbone: Kept in memory, so that the run need not load it again.

        Returns:
            The folder.

        Raises:
            UserError: If the folder holds a run already, or cannot be written.
        """
        folder = cls(path, task, backbone)
        folder.refuse_others()
        try:
            path.mkdir(parents=True, exist_ok=True)
            with folder.locked():
                folder.refuse_others()  # another process may have created a run since the first check
                save_task(task, path / "task")
                write_about(path / "run.json", describe_run(settings, task, about))
        except OSError as error:
            raise UserError(
                f"The run folder {path} could not be written ({error.strerror}); choose another `folder`.",
                field="folder",
            ) from error
        return folder

    def refuse_others(self) -> None:
        """Refuse a folder that holds a run or leftovers of one."""
        if (self.path / "run.json").exists():
            raise UserError(
                f"{self.path} holds a run already; go on with `hybridal resume {self.path}`, or choose another "
                "`folder`.",
                field="folder",
            )
        for left in ("task", "rounds.jsonl", "checkpoint"):
            if (self.path / left).exists():
                raise UserError(
                    f"{self.path} has a '{left}' that belongs to no run; delete it, or choose another `folder`.",
                    field="folder",
                )

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Open the folder of an existing run.

        Raises:
            UserError: If there is none, or an unpublished or newer version of hybridal wrote it.
            RunError: If `run.json` is damaged.
        """
        if not (path / "run.json").is_file():
            others = {
                "study.json": "a study, for `hybridal study`",
                ABOUT: "a finished model, for `TextClassifier.load`",
            }
            hint = next(
                (f"it is {what}" for name, what in others.items() if (path / name).is_file()), "it has no run.json"
            )
            raise UserError(f"{path} is not a run folder: {hint}.")
        folder = cls(path)
        folder.about()
        return folder

    def about(self) -> dict[str, Any]:
        """The content of `run.json`, which never changes."""
        return self._about

    @cached_property
    def _about(self) -> dict[str, Any]:
        return read_about(self.path / "run.json", ("settings", "task"))

    def settings(self) -> Settings:
        """Return the settings, with the protocol's fields as recorded, because its defaults may have changed since."""
        about = self.about()
        settings, rules = Settings.from_json(about["settings"]), about.get("protocol")
        if not isinstance(rules, dict):
            return settings
        recorded = {part.name: rules.get(part.name, part.default) for part in fields(Rules) if part.name != "name"}
        changed = {name: value for name, value in recorded.items() if getattr(settings.rules, name) != value}
        return settings.with_changes({"overrides": changed}) if changed else settings

    def task(self) -> Task:
        """The task of the run; read from disk once, and not at all in the process that created the folder."""
        if self._task is None:
            task = load_saved(self.path / "task")
            if task.fingerprint != self.about()["task"]["fingerprint"]:
                raise RunError(f"The texts in {self.path / 'task'} are not those of run.json; restore that folder.")
            self._task = task
        return self._task

    def history(self) -> list[Round]:
        return recorded_rounds(self.rounds)

    def append(self, record: Round | Chosen) -> None:
        self.rounds.append(record.to_json())

    def locked(self) -> AbstractContextManager[None]:
        """Lock the folder: only one process may work on a run."""
        return locked(self.path / "run.lock", self.path)


def recorded_rounds(journal: Journal) -> list[Round]:
    """Return the rounds of a journal.

    A line may also be a later query of a round whose line was written before; the last one counts.

    Raises:
        RunError: If a line is not a round.
    """
    history: list[Round] = []
    for number, record in enumerate(journal.read(), start=1):
        try:
            if Chosen.is_json(record):
                history[record["round"] - 1] = history[record["round"] - 1].completed(Chosen.from_json(record))
            else:
                history.append(Round.from_json(record))
        except (KeyError, TypeError, IndexError) as error:
            raise RunError(
                f"Line {number} of {journal.path} is not a round ({error}): something else has written there; "
                "restore the file from a backup, or delete that line and all after it."
            ) from error
    return history


def describe_run(settings: Settings, task: Task, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `run.json`."""
    return {
        "settings": settings.to_json(),
        "protocol": settings.rules.to_json(),
        "task": {
            "name": task.name,
            "classes": task.classes,
            "texts": len(task.train),
            "fingerprint": task.fingerprint,
        },
        **about,
    }
