"""Several cells at once in this process, each on a stream of its own of a GPU."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue

from hybridal.backbones import load_backbone
from hybridal.core.observer import Observer
from hybridal.errors import UserError
from hybridal.study.engines import CellOutcome, device_here, one_thread, work
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

# Beyond this a GPU gains too little from one more (docs/performance.md).
MOST = 8
# What a lane keeps, in multiples of its weights: θ₀, θ, the best so far, gradients, two moments, and a copy of all
# that training changes while a graph is recorded.
COPIES = 9
# Room for the numbers between the layers.
BETWEEN = 2 * 2**30


@dataclass(frozen=True)
class Lanes:
    """A study at the pace of the GPU: while one cell waits for its answers, others compute.

    Each cell has its own graphs, generator and stream, so that its facts do not depend on its neighbours. `lanes` says
    how many cells go side by side; without it, as many as memory holds and the GPU gains from.
    """

    gpus: Sequence[str]
    lanes: int | None = None

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        if not cells:
            return
        from hybridal.models.device import ready_for_threads

        for gpu in self.gpus:
            ready_for_threads(gpu, strictly=any(cell.settings.rules.path != "plain" for cell in cells))
        devices = self._devices(folder, cells)
        free: SimpleQueue[str] = SimpleQueue()
        for device in devices:
            free.put(device)
        place = threading.local()
        stopped = threading.Event()

        def enter() -> None:
            place.device = free.get()

        def compute(cell: CellPlan) -> CellOutcome:
            with _stream_of_its_own(place.device):
                outcome = work(folder, cell, place.device, _Alarm(stopped))
            # A classifier and its graphs hold each other: the GPU would fill up with those of cells that are done.
            gc.collect()
            return outcome

        with one_thread(), ThreadPoolExecutor(len(devices), initializer=enter) as pool:
            futures = [pool.submit(compute, cell) for cell in cells]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _devices(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> list[str]:
        """The GPU of each lane."""
        if self.lanes is not None:
            return [self.gpus[lane % len(self.gpus)] for lane in range(self.lanes)]
        return lanes_here(_largest(folder, cells), self.gpus)


class _Stopped(BaseException):
    """Not a cell's own failure: nothing catches it on its way out."""


class _Alarm(Observer):
    """Ends a cell after its epoch when the study is stopped; its thread would go on for as long as the cell takes."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped

    def epoch_done(self, _epoch: int, _of: int) -> None:
        if self._stopped.is_set():
            raise _Stopped


@contextmanager
def _stream_of_its_own(device: str) -> Iterator[None]:
    import torch

    if torch.device(device).type != "cuda":
        yield
        return
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream(device)):
        yield


def lanes_that_fit(weights: int, free: int) -> int:
    """How many lanes a GPU with so many free bytes has room for, when the largest model has so many bytes.

    >>> lanes_that_fit(weights=265_000_000, free=140 * 2**30), lanes_that_fit(265_000_000, 10 * 2**30)
    (8, 2)
    """
    return min(MOST, max(1, free // (COPIES * weights + BETWEEN)))


def lanes_here(weights: int, gpus: Sequence[str]) -> list[str]:
    """The GPU of each lane: as many lanes as each has room for, dealt out in turn."""
    import torch

    room = {gpu: lanes_that_fit(weights, torch.cuda.mem_get_info(gpu)[0]) for gpu in gpus}
    return [gpu for turn in range(MOST) for gpu in gpus if turn < room[gpu]]


def _largest(folder: StudyFolder, cells: Sequence[CellPlan]) -> int:
    """The bytes of the largest model among the cells."""
    one_of_each = {cell.settings.backbone: cell for cell in cells}
    found = [0]
    for name, cell in one_of_each.items():
        with suppress(UserError):  # which its cells will report
            found.append(load_backbone(name, folder.task(cell)).weight_bytes)
    return max(found)
