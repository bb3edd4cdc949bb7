"""In this process, one cell after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hybridal.core.observer import Observer
from hybridal.study.engines import CellOutcome, device_here, work
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan


@dataclass
class Here:
    """The simplest engine; the only one in which an observer sees every epoch."""

    observer: Observer = field(default_factory=Observer)

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        for cell in cells:
            yield work(folder, cell, observer=self.observer)
