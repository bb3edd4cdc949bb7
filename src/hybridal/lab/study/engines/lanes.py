"""Several cells at once in this process; on a GPU each has a stream of its own."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hybridal.backbones import load_backbone
from hybridal.core.observer import Observer
from hybridal.errors import UserError
from hybridal.lab.study.engines import CellOutcome, device_here, work
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.thread_count import one_thread

# Beyond this a GPU gains too little from one more (docs/performance.md).
MOST = 8
# Of several processes that share a GPU, each gains little from more: threads take turns in Python.
TOGETHER = 4
# What a lane keeps, in multiples of its weights: θ₀, θ, the best so far, gradients, two moments, and a copy of all
# that training changes while a graph is recorded.
COPIES = 9
# Room for the numbers between the layers.
BETWEEN = 2 * 2**30


@dataclass(frozen=True)
class Lanes:
    """A study at the pace of the GPU: while one cell waits for its answers, others compute.

    Each lane has its own graphs, generator and stream, so that a cell's facts do not depend on its neighbours; its next
    cell takes over what is loaded and recorded. `lanes` says how many cells go side by side; without it, as many as the
    GPU gains from and as its memory holds, of which each of so many `sharers` has a part.
    """

    place: str
    lanes: int | None = None
    sharers: int = 1

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        if not cells:
            return
        with self.opened(folder) as (_, compute):
            for future in as_completed([compute(cell) for cell in cells]):
                yield future.result()

    @contextmanager
    def opened(self, folder: StudyFolder) -> Iterator[tuple[int, Callable[[CellPlan], Future[CellOutcome]]]]:
        """How many lanes there are, and what gives a cell to the next one that is free."""
        import torch

        from hybridal.models.classifier_cache import ClassifierCache
        from hybridal.models.device import choose_device, ready_for_threads

        ready_for_threads(self.place, strictly=any(cell.settings.rules.arithmetic != "plain" for cell in folder.cells))
        device = choose_device(self.place).torch
        lanes = self.lanes or lanes_here(device, _largest(folder), self.sharers)
        lane, stopped = threading.local(), threading.Event()

        def enter() -> None:
            lane.stream, lane.kept = torch.cuda.Stream(device) if device.type == "cuda" else None, ClassifierCache()

        def compute(cell: CellPlan) -> CellOutcome:
            with torch.cuda.stream(lane.stream), lane.kept.activate():
                outcome = work(folder, cell, self.place, _Alarm(stopped))
            if outcome.error:
                lane.kept.clear()
            # A classifier and its graphs hold each other: the GPU would fill up with those that nobody keeps.
            gc.collect()
            return outcome

        try:
            with one_thread(), ThreadPoolExecutor(lanes, initializer=enter) as pool:
                try:
                    yield lanes, lambda cell: pool.submit(compute, cell)
                finally:
                    stopped.set()
                    pool.shutdown(wait=False, cancel_futures=True)
        finally:
            gc.collect()  # what the lanes kept


class Stopped(BaseException):
    """Not a cell's own failure: nothing catches it on its way out."""


class _Alarm(Observer):
    """Ends a cell after its epoch when the study is stopped; its thread would go on for as long as the cell takes."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped

    def epoch_done(self, _epoch: int, _of: int) -> None:
        if self._stopped.is_set():
            raise Stopped


def lanes_that_fit(weights: int, free: int) -> int:
    """How many lanes a GPU with so many free bytes has room for, when the largest model has so many bytes.

    >>> lanes_that_fit(weights=265_000_000, free=140 * 2**30), lanes_that_fit(265_000_000, 10 * 2**30)
    (8, 2)
    """
    return min(MOST, max(1, free // (COPIES * weights + BETWEEN)))


def lanes_here(device: Any, weights: int, sharers: int = 1) -> int:
    """As many lanes as a GPU has room for in each of so many processes; one on a processor."""
    import torch

    if device.type != "cuda":
        return 1
    most = lanes_that_fit(weights, torch.cuda.mem_get_info(device)[0] // sharers)
    return most if sharers == 1 else min(most, TOGETHER)


def _largest(folder: StudyFolder) -> int:
    """The bytes of the largest model of a study."""
    one_of_each = {cell.settings.backbone: cell for cell in folder.cells}
    found = [0]
    for name, cell in one_of_each.items():
        with suppress(UserError):  # which its cells will report
            found.append(load_backbone(name, folder.task(cell)).weight_bytes)
    return max(found)
