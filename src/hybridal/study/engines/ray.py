"""On many machines that share no disk, through Ray. The study folder holds the truth, not Ray."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from hybridal.errors import RunError, UserError
from hybridal.study.engines import CellOutcome
from hybridal.study.engines._remote import JournalWriter, compute, versions
from hybridal.study.folder import StudyFolder, task_key
from hybridal.study.study import CellPlan

# Four small models keep a GPU busier than one.
GPU_SHARE = 0.25


@dataclass(frozen=True)
class RayEngine:
    """Each cell is a Ray task; every finished round is in the study folder before its worker goes on.

    `gpus_per_cell` is a share of a GPU (default: a quarter where the cluster has GPUs). A cell whose machine or process
    is lost starts again elsewhere from its recorded rounds; it is given up when it died `tries` times in a row without
    a new round.
    """

    address: str
    gpus_per_cell: float | None = None
    tries: int = 3

    def device(self, asked: str) -> str:
        """Asks the cluster: the machine that starts a study may be the one without a GPU."""
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
    """How often a cell died in a row: one that gets on between its deaths is unlucky, not broken.

    >>> deaths = Deaths(rounds=0)
    >>> deaths.count(0), deaths.count(0), deaths.count(3), deaths.count(3)
    (1, 2, 1, 2)
    """

    rounds: int
    times: int = 0

    def count(self, rounds: int) -> int:
        """One more death, after so many recorded rounds."""
        self.times = self.times + 1 if rounds == self.rounds else 1
        self.rounds = rounds
        return self.times


@contextmanager
def _driver(ray: Any, folder: StudyFolder, cells: Sequence[CellPlan], gpus: float | None) -> Iterator[_Driver]:
    """However the study ends, nothing of it goes on."""
    driver = _Driver(ray, folder, cells, gpus)
    try:
        if refusal := ray.get(driver.recorder.refusal.remote()):
            raise RunError(refusal)
        yield driver
    finally:
        with suppress(ray.exceptions.RayError):
            driver.stop()


class _Driver:
    """The driver's side: the recorder, and the cells that Ray has in its queue."""

    def __init__(self, ray: Any, folder: StudyFolder, cells: Sequence[CellPlan], gpus: float | None) -> None:
        self._ray, self._folder = ray, folder
        share = gpu_share(ray, folder.device, gpus)
        # Said here, since "auto" would mean another device on another machine.
        self._device = "cuda" if share else "cpu"
        # Deaths are counted by the engine: Ray counts neither progress nor, by default, running out of memory.
        self._compute = ray.remote(num_cpus=1, num_gpus=share, max_retries=0, scheduling_strategy="SPREAD")(compute)
        writer = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(JournalWriter)
        place = beside_driver(ray)
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
        """Sent to each machine once, however many cells compute on it there."""
        key = task_key(cell.settings)
        if key not in self._tasks:
            self._tasks[key] = self._ray.put(self._folder.task(cell))
        return self._tasks[key]

    def next(self) -> tuple[CellPlan, str | None, bool]:
        """The next cell that ended, why if it failed, and whether that was for the loss of its worker."""
        (ref, *_), _ = self._ray.wait(list(self.waiting), num_returns=1)
        cell = self.waiting.pop(ref)
        try:
            return cell, self._ray.get(ref), False
        except self._ray.exceptions.RayTaskError as error:  # before our code could catch it: a failed import, say
            return cell, str(error), False
        except self._ray.exceptions.RayError as error:
            return cell, str(error), True

    def rounds(self, cell: CellPlan) -> int:
        return len(self._folder.facts(cell))

    def finish(self, cell: CellPlan, error: str | None) -> None:
        if error is not None:
            self._folder.write_error(cell, error)
        self._ray.get(self.recorder.release.remote(cell.key))

    def stop(self) -> None:
        for ref in self.waiting:
            self._ray.cancel(ref, force=True)
        self._ray.get(self.recorder.close.remote())
        self._ray.kill(self.recorder)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """The package `ray`, connected. What was connected already is used as it is, and stays so."""
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed; install it with `pip install 'hybridal[ray]'`.") from error
    if ray.is_initialized():
        yield ray
        return
    if address.startswith("ray://"):
        # Facts are written by an actor beside the driver; a Ray client has no node for it to live on.
        raise UserError(
            f"`address` {address}: start the study on a machine of the cluster (`ray start --address=HEAD:6379` makes "
            "this one) and name HEAD:6379 or 'auto' instead of a ray:// address.",
            field="address",
        )
    try:
        _join(ray, address)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"`address` {address}: no Ray cluster answers there ({reason}); start one with `ray start --head`, "
            "or use `address=local`.",
            field="address",
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _join(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address != "local":
        host, _, port = address.rpartition(":")
        if host:  # Ray itself would knock for a quarter of an hour
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, **quiet)
        return
    # A cluster of our own: it listens on no network, and reports its use to nobody.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", _node_ip_address="127.0.0.1", include_dashboard=False, **quiet)


def beside_driver(ray: Any) -> Any:
    """Where to place an actor that shares the driver's file system."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)


def gpu_share(ray: Any, device: str, asked: float | None) -> float:
    """How much of a GPU each worker gets: none where the processor is asked for or all that there is."""
    if asked is not None and not 0 <= asked <= 1:
        raise UserError(
            f"`gpus_per_cell` must be a share of a GPU between 0 and 1, not {asked}.", field="gpus_per_cell"
        )
    if device.partition(":")[0] not in ("auto", "cpu", "cuda"):
        raise UserError(f"`device` '{device}' is not a device to train on; use cpu or cuda.", field="device")
    if device == "cpu":
        return 0.0
    present = ray.cluster_resources().get("GPU", 0)
    if asked and not present:  # Ray would wait for one, and say nothing
        raise UserError(f"A worker should take {asked:g} GPU, but no machine of the cluster has one; add one first.")
    share = asked if asked is not None else GPU_SHARE if present else 0.0
    if not share and device != "auto":
        raise UserError(
            f"`device` {device} was asked for, but no GPU is given to the workers; use `device=cpu`.", field="device"
        )
    return share
