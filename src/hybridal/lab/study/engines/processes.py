"""Compute cells in several processes of this machine, each with its lanes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Lock, Timer
from typing import Any, NoReturn

from hybridal.errors import RunError, UserError
from hybridal.lab.study.engines import CellOutcome, device_here
from hybridal.lab.study.engines.lanes import Lanes, Stopped
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.exit import fast_exit

DIED = "The worker process died: it was killed, or ran out of memory."
# Seconds for cells to finish their epoch after a stop. On a shared GPU, killing a process during a kernel can disturb
# the others.
STOP_SECONDS = 3.0
# If this many processes in a row die before they completed a cell, the worker environment is broken, not a cell.
MAX_FRUITLESS_DEATHS = 2


_PREPARED: list[str] = []


def prepare() -> None:
    """Start a fork server that imports torch and the models in parallel; worker processes are forked from it later.

    For commands only: workers do not see later changes of the environment of this process. Without it,
    or where forking is not safe, each worker imports the modules itself.
    """
    if sys.platform == "linux" and not _PREPARED:
        _PREPARED.append("forkserver")
        forkserver.set_forkserver_preload(["hybridal.lab.study.engines.preloaded"])
        resource_tracker.ensure_running()  # started first, because its start unblocks SIGINT
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()  # inherits the blocked SIGINT, and so do its forks: the driver handles Ctrl-C
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Processes:
    """An engine with one process for each entry of `lanes`: a core, a GPU, or a share of a GPU.

    A cell goes to the next free lane. If a process dies, for example out of memory, one of its cells is the cause: each
    of them is tried once more alone in a new process, on another GPU if there is one.
    """

    lanes: Sequence[Lanes]

    def device(self, asked: str) -> str:
        return device_here(asked)

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        suspects: list[tuple[CellPlan, str]] = []
        yield from _spread(folder.path, self.lanes[: len(cells)], deque(cells), suspects)
        for cell, place in suspects:
            elsewhere = next((lanes for lanes in self.lanes if lanes.place != place), self.lanes[0])
            dead: list[tuple[CellPlan, str]] = []
            yield from _spread(folder.path, [replace(elsewhere, lanes=1)], deque([cell]), dead)
            if dead:
                folder.write_error(cell, DIED)
                yield CellOutcome(cell.key, DIED)


def _spread(
    path: Path, lanes: Sequence[Lanes], waiting: deque[CellPlan], died: list[tuple[CellPlan, str]]
) -> Iterator[CellOutcome]:
    """Compute the `waiting` cells. Cells whose process died are appended to `died`, with their device."""
    share = -(-len(waiting) // max(1, len(lanes)))  # the first process that is ready must not take all cells
    workers = {worker.pipe: worker for worker in (_Worker(path, each) for each in lanes)}
    reason, ready = "no process gave a reason", False
    try:
        while waiting or any(worker.cells for worker in workers.values()):
            for pipe in wait(workers):
                worker = workers[pipe]
                try:
                    message = worker.receive()
                except (EOFError, OSError):
                    del workers[worker.pipe]
                    died += [(cell, worker.lanes.place) for cell in worker.cells.values()]
                    if worker.cells and worker.fruitless < MAX_FRUITLESS_DEATHS and waiting:
                        another = _Worker(path, worker.lanes, worker.fruitless + 1)
                        workers[another.pipe] = another
                    worker.end()
                    continue
                if isinstance(message, str):
                    reason = message
                    continue
                ready = True
                if message is not None:
                    yield message
                if waiting and len(worker.cells) < share:
                    worker.give(waiting.popleft())
            if not workers and waiting:
                if not ready:
                    raise RunError(f"No process of the study could start: {reason}")
                died += [(cell, lanes[0].place) for cell in waiting]
                waiting.clear()
    finally:
        for worker in workers.values():
            worker.pipe.close()
        for worker in workers.values():
            worker.end()


class _Worker:
    """The driver's side of a process; `fruitless` counts the processes in its place that completed no cell."""

    def __init__(self, path: Path, lanes: Lanes, fruitless: int = 1) -> None:
        self.lanes, self.fruitless, self.cells = lanes, fruitless, dict[str, CellPlan]()
        context: Any = multiprocessing.get_context(_PREPARED[0] if _PREPARED else "spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, path, lanes))
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def receive(self) -> CellOutcome | str | None:
        """Return the outcome of a cell, None if a lane became ready, or the reason why the process cannot start."""
        message: CellOutcome | str | None = self.pipe.recv()
        if isinstance(message, CellOutcome):
            del self.cells[message.key]
            self.fruitless = 0
        return message

    def give(self, cell: CellPlan) -> None:
        self.cells[cell.key] = cell
        with suppress(OSError):  # the process died; `receive` will notice
            self.pipe.send(cell.key)

    def end(self) -> None:
        """End the process. Completed rounds are recorded already; the rest is not needed."""
        self.pipe.close()
        self._process.join(2 * STOP_SECONDS)
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, path: Path, lanes: Lanes) -> NoReturn:
    """Compute requested cells until the driver closes the pipe or is killed."""
    with fast_exit():
        _answer(pipe, path, lanes)
        sys.exit()


def _answer(pipe: Connection, path: Path, lanes: Lanes) -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C
    folder, sending = StudyFolder.open(path), Lock()
    cells = {cell.key: cell for cell in folder.cells}

    def send(message: CellOutcome | str | None) -> None:
        with sending, suppress(OSError):  # the driver is gone; `recv` notices it too
            pipe.send(message)

    def done(future: Future[CellOutcome]) -> None:
        if future.cancelled() or isinstance(future.exception(), Stopped):
            return
        try:
            outcome = future.result()
            if outcome.error:
                _check(lanes.place)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        send(outcome)

    try:
        with lanes.opened(folder) as (count, compute):
            for _ in range(count):
                send(None)
            with suppress(EOFError, OSError):
                while True:
                    compute(cells[pipe.recv()]).add_done_callback(done)
            deadline = Timer(STOP_SECONDS, os._exit, (1,))
            deadline.daemon = True
            deadline.start()
    except UserError as error:
        send(str(error))
    except Exception as error:
        traceback.print_exc()
        send(f"{type(error).__name__}: {error}")


def _check(place: str) -> None:
    """Raise if the GPU no longer works in this process: after some errors every further call fails."""
    if place.startswith("cuda"):
        import torch

        torch.cuda.synchronize(place)
