"""Compute cells on many machines without a shared disk, through Ray. The study folder is the only durable state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from hybridal.errors import RunError
from hybridal.lab.study.engines import CellOutcome
from hybridal.lab.study.engines.ray_worker import JournalWriter, compute, versions
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.system.ray_cluster import connected, gpu_share, on_driver_node


@dataclass(frozen=True)
class RayEngine:
    """An engine with one Ray task per cell. A worker continues only after its round is in the study folder.

    A cell whose machine or process is lost starts again elsewhere from its recorded rounds.

    Attributes:
        address: Address of the cluster, or `local`.
        gpus_per_cell: Share of a GPU (default: a quarter if the cluster has GPUs).
        tries: Give a cell up after this many losses in a row without a new round.
    """

    address: str
    gpus_per_cell: float | None = None
    tries: int = 3

    def device(self, asked: str) -> str:
        """Describe the device of the cluster: the machine that starts the study may have no GPU."""
        with connected(self.address) as ray:
            return "GPUs of a Ray cluster" if gpu_share(ray, asked, self.gpus_per_cell) else "cpu"

    def run(self, folder: StudyFolder, cells: Sequence[CellPlan]) -> Iterator[CellOutcome]:
        if not cells:
            return
        with connected(self.address) as ray, _driver(ray, folder, cells, self.gpus_per_cell) as driver:
            for cell in cells:
                driver.start(cell)
            deaths = {cell.key: Deaths(driver.rounds(cell)) for cell in cells}
            while driver.waiting:
                cell, error, lost = driver.next()
                if lost and deaths[cell.key].count(driver.rounds(cell)) < self.tries:
                    driver.start(cell)
                    continue
                if lost:
                    error = f"Its worker died {self.tries} times in a row without a new round. The last time: {error}"
                driver.finish(cell, error)
                yield CellOutcome(cell.key, error)


@dataclass
class Deaths:
    """Counts the losses of a cell in a row. A cell that makes progress in between is not broken.

    >>> deaths = Deaths(rounds=0)
    >>> deaths.count(0), deaths.count(0), deaths.count(3), deaths.count(3)
    (1, 2, 1, 2)
    """

    rounds: int
    times: int = 0

    def count(self, rounds: int) -> int:
        """Count one more loss, after `rounds` recorded rounds."""
        self.times = self.times + 1 if rounds == self.rounds else 1
        self.rounds = rounds
        return self.times


@contextmanager
def _driver(ray: Any, folder: StudyFolder, cells: Sequence[CellPlan], gpus: float | None) -> Iterator[_Driver]:
    """Stop all tasks and the recorder when the study ends, for whatever reason."""
    driver = _Driver(ray, folder, cells, gpus)
    try:
        if refusal := ray.get(driver.recorder.refusal.remote()):
            raise RunError(refusal)
        yield driver
    finally:
        with suppress(ray.exceptions.RayError):
            driver.stop()


class _Driver:
    """The driver's side: the recorder and the submitted cells."""

    def __init__(self, ray: Any, folder: StudyFolder, cells: Sequence[CellPlan], gpus: float | None) -> None:
        self._ray, self._folder = ray, folder
        share = gpu_share(ray, folder.device, gpus)
        # Resolved here, because "auto" would mean another device on another machine.
        self._device = "cuda" if share else "cpu"
        # The engine counts losses: Ray knows no progress and, by default, does not count running out of memory.
        self._compute = ray.remote(num_cpus=1, num_gpus=share, max_retries=0, scheduling_strategy="SPREAD")(compute)
        writer = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(JournalWriter)
        place = on_driver_node(ray)
        keys = [cell.key for cell in cells]
        self.recorder = writer.options(scheduling_strategy=place).remote(folder.path.resolve(), keys)
        self._tasks: dict[str, Any] = {}
        self.waiting: dict[Any, CellPlan] = {}

    def start(self, cell: CellPlan) -> None:
        settings = replace(cell.settings, device=self._device).to_json()
        task = self._task(cell)
        ref = self._compute.remote(self.recorder, cell.key, settings, cell.schedules, task, versions())
        self.waiting[ref] = cell

    def _task(self, cell: CellPlan) -> Any:
        """The task in Ray's object store: sent to each machine once."""
        key = task_key(cell.settings)
        if key not in self._tasks:
            self._tasks[key] = self._ray.put(self._folder.task(cell))
        return self._tasks[key]

    def next(self) -> tuple[CellPlan, str | None, bool]:
        """Return the next finished cell, its error if it failed, and whether its worker was lost."""
        (ref, *_), _ = self._ray.wait(list(self.waiting), num_returns=1)
        cell = self.waiting.pop(ref)
        try:
            return cell, self._ray.get(ref), False
        except self._ray.exceptions.RayTaskError as error:  # for example a failed import
            return cell, str(error), False
        except self._ray.exceptions.RayError as error:
            return cell, str(error), True

    def rounds(self, cell: CellPlan) -> int:
        return len(self._folder.rounds_by_sequence(cell))

    def finish(self, cell: CellPlan, error: str | None) -> None:
        if error is not None:
            self._folder.write_error(cell, error)
        self._ray.get(self.recorder.release.remote(cell.key))

    def stop(self) -> None:
        for ref in self.waiting:
            self._ray.cancel(ref, force=True)
        self._ray.get(self.recorder.close.remote())
        self._ray.kill(self.recorder)
