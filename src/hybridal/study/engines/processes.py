"""In several processes of this machine, each with lanes of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Lock

from hybridal.study.engines import CellOutcome, device_here
from hybridal.study.engines.lanes import Lanes
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

DIED = "The worker process died: it was killed, or ran out of memory."


@dataclass(frozen=True)
class Processes:
    """A process for each of `lanes`: a core of the processor, a GPU, or a share of one.

    A cell goes to whichever lane is free. When a process dies (out of memory, say) one of its cells is to blame: each
    of them is tried once more in a process of its own, where it can only hurt itself.
    """

    lanes: Sequence[Lanes]

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        suspects: list[CellPlan] = []
        yield from _spread(folder.path, self.lanes[: len(cells)], deque(cells), suspects)
        for cell in suspects:
            dead: list[CellPlan] = []
            yield from _spread(folder.path, [replace(self.lanes[0], lanes=1)], deque([cell]), dead)
            if dead:
                folder.write_error(cell, DIED)
                yield CellOutcome(cell.key, DIED)


def _spread(
    path: Path, lanes: Sequence[Lanes], waiting: deque[CellPlan], died: list[CellPlan]
) -> Iterator[CellOutcome]:
    """Computes all that is `waiting`, but for the cells that `died` with their process."""
    workers = {worker.pipe: worker for worker in (_Worker(path, each) for each in lanes)}
    try:
        while waiting or any(worker.cells for worker in workers.values()):
            for pipe in wait(workers):
                worker = workers[pipe]  # type: ignore[index]
                try:
                    outcome = worker.hear()
                except (EOFError, OSError):
                    del workers[worker.pipe]
                    died += worker.cells.values()
                    worker.end()
                    if worker.cells and waiting:
                        another = _Worker(path, worker.lanes)
                        workers[another.pipe] = another
                    continue
                if outcome is not None:
                    yield outcome
                if waiting:
                    worker.give(waiting.popleft())
            if not workers:  # none of them could even start
                died += waiting
                waiting.clear()
    finally:
        for worker in workers.values():
            worker.end()


class _Worker:
    """A process as its driver knows it."""

    def __init__(self, path: Path, lanes: Lanes) -> None:
        self.lanes, self.cells = lanes, dict[str, CellPlan]()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, path, lanes))
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def hear(self) -> CellOutcome | None:
        """A lane is free, after this cell if it had one."""
        outcome: CellOutcome | None = self.pipe.recv()
        if outcome is not None:
            del self.cells[outcome.key]
        return outcome

    def give(self, cell: CellPlan) -> None:
        self.cells[cell.key] = cell
        with suppress(OSError):  # it has died, which will be heard
            self.pipe.send(cell.key)

    def end(self) -> None:
        """At once: what it computes is recorded round by round, and nobody waits for the rest."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, path: Path, lanes: Lanes) -> None:
    """Computes what is asked for, until nobody is left to ask, even one who was killed."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to hear
    folder = StudyFolder.open(path)
    cells, speaking = {cell.key: cell for cell in folder.cells}, Lock()

    def say(outcome: CellOutcome | None) -> None:
        with speaking:
            pipe.send(outcome)

    def done(future: Future[CellOutcome]) -> None:
        try:
            say(future.result())
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    with lanes.opened(folder) as (count, compute):
        for _ in range(count):
            say(None)
        while True:
            try:
                key = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            compute(cells[key]).add_done_callback(done)
