"""In several processes of this machine, pinned to its devices."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path

from hybridal.study.engines import Outcome, work
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

DIED = "The worker process died: it was killed, or ran out of memory."

# Which device this worker computes on; set when it starts.
_device: str | None = None


@dataclass(frozen=True)
class Processes:
    """A pool of `workers`. `devices` are dealt out in turn, so that several workers share each GPU.

    A worker that dies (out of memory, say) takes the pool with it: its cell is tried once more in a new pool, and given
    up after that.
    """

    workers: int
    devices: Sequence[str] = ()
    tries: int = 2

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[Outcome]:
        left = {cell.key: cell for cell in cells}
        tried = dict.fromkeys(left, 0)
        while left:
            for key in left:
                tried[key] += 1
            for outcome in self._pool(folder.path, list(left.values())):
                if outcome.error is None or outcome.error != DIED or tried[outcome.key] >= self.tries:
                    del left[outcome.key]
                    yield outcome

    def _pool(self, path: Path, cells: Sequence[CellPlan]) -> Iterator[Outcome]:
        context = multiprocessing.get_context("spawn")
        devices: Queue[str | None] = context.Queue()
        for number in range(self.workers):
            devices.put(self.devices[number % len(self.devices)] if self.devices else None)
        threads = max(1, (os.cpu_count() or 1) // self.workers)
        with ProcessPoolExecutor(self.workers, context, _start, (devices, threads)) as pool:
            waiting: dict[Future[Outcome], str] = {pool.submit(_work, path, cell.key): cell.key for cell in cells}
            for future in as_completed(waiting):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Outcome(waiting[future], DIED)


def _start(devices: Queue[str | None], threads: int) -> None:
    """One worker's share of the machine: threads of several workers would fight over the cores."""
    global _device
    _device = devices.get()
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _work(path: Path, key: str) -> Outcome:
    folder = StudyFolder.open(path)
    (cell,) = (cell for cell in folder.cells if cell.key == key)
    return work(folder, cell, _device)
