from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from hybridal.errors import RunError, UserError
from hybridal.lab.study.engines import CellOutcome, processes
from hybridal.lab.study.engines.lanes import Lanes
from hybridal.lab.study.engines.processes import DIED, Processes
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder

from .engine_studies import begun, once, recorded_rounds, rounds, run, small_study


def test_a_killed_worker_and_a_failing_cell_change_nothing_for_the_others(
    task: dict[str, str], here: StudyFolder, tmp_path: Path
) -> None:
    folder = begun(tmp_path / "study", small_study(task, acquisitions=("no-such-thing", "entropy"), seeds=(1,)))
    broken, sound = folder.cells
    before: list[int] = []

    def kill() -> None:
        before.append(rounds(folder, sound))
        for child in multiprocessing.active_children():
            child.kill()

    # One worker for both, whose start takes longer than all that is computed here.
    with once(lambda: folder.error(broken) is not None and rounds(folder, sound) >= 2, kill):
        outcomes = run(folder, Processes([Lanes("cpu", 1)]))
    assert before[0] < rounds(folder, sound)
    assert outcomes[sound.key].error is None
    assert recorded_rounds(folder)[sound.key] == recorded_rounds(here)[sound.key]
    error = outcomes[broken.key].error
    assert error is not None
    assert "Traceback" in error
    assert "no-such-thing" in error
    assert folder.error(broken) == error


class Stuck(Lanes):
    """Never done with a cell."""

    @contextmanager
    def opened(self, _folder: StudyFolder) -> Iterator[tuple[int, Callable[[CellPlan], Future[CellOutcome]]]]:
        yield 2, lambda _cell: Future()


def test_a_worker_whose_driver_has_left_before_it_is_ready_just_ends(
    here: StudyFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = processes._Worker(here.path, Stuck("cpu"))
    worker.pipe.close()
    worker._process.join(60)
    assert worker._process.exitcode == 0
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_fork_server_ignores_ctrl_c() -> None:
    script = """
import os, signal, time
from multiprocessing import forkserver
from hybridal.lab.study.engines.processes import prepare

heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
prepare()
for _ in range(20):
    os.killpg(0, signal.SIGINT)
    time.sleep(0.1)
assert len(heard) == 20
assert os.waitpid(forkserver._forkserver._forkserver_pid, os.WNOHANG) == (0, 0)  # it lives
"""
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, start_new_session=True, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""


def test_a_worker_ends_with_its_driver_in_the_middle_of_a_cell(here: StudyFolder) -> None:
    worker = processes._Worker(here.path, Stuck("cpu"))
    try:
        assert [worker.receive(), worker.receive()] == [None, None]  # two lanes are free
        worker.give(here.cells[0])
        worker.pipe.close()  # as when the driver is killed
        worker._process.join(60)
        assert worker._process.exitcode == 0
    finally:
        worker.end()


class FakeWorker:
    """Computes nothing; some cells kill it, and the results that it has not sent yet are lost."""

    deadly: frozenset[str] = frozenset()
    sick: frozenset[str] = frozenset()
    made: ClassVar[list[str]] = []

    def __init__(self, _path: Path, lanes: Lanes, fruitless: int = 1) -> None:
        self.pipe, self.lanes, self.fruitless, self.cells = self, lanes, fruitless, dict[str, CellPlan]()
        self.outcomes: list[CellOutcome | None] = [None] * (lanes.lanes or 1)
        self.made.append(lanes.place)

    def receive(self) -> CellOutcome | None:
        if self.deadly & self.cells.keys() or (self.lanes.place in self.sick and self.cells):
            raise EOFError
        outcome = self.outcomes.pop(0)
        if outcome is not None:
            del self.cells[outcome.key]
            self.fruitless = 0
        return outcome

    def close(self) -> None: ...

    def give(self, cell: CellPlan) -> None:
        self.cells[cell.key] = cell
        self.outcomes.append(CellOutcome(cell.key))

    def end(self) -> None: ...


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(processes, "_Worker", FakeWorker)
    monkeypatch.setattr(processes, "wait", lambda workers: [worker for worker in workers if worker.outcomes])
    return monkeypatch


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("lanes", [[1, 1], [2], [2, 1], [8, 8]])
def test_only_the_deadly_cell_is_blamed(
    fake: pytest.MonkeyPatch, task: dict[str, str], tmp_path: Path, place: int, lanes: list[int]
) -> None:
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2, 3, 4, 5)))
    deadly = folder.cells[place]
    fake.setattr(FakeWorker, "deadly", frozenset({deadly.key}))
    wanted = {cell.key: CellOutcome(cell.key, DIED if cell == deadly else None) for cell in folder.cells}
    assert run(folder, Processes([Lanes("cpu", each) for each in lanes])) == wanted
    assert folder.error(deadly) == DIED


@pytest.mark.parametrize("sick", ["cuda:0", "cuda:1"])
def test_a_broken_gpu_costs_no_cell(fake: pytest.MonkeyPatch, task: dict[str, str], tmp_path: Path, sick: str) -> None:
    fake.setattr(FakeWorker, "sick", frozenset({sick}))
    fake.setattr(FakeWorker, "made", [])
    folder = begun(tmp_path / "study", small_study(task, seeds=tuple(range(9))))
    outcomes = run(folder, Processes([Lanes("cuda:0", 2), Lanes("cuda:1", 2)]))
    assert {outcome.error for outcome in outcomes.values()} == {None}
    assert len(outcomes) == 9
    assert FakeWorker.made.count(sick) == 2  # and not again and again


def test_two_deadly_cells_at_the_beginning_leave_the_others_whole(
    fake: pytest.MonkeyPatch, task: dict[str, str], tmp_path: Path
) -> None:
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2, 3, 4)))
    deadly = {cell.key for cell in folder.cells[:2]}
    fake.setattr(FakeWorker, "deadly", frozenset(deadly))
    outcomes = run(folder, Processes([Lanes("cpu", 1)]))
    assert {key for key, outcome in outcomes.items() if outcome.error} == deadly
    assert len(outcomes) == 4


def test_cells_are_dealt_out_though_one_process_is_ready_first(
    fake: pytest.MonkeyPatch, task: dict[str, str], tmp_path: Path
) -> None:
    had: dict[str, list[int]] = {}
    give = FakeWorker.give

    def noted(worker: FakeWorker, cell: CellPlan) -> None:
        had.setdefault(worker.lanes.place, []).append(cell.settings.seed)
        give(worker, cell)

    def slow(workers: dict[Any, FakeWorker]) -> list[FakeWorker]:
        """The first worker sends until it has no new result; only then the second is read."""
        free = [worker for worker in workers if None in worker.outcomes]
        return free[:1] or [worker for worker in workers if worker.outcomes]

    fake.setattr(FakeWorker, "give", noted)
    fake.setattr(processes, "wait", slow)
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2, 3, 4)))
    run(folder, Processes([Lanes("cuda:0", 4), Lanes("cuda:1", 4)]))
    assert had == {"cuda:0": [1, 2], "cuda:1": [3, 4]}


class Unable(Lanes):
    """Cannot begin."""

    def opened(self, _folder: StudyFolder) -> NoReturn:
        raise UserError("There is no GPU here; use `device=cpu`.")


def test_start_failure_is_reported_once(task: dict[str, str], tmp_path: Path) -> None:
    folder = begun(tmp_path / "study", small_study(task))
    with pytest.raises(RunError, match="No process of the study could start: There is no GPU here; use `device"):
        run(folder, Processes([Unable("cpu"), Unable("cpu")]))
    assert [folder.error(cell) for cell in folder.cells] == [None, None]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_processes_that_are_forked_compute_the_same(
    place: str, here: StudyFolder, task: dict[str, str], tmp_path: Path
) -> None:
    """In a process of its own: what they are forked from stays until that ends."""
    folder = begun(tmp_path / "study", replace(small_study(task), device=place))
    script = f"""
from pathlib import Path
from hybridal.lab.study.engines.lanes import Lanes
from hybridal.lab.study.engines.processes import Processes, prepare
from hybridal.lab.study.study_folder import StudyFolder

prepare()
prepare()  # changes nothing
folder = StudyFolder.open(Path({str(folder.path)!r}))
outcomes = list(Processes([Lanes({place!r}, 1)] * 2).run(folder, folder.cells))
assert [outcome.error for outcome in outcomes] == [None] * len(folder.cells)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
    if place == "cuda":
        here = begun(tmp_path / "alone", folder.study)
        run(here, Lanes("cuda", 1))
    assert recorded_rounds(folder) == recorded_rounds(here)
