from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hybridal.app.db.schema import Trainer
from hybridal.app.project import Project
from hybridal.app.trainer import supervisor as module
from hybridal.app.trainer.lifetime import MORE_TO_DO, NOTHING_TO_DO
from hybridal.app.trainer.pending_work import ProjectState
from hybridal.app.trainer.supervisor import MAX_CRASHES, Supervisor
from hybridal.app.trainer.trainer_slots import TrainerQueue

from ..copies import copied
from ..processes import lives
from .projects import ask, made, row

SLEEPS = "import time; time.sleep(600)"
DIES = "raise SystemExit(5)"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.02)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Skip the pauses between two starts, and record after how many deaths they occur."""
    asked: list[int] = []

    def pause(deaths: int) -> float:
        asked.append(deaths)
        return 0.0

    monkeypatch.setattr(module, "restart_delay", pause)
    return asked


def runs(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Run this code instead of the trainer."""
    monkeypatch.setattr(module, "command", lambda _project: [sys.executable, "-c", code])


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_supervisor_starts_and_stops_the_trainer(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.command(project)[1:] == ["-m", "hybridal.app.trainer", str(project.folder)]
    runs(monkeypatch, "import os; print(os.environ['HYBRIDAL_DB'], flush=True); " + SLEEPS)
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: b"labels.db" in (project.log.read_bytes() if project.log.exists() else b""))
    until(lambda: supervisor.alive)
    supervisor.stop()
    assert not supervisor.alive
    assert row(project).phase == "stopped"
    supervisor.stop()  # twice is no harm


def test_killed_trainer_is_restarted_with_a_message(
    project: Project, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, SLEEPS)
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: supervisor.alive)
    first = supervisor.child
    assert first is not None
    first.kill()
    until(lambda: supervisor.child is not first and supervisor.alive)
    status = row(project)
    assert (status.phase, pauses) == ("failed", [1])
    assert status.error == f"{module.exit_reason(-signal.SIGKILL)} It will be restarted."
    supervisor.stop()


def test_supervisor_gives_up_after_several_deaths_until_a_request(
    project: Project, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, DIES)
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: "only be restarted when you ask" in row(project).error)
    assert pauses == list(range(1, MAX_CRASHES))
    assert row(project).error.startswith("The trainer exited with code 5")
    runs(monkeypatch, SLEEPS)
    ask(project, "retry")
    until(lambda: supervisor.alive)
    assert row(project).request == "retry"  # for the trainer to see
    supervisor.stop()


def test_trainer_with_progress_between_deaths_is_always_restarted(
    project: Project, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_up(_project: Project) -> list[str]:
        with project.sessions.begin() as session:
            session.get_one(Trainer, 1).round += 1
        return [sys.executable, "-c", DIES]

    monkeypatch.setattr(module, "command", count_up)
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: len(pauses) > MAX_CRASHES)
    supervisor.stop()
    assert set(pauses) == {1}


def test_a_process_that_cannot_be_started_is_a_death_like_others(
    project: Project, pauses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "command", lambda _project: ["/nowhere/python"])
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: "only be restarted" in row(project).error)
    supervisor.stop()


def test_a_stop_does_not_wait_for_the_next_start(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, DIES)
    monkeypatch.setattr(module, "restart_delay", lambda _deaths: 600.0)
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: row(project).phase == "failed")
    supervisor.stop()
    assert not supervisor.alive


def test_a_log_that_has_grown_is_put_aside(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, SLEEPS)
    monkeypatch.setattr(module, "LOG_BYTES", 10)
    project.log.write_text("eleven bytes")
    supervisor = Supervisor(project)
    supervisor.start()
    until(lambda: supervisor.alive)
    supervisor.stop()
    assert project.log.with_name("trainer.log.1").read_text() == "eleven bytes"
    assert project.log.read_text() == ""


def test_trainer_ends_with_a_killed_server(project: Project) -> None:
    trainer = "import time; from hybridal.app.trainer.lifetime import watch_parent; watch_parent(); " + SLEEPS
    server = f"""
import sys, time
from hybridal.app.project import Project
from hybridal.app.trainer import supervisor
supervisor.command = lambda _project: [sys.executable, "-c", {trainer!r}]
watching = supervisor.Supervisor(Project.open({str(project.folder)!r}))
watching.start()
while not watching.alive:
    time.sleep(0.01)
print(watching.child.pid, "torch" in sys.modules, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, has_torch = process.stdout.readline().split()
        assert has_torch == "False"
        assert lives(int(pid))
        os.kill(process.pid, signal.SIGKILL)
    until(lambda: not lives(int(pid)))


POLITE = """
import sys
from hybridal.app.trainer.lifetime import watch_parent
watch_parent().wait()
sys.exit({code})
"""


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "mails.hybridal")
    yield project
    project.close()


def test_two_projects_take_turns_and_say_which_they_wait_for(
    project: Project, second: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, POLITE.format(code=MORE_TO_DO))
    turns = TrainerQueue()
    both = [Supervisor(one, turns) for one in (project, second)]
    both[0].start()
    until(lambda: both[0].alive)
    first = both[0].child
    both[1].start()
    until(lambda: (row(project).phase, row(project).done) == ("queued", 1))
    assert turns.before("toys.hybridal") == ["mails.hybridal"]
    until(lambda: both[0].alive and both[0].child is not first)  # and again
    for supervisor in both:
        supervisor.stop()
    assert {row(one).phase for one in (project, second)} == {"stopped"}
    assert not turns.crowded


def test_yield_request_reaches_a_trainer_without_database(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: Project) -> ProjectState:
        raise OperationalError("", {}, Exception("gone"))

    runs(monkeypatch, POLITE.format(code=MORE_TO_DO))
    turns = TrainerQueue()
    supervisor = Supervisor(project, turns)
    supervisor.start()
    until(lambda: supervisor.alive)
    child = supervisor.child
    monkeypatch.setattr(module, "read_state", away)
    turns.join("another")
    until(lambda: child is not None and child.poll() == MORE_TO_DO)
    supervisor.stop()


def test_idle_trainer_sleeps_until_there_is_work(
    project: Project, second: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(monkeypatch, POLITE.format(code=NOTHING_TO_DO))
    turns = TrainerQueue()
    both = [Supervisor(one, turns) for one in (project, second)]
    both[0].start()
    until(lambda: both[0].alive)
    both[1].start()
    until(lambda: both[1].alive and row(project).phase == "resting")
    ask(project, "train")
    until(lambda: both[0].alive)
    both[1].stop()
    assert row(second).phase == "stopped"
    both[0].stop()
