"""Several cells at once in this process, each on a stream of its own of a GPU."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

from hybridal.study.engines import Outcome, device_here, one_thread, work
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

    `devices` has an entry for each lane: the GPU that it computes on. Each cell has its own graphs, generator and
    stream, so that its facts do not depend on its neighbours.
    """

    devices: Sequence[str]

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[Outcome]:
        free: SimpleQueue[str] = SimpleQueue()
        for device in self.devices:
            free.put(device)
        place = threading.local()

        def enter() -> None:
            place.device = free.get()

        def compute(cell: CellPlan) -> Outcome:
            with _stream_of_its_own(place.device):
                outcome = work(folder, cell, place.device)
            # A classifier and its graphs hold each other: the GPU would fill up with those of cells that are done.
            gc.collect()
            return outcome

        with one_thread(), ThreadPoolExecutor(len(self.devices), initializer=enter) as pool:
            futures = [pool.submit(compute, cell) for cell in cells]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


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


def lanes_here(weights: Iterable[int], gpus: Sequence[str]) -> list[str]:
    """The GPU of each lane: as many lanes as each has room for, dealt out in turn."""
    import torch

    largest = max(weights)
    room = {gpu: lanes_that_fit(largest, torch.cuda.mem_get_info(gpu)[0]) for gpu in gpus}
    return [gpu for turn in range(MOST) for gpu in gpus if turn < room[gpu]]
