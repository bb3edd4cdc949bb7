from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hybridal.errors import RunError, UserError
from hybridal.lab.study.engines import ray_engine as engine
from hybridal.lab.study.engines.ray_engine import RayEngine
from hybridal.lab.study.engines.ray_worker import JournalWriter, compute
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.system.ray_cluster import connected, gpu_share

from .engine_studies import begun, once, recorded_rounds, rounds, run, small_study
from .two_nodes import TwoNodes

LONG = {"rounds": 16, "max_epochs": 3}
"""Some seconds, so that there is a middle in which to strike."""

DRIVER = """
import sys
from pathlib import Path
from ray._private import ray_constants
from hybridal.lab.study.engines.ray_engine import RayEngine
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.run_study_cells import run_study

ray_constants.ENABLE_RAY_CLUSTER = False
run_study(StudyFolder.open(Path(sys.argv[2])), RayEngine(sys.argv[1]))
"""


@pytest.mark.ray
def test_the_same_records_as_in_one_process_and_failures_do_not_spread(
    nodes: TwoNodes, task: dict[str, str], here: StudyFolder, tmp_path: Path
) -> None:
    folder = begun(tmp_path / "study", small_study(task, acquisitions=("entropy", "no-such-thing")))
    outcomes = run(folder, RayEngine(nodes.address))
    sound, broken = folder.cells[:2], folder.cells[2:]
    assert [outcomes[cell.key].error for cell in sound] == [None, None]
    assert recorded_rounds(here).items() <= recorded_rounds(folder).items()
    for cell in broken:
        error = outcomes[cell.key].error
        assert error is not None
        assert "Traceback" in error
        assert "no-such-thing" in error
        assert folder.error(cell) == error
    for cell in folder.cells:
        with folder.working_on(cell):  # its lock is released
            pass


@pytest.mark.ray
def test_a_driver_that_is_killed_loses_nothing(nodes: TwoNodes, task: dict[str, str], tmp_path: Path) -> None:
    folder = begun(tmp_path / "study", small_study(task, overrides=LONG, schedules=("retrain",), seeds=(1,)))
    (cell,) = folder.cells
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, nodes.address, str(folder.path)])
    with once(lambda: rounds(folder, cell) > 0, driver.kill):
        assert driver.wait(150) == -signal.SIGKILL
    (known,) = recorded_rounds(folder).values()
    (outcome,) = run(folder, RayEngine(nodes.address)).values()
    (after,) = recorded_rounds(folder).values()
    assert outcome.error is None
    assert 0 < len(known) < len(after) == LONG["rounds"]
    assert known.items() <= after.items()


@pytest.mark.ray
def test_second_driver_gets_the_owner_of_the_lock(
    nodes: TwoNodes, task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Impatient(JournalWriter):
        """Does not wait for a driver that may be about to end."""

        def __init__(self, path: Path, keys: Sequence[str]) -> None:
            super().__init__(path, keys, timeout=0)

    monkeypatch.setattr(engine, "JournalWriter", Impatient)
    folder = begun(tmp_path / "study", small_study(task))
    with folder.working_on(folder.cells[1]), pytest.raises(RunError, match=f"in use by process {os.getpid()}"):
        run(folder, RayEngine(nodes.address))
    assert recorded_rounds(folder) == {cell.key: {} for cell in folder.cells}


@pytest.mark.ray
def test_a_lost_node_loses_nothing(
    nodes: TwoNodes, task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = nodes.second().node_id
    rules = {"rounds": 8}
    folder = begun(tmp_path / "study", small_study(task, overrides=rules, schedules=("retrain",), seeds=(1, 2, 3)))
    there = {cell.key: tmp_path / cell.key for cell in folder.cells}
    started: list[str] = []
    start = engine._Driver.start

    def noted(driver: engine._Driver, cell: CellPlan) -> None:
        started.append(cell.key)
        start(driver, cell)

    def computed(recorder: Any, key: str, *rest: Any) -> str | None:
        """On the node that will be lost, a cell reports its start and never ends."""
        import ray

        if ray.get_runtime_context().get_node_id() != lost:
            return compute(recorder, key, *rest)
        there[key].touch()
        compute(recorder, key, *rest)
        threading.Event().wait(150)
        return "its node was never lost"

    def in_the_middle() -> bool:
        return any(there[cell.key].exists() and rounds(folder, cell) for cell in folder.cells)

    monkeypatch.setattr(engine._Driver, "start", noted)
    monkeypatch.setattr(engine, "compute", computed)
    with once(in_the_middle, nodes.lose_second):
        outcomes = run(folder, RayEngine(nodes.address))
    assert [outcome.error for outcome in outcomes.values()] == [None] * 3
    assert all(len(found) == rules["rounds"] for found in recorded_rounds(folder).values())
    (again,) = (key for key, path in there.items() if path.exists())
    assert Counter(started) == Counter([*there, again])


class FakeDriver:
    """Cells end as in `fates`: a traceback, None for success, or a number of rounds before the worker dies."""

    def __init__(self, fates: dict[int, list[str | int | None]]) -> None:
        self.fates, self.waiting = fates, list[CellPlan]()
        self.recorded = dict.fromkeys(fates, 0)
        self.finished: list[int] = []

    def start(self, cell: CellPlan) -> None:
        self.waiting.append(cell)

    def next(self) -> tuple[CellPlan, str | None, bool]:
        cell = self.waiting.pop(0)
        fate = self.fates[cell.settings.seed].pop(0)
        if not isinstance(fate, int):
            return cell, fate, False
        self.recorded[cell.settings.seed] += fate
        return cell, "its node was lost", True

    def rounds(self, cell: CellPlan) -> int:
        return self.recorded[cell.settings.seed]

    def finish(self, cell: CellPlan, _error: str | None) -> None:
        self.finished.append(cell.settings.seed)


def test_a_cell_that_keeps_dying_is_given_up_unless_it_gets_on(
    task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeDriver({1: [0, 0, 0], 2: ["Traceback"], 3: [1, 1, 1, 1, None], 4: [0, 0, None]})

    @contextmanager
    def given(*_: object) -> Iterator[Any]:
        yield driver

    monkeypatch.setattr(engine, "connected", given)
    monkeypatch.setattr(engine, "_driver", given)
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2, 3, 4)))
    outcomes = run(folder, RayEngine("local", tries=3))
    one, two, three, four = (outcomes[cell.key].error for cell in folder.cells)
    assert one == "Its worker died 3 times in a row without a new round. The last time: its node was lost"
    assert (two, three, four) == ("Traceback", None, None)
    assert sorted(driver.finished) == [1, 2, 3, 4]


def test_without_cells_no_cluster_is_asked_for(here: StudyFolder) -> None:
    assert run(here, RayEngine("no-such-host:1")) == {}


@pytest.fixture
def unconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)


@pytest.mark.usefixtures("unconnected")
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "no Ray cluster answers there"),
        ("nonsense", "no Ray cluster answers there"),
        ("ray://head:10001", "start the study on a machine of the cluster"),
    ],
)
def test_unreachable_address_is_refused(address: str, words: str) -> None:
    with pytest.raises(UserError, match=f"`address` {address}: {words}"), connected(address):
        pass


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'hybridal\[ray\]'"), connected("local"):
        pass


class Resources:
    """The part of Ray that reports resources."""

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4, "GPU": self.gpus} if self.gpus else {"CPU": 4}


@pytest.mark.parametrize(
    ("gpus", "device", "asked", "share"),
    [(2, "auto", None, 0.25), (2, "auto", 0.5, 0.5), (2, "cpu", 0.5, 0), (0, "auto", None, 0), (0, "cpu", 1, 0)],
)
def test_the_share_of_a_gpu(gpus: int, device: str, asked: float | None, share: float) -> None:
    assert gpu_share(Resources(gpus), device, asked) == share


@pytest.mark.parametrize(
    ("gpus", "asked", "found"), [(2, "cuda", "GPUs of a Ray cluster"), (2, "cpu", "cpu"), (0, "auto", "cpu")]
)
def test_the_cluster_is_asked_for_its_device(
    gpus: int, asked: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def cluster(_address: str) -> Iterator[Resources]:
        yield Resources(gpus)

    monkeypatch.setattr(engine, "connected", cluster)
    monkeypatch.setattr("torch.cuda.is_available", lambda: pytest.fail("this machine was asked"))
    assert RayEngine("head:6379").device(asked) == found


@pytest.mark.parametrize(
    ("gpus", "device", "asked", "says"),
    [
        (0, "cuda", None, "no GPU is given to the workers"),
        (2, "cuda", 0, "no GPU is given to the workers"),
        (2, "auto", 1.5, "between 0 and 1, not 1.5"),
        (0, "cuda", 1, "should take 1 GPU, but no machine of the cluster has one"),
        (0, "auto", 0.5, "should take 0.5 GPU, but no machine of the cluster has one"),
        (2, "abacus", None, "'abacus' is not a device to train on"),
    ],
)
def test_invalid_gpu_share_is_refused(gpus: int, device: str, asked: float | None, says: str) -> None:
    with pytest.raises(UserError, match=says):
        gpu_share(Resources(gpus), device, asked)
