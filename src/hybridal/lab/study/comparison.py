"""Compare several schedules on one task; rounds that they share are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hybridal.core.observer import LoggingObserver, Observer
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.lab.study.trie import histories, run_cell
from hybridal.runs.assemble import surroundings
from hybridal.runs.checks import Inputs, check_start, preload_torch
from hybridal.runs.environments import record_environment
from hybridal.runs.record import RunFolder
from hybridal.runs.run import on_device
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule, make_schedule


class Comparison:
    """A run folder whose `rounds.jsonl` holds every distinct round of all schedules, with its update sequence."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.settings = folder.settings()
        self.schedules: list[Schedule] = [make_schedule(spec) for spec in folder.about()["schedules"]]

    @classmethod
    def begin(
        cls, settings: Settings, specs: Sequence[str], path: Path, observer: Observer | None = None
    ) -> Comparison:
        """Check the settings and create the folder; nothing is trained yet."""
        observer = observer or LoggingObserver()
        schedules, inputs = cls.check(settings, specs, path, observer)
        about = {
            "schedules": schedules,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            **surroundings(settings.device, settings.rules),
        }
        return cls(RunFolder.create(path, inputs.settings, inputs.task, about))

    @staticmethod
    def check(
        settings: Settings, specs: Sequence[str], path: Path, observer: Observer, download: bool = True
    ) -> tuple[list[str], Inputs]:
        """Make all checks of `check_start`; return the schedules as they are recorded, and what was loaded."""
        schedules = list(dict.fromkeys(make_schedule(spec).spec for spec in specs))
        if not schedules:
            raise UserError(
                "`schedules` names no schedule; give at least one, e.g. retrain,finetune.", field="schedules"
            )
        if settings.labels is not None:
            raise UserError("A comparison simulates its labels; leave `labels` out of its settings.", field="labels")
        return schedules, check_start(settings, path, observer, schedules, download)

    @classmethod
    def open(cls, path: Path) -> Comparison:
        folder = RunFolder.open(path)
        if not cls.is_one(path):
            raise UserError(f"{path} is a run, not a comparison; go on with `hybridal resume {path}`.")
        return cls(folder)

    @staticmethod
    def is_one(path: Path) -> bool:
        return (path / "run.json").is_file() and "schedules" in RunFolder(path).about()

    def resume(self, observer: Observer | None = None, device: str | None = None) -> None:
        """Compute the missing rounds, on another `device` if one is named."""
        observer = observer or LoggingObserver()
        with self.folder.locked():
            if all(len(history) == self.settings.rules.rounds for history in self.histories().values()):
                return
            preload_torch()
            settings = on_device(self.settings, device)
            here, recorded = surroundings(settings.device, settings.rules), len(self.folder.history())
            record_environment(self.folder.path, self.folder.about(), here, recorded, observer.message)

            def record(round_record: Round) -> None:
                self.folder.append(round_record)
                observer.round_done([round_record])

            specs = [schedule.spec for schedule in self.schedules]
            run_cell(
                settings, specs, self.folder.task(), self.rounds_by_sequence(), record, self.folder.checkpoint, observer
            )

    def rounds_by_sequence(self) -> dict[str, Round]:
        return {round_record.update_sequence: round_record for round_record in self.folder.history()}

    def histories(self) -> dict[str, tuple[Round, ...]]:
        """The rounds of each schedule, by its spec."""
        return histories(self.rounds_by_sequence(), self.schedules, self.settings.rules.rounds)
