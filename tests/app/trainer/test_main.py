from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy.exc import OperationalError

from hybridal.app.project import Project
from hybridal.app.trainer import __main__ as module
from hybridal.app.trainer.__main__ import only_trainer

from .projects import made

HOLDS = """
import sys, time
from pathlib import Path
from hybridal.app.trainer.__main__ import only_trainer
with only_trainer(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_trainer_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    entered = Event()

    def second() -> None:
        with only_trainer(tmp_path):
            entered.set()

    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        waiting = Thread(target=second)
        waiting.start()
        assert not entered.wait(0.2)
        first.kill()
    waiting.join(60)
    assert entered.is_set()


@pytest.mark.parametrize(("stdin", "code"), [(subprocess.PIPE, -15), (subprocess.DEVNULL, 7)])
def test_only_the_end_of_a_pipe_is_the_end(stdin: int, code: int) -> None:
    trainer = """
import time
from hybridal.app.trainer.__main__ import end_with_parent
end_with_parent()
time.sleep(0.3)
raise SystemExit(7)
"""
    ended = subprocess.Popen([sys.executable, "-c", trainer], stdin=stdin)
    ended.communicate(timeout=60)
    assert ended.returncode == code


class EndedError(Exception):
    """The test has seen enough."""


def test_a_database_that_is_away_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = made(tmp_path / "toys.hybridal")
    said: list[object] = []

    class Cycle:
        def __init__(self, project: Project) -> None: ...

        def start(self) -> None:
            said.append("start")
            if said.count("start") == 1:
                raise OperationalError("", {}, Exception("gone"))

        def turn(self) -> bool:
            said.append("turn")
            if said.count("turn") == 2:
                raise EndedError
            return False

        def prepare(self) -> bool:
            said.append("prepare")
            return False

    monkeypatch.setattr(module, "Cycle", Cycle)
    monkeypatch.setattr(module, "end_with_parent", lambda: None)
    monkeypatch.setattr(module, "_share_the_machine", lambda: None)
    monkeypatch.setattr("os.nice", said.append)
    monkeypatch.setattr("time.sleep", said.append)
    with pytest.raises(EndedError):
        module.main(project.folder)
    assert said == [10, "start", module.LATER, "start", "prepare", "turn", "prepare", module.PAUSE, "turn"]
    project.close()
