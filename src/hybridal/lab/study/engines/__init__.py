"""Engines compute the cells of a study. The rounds are the same on each."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.trie import run_cell
from hybridal.system.lock import InUseError
from hybridal.system.thread_count import one_thread


@dataclass(frozen=True)
class CellOutcome:
    """The result of a cell; `error` is a traceback."""

    key: str
    error: str | None = None


class Engine(Protocol):
    """Computes cells in any order and yields the outcome of each."""

    def device(self, asked: str) -> str:
        """Describe the device that cells will use; refuse one that does not exist."""

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]: ...


def device_here(asked: str) -> str:
    """Describe a device of this machine."""
    from hybridal.models.device import choose_device

    return choose_device(asked).description


def work(folder: StudyFolder, cell: CellPlan, device: str, observer: Observer | None = None) -> CellOutcome:
    """Compute one cell into the study folder. A failure is recorded there and does not affect other cells."""
    settings = replace(cell.settings, device=device)
    try:
        with one_thread(), folder.working_on(cell) as home:
            task, known, journal = folder.task(cell), folder.rounds_by_sequence(cell), folder.journal(cell)
            watcher = observer or Observer()

            def record(round_record: Round) -> None:
                journal.append(round_record.to_json())
                watcher.round_done([round_record])

            run_cell(settings, cell.schedules, task, known, record, home / "states", observer)
    except Exception as error:
        told = traceback.format_exc()
        if not isinstance(error, InUseError):  # another process computes the cell
            folder.write_error(cell, told)
        return CellOutcome(cell.key, told)
    return CellOutcome(cell.key)


@dataclass
class Here:
    """Computes one cell after the other in this process. Only here does an observer see every epoch."""

    observer: Observer = field(default_factory=Observer)

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        for cell in cells:
            yield work(folder, cell, folder.device, self.observer)
