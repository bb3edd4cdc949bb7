"""Compute several cells at once in this process, each in a thread and, on a GPU, with a separate CUDA stream."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hybridal.backbones import candidate_names, load_backbone
from hybridal.core.observer import Observer
from hybridal.errors import UserError
from hybridal.lab.study.engines import CellOutcome, device_here, work
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.thread_count import one_thread

# More lanes make a GPU hardly faster (docs/performance.md).
MAX_LANES = 8
# Per process, if several processes share a GPU: their threads also compete for Python's global lock.
MAX_LANES_WHEN_SHARED = 4
# Memory of a lane in multiples of its weights: initial, current and best weights, gradients, two moments, and a copy of
# weights and moments while a graph is recorded.
WEIGHT_COPIES_PER_LANE = 9
ACTIVATION_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Lanes:
    """An engine that keeps a GPU busy: while one cell waits for the GPU, others compute.

    Each lane has its own graphs, random generator and stream, so that the rounds of a cell do not depend on the other
    lanes. The next cell of a lane reuses the loaded classifier and its recorded graphs.

    Attributes:
        place: The device.
        lanes: Cells at once; by default as many as make the GPU faster and fit into its memory.
        sharers: Number of processes that share the GPU and its memory.
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
        """Yield the number of lanes and a function that submits a cell to the next free one."""
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
                outcome = work(folder, cell, self.place, _StopAfterEpoch(stopped))
            if outcome.error:
                lane.kept.clear()
            # A classifier and its graphs form a reference cycle; without a collection they would fill the GPU.
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
            gc.collect()  # frees the classifiers of the lanes


class Stopped(BaseException):
    """The study was stopped. Not an Exception, so that it is not handled as the failure of a cell."""


class _StopAfterEpoch(Observer):
    """Ends a cell after its current epoch once the study is stopped; a thread cannot be killed."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped

    def epoch_done(self, _epoch: int, _of: int) -> None:
        if self._stopped.is_set():
            raise Stopped


def lanes_that_fit(weights: int, free: int) -> int:
    """Return how many lanes fit into `free` bytes of a GPU if the largest model has `weights` bytes.

    >>> lanes_that_fit(weights=265_000_000, free=140 * 2**30), lanes_that_fit(265_000_000, 10 * 2**30)
    (8, 2)
    """
    return min(MAX_LANES, max(1, free // (WEIGHT_COPIES_PER_LANE * weights + ACTIVATION_BYTES)))


def lanes_here(device: Any, weights: int, sharers: int = 1) -> int:
    """Return how many lanes fit on a device that several processes share; one on a CPU."""
    import torch

    if device.type != "cuda":
        return 1
    most = lanes_that_fit(weights, torch.cuda.mem_get_info(device)[0] // sharers)
    return most if sharers == 1 else min(most, MAX_LANES_WHEN_SHARED)


def _largest(folder: StudyFolder) -> int:
    """The bytes of the largest model of a study; all candidate encoders of a cell are in memory."""
    one_of_each = {cell.settings.backbone: cell for cell in folder.cells}
    found = [0]
    for name, cell in one_of_each.items():
        with suppress(UserError):  # the error is reported when its cells run
            loaded = [load_backbone(one, folder.task(cell)) for one in candidate_names(name)]
            found.append(sum(backbone.weight_bytes for backbone in loaded))
    return max(found)
