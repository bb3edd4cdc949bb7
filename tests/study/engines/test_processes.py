from __future__ import annotations

import multiprocessing
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from hybridal.study.engines import CellOutcome, processes
from hybridal.study.engines.processes import DIED, Processes
from hybridal.study.folder import StudyFolder

from .small import begun, facts, once, rounds, run, small_study


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
        outcomes = run(folder, Processes(1))
    assert before[0] < rounds(folder, sound)
    assert outcomes[sound.key].error is None
    assert facts(folder)[sound.key] == facts(here)[sound.key]
    error = outcomes[broken.key].error
    assert error is not None
    assert "Traceback" in error
    assert "no-such-thing" in error
    assert folder.error(broken) == error


class FakePool:
    """Runs nothing; some cells kill it, and all that were not done before die with it."""

    deadly: frozenset[str] = frozenset()

    def __init__(self, _workers: int, _context: Any, _start: Any) -> None:
        self.broken = False

    def __enter__(self) -> FakePool:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, _work: Any, _path: Path, key: str) -> Future[CellOutcome]:
        self.broken = self.broken or key in self.deadly
        future: Future[CellOutcome] = Future()
        if self.broken:
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(CellOutcome(key))
        return future


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> type[FakePool]:
    monkeypatch.setattr(processes, "ProcessPoolExecutor", FakePool)
    monkeypatch.setattr(FakePool, "deadly", frozenset())
    return FakePool


def test_a_cell_that_keeps_killing_its_worker_is_reported(
    pool: type[FakePool], task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2)))
    sound, deadly = (cell.key for cell in folder.cells)
    monkeypatch.setattr(pool, "deadly", frozenset({deadly}))
    assert run(folder, Processes(2)) == {sound: CellOutcome(sound), deadly: CellOutcome(deadly, DIED)}


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_only_the_deadly_cell_is_blamed(
    pool: type[FakePool], task: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    folder = begun(tmp_path / "study", small_study(task, seeds=(1, 2, 3, 4)))
    deadly = folder.cells[place]
    monkeypatch.setattr(pool, "deadly", frozenset({deadly.key}))
    wanted = {cell.key: CellOutcome(cell.key, DIED if cell == deadly else None) for cell in folder.cells}
    assert run(folder, Processes(2)) == wanted
    assert folder.error(deadly) == DIED
