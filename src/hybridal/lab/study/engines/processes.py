"""In several processes of this machine, each with lanes of its own."""

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
# Seconds that cells have to end their epoch in when nobody waits for them any more: a GPU that several processes
# share likes none of them to go in the middle of its work.
PATIENCE = 3.0
# So many processes in a row that died with nothing done: the place is sick, not a cell.
BARREN = 2


_PREPARED: list[str] = []


def prepare() -> None:
    """Starts a process beside this one that imports what those of a study need: they are forked from it later.

    For commands: what this process changes from now on in its environment, they do not see. Without it, or where
    forking is not safe, each of them imports for itself.
    """
    if sys.platform == "linux" and not _PREPARED:
        _PREPARED.append("forkserver")
        forkserver.set_forkserver_preload(["hybridal.lab.study.engines.preloaded"])
        resource_tracker.ensure_running()  # before, since its start would let Ctrl-C through again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()  # which hears no Ctrl-C, nor do those forked from it: it is the driver's
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True)
class Processes:
    """A process for each of `lanes`: a core of the processor, a GPU, or a share of one.

    A cell goes to whichever lane is free. When a process dies (out of memory, say) one of its cells is to blame: each
    of them is tried once more in a process of its own, where it can only hurt itself, on another GPU if there is one.
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
    """Computes all that is `waiting`, but for the cells that `died` with their process, and where."""
    share = -(-len(waiting) // max(1, len(lanes)))  # the first that is ready must not take all
    workers = {worker.pipe: worker for worker in (_Worker(path, each) for each in lanes)}
    reason, ready = "none of them said why", False
    try:
        while waiting or any(worker.cells for worker in workers.values()):
            for pipe in wait(workers):
                worker = workers[pipe]
                try:
                    said = worker.hear()
                except (EOFError, OSError):
                    del workers[worker.pipe]
                    died += [(cell, worker.lanes.place) for cell in worker.cells.values()]
                    if worker.cells and worker.barren < BARREN and waiting:
                        another = _Worker(path, worker.lanes, worker.barren + 1)
                        workers[another.pipe] = another
                    worker.end()
                    continue
                if isinstance(said, str):
                    reason = said
                    continue
                ready = True
                if said is not None:
                    yield said
                if waiting and len(worker.cells) < share:
                    worker.give(waiting.popleft())
            if not workers and waiting:
                if not ready:
                    raise RunError(f"No process of the study could begin: {reason}")
                died += [(cell, lanes[0].place) for cell in waiting]
                waiting.clear()
    finally:
        for worker in workers.values():
            worker.pipe.close()
        for worker in workers.values():
            worker.end()


class _Worker:
    """A process as its driver knows it; `barren` counts those in its place that died with nothing done."""

    def __init__(self, path: Path, lanes: Lanes, barren: int = 1) -> None:
        self.lanes, self.barren, self.cells = lanes, barren, dict[str, CellPlan]()
        context: Any = multiprocessing.get_context(_PREPARED[0] if _PREPARED else "spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, path, lanes))
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def hear(self) -> CellOutcome | str | None:
        """A lane is free, after this cell if it had one; or why the process cannot begin."""
        said: CellOutcome | str | None = self.pipe.recv()
        if isinstance(said, CellOutcome):
            del self.cells[said.key]
            self.barren = 0
        return said

    def give(self, cell: CellPlan) -> None:
        self.cells[cell.key] = cell
        with suppress(OSError):  # it has died, which will be heard
            self.pipe.send(cell.key)

    def end(self) -> None:
        """What it computes is recorded round by round, and nobody waits for the rest."""
        self.pipe.close()
        self._process.join(2 * PATIENCE)
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, path: Path, lanes: Lanes) -> NoReturn:
    """Computes what is asked for, until nobody is left to ask, even one who was killed."""
    with fast_exit():
        _answer(pipe, path, lanes)
        sys.exit()


def _answer(pipe: Connection, path: Path, lanes: Lanes) -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to hear
    folder, speaking = StudyFolder.open(path), Lock()
    cells = {cell.key: cell for cell in folder.cells}

    def say(what: CellOutcome | str | None) -> None:
        with speaking, suppress(OSError):  # nobody listens any more, which `recv` hears too
            pipe.send(what)

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
        say(outcome)

    try:
        with lanes.opened(folder) as (count, compute):
            for _ in range(count):
                say(None)
            with suppress(EOFError, OSError):
                while True:
                    compute(cells[pipe.recv()]).add_done_callback(done)
            patience = Timer(PATIENCE, os._exit, (1,))
            patience.daemon = True
            patience.start()
    except UserError as error:
        say(str(error))
    except Exception as error:
        traceback.print_exc()
        say(f"{type(error).__name__}: {error}")


def _check(place: str) -> None:
    """Raises where the GPU answers this process no more: after some errors it fails whatever comes next."""
    if place.startswith("cuda"):
        import torch

        torch.cuda.synchronize(place)
