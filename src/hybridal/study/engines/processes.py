"""In several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from hybridal.study.engines import CellOutcome, device_here, work
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

DIED = "The worker process died: it was killed, or ran out of memory."


@dataclass(frozen=True)
class Processes:
    """A pool of `workers`.

    A worker that dies (out of memory, say) takes its pool with it, and one of the cells under way is to blame: each of
    them is tried once more in a process of its own, where it can only hurt itself, and the others go on after that.
    """

    workers: int

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        waiting = deque(cells)
        while waiting:
            suspects: list[CellPlan] = []
            yield from self._pool(folder.path, waiting, suspects, self.workers)
            for cell in suspects:
                dead: list[CellPlan] = []
                yield from self._pool(folder.path, deque([cell]), dead, 1)
                if dead:
                    folder.write_error(cell, DIED)
                    yield CellOutcome(cell.key, DIED)

    def _pool(self, path: Path, waiting: deque[CellPlan], died: list[CellPlan], workers: int) -> Iterator[CellOutcome]:
        """Takes cells from `waiting`, a worker's each, until none is left or the pool breaks; then says who `died`."""
        context = multiprocessing.get_context("spawn")
        running: dict[Future[CellOutcome], CellPlan] = {}
        with ProcessPoolExecutor(workers, context, _start) as pool:
            while (waiting or running) and not died:
                while waiting and len(running) < workers and not died:
                    cell = waiting.popleft()
                    try:
                        running[pool.submit(_work, path, cell.key)] = cell
                    except BrokenProcessPool:
                        died.append(cell)
                # In a broken pool all that is under way ends at once.
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    cell = running.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        died.append(cell)
            died.extend(running.values())


def _start() -> None:
    """One worker's share of the machine."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _work(path: Path, key: str) -> CellOutcome:
    folder = StudyFolder.open(path)
    (cell,) = (cell for cell in folder.cells if cell.key == key)
    return work(folder, cell)
