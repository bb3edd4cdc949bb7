from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pytest
from sqlalchemy.exc import OperationalError

from hybridal.app.project import Project
from hybridal.app.trainer import __main__ as module
from hybridal.app.trainer.__main__ import only_trainer
from hybridal.app.trainer.lifetime import MORE_TO_DO, NOTHING_TO_DO
from tests.helpers.waiting import wait_until

from ..copies import copied
from .projects import made


def test_a_second_trainer_waits_for_the_end_of_the_first(tmp_path: Path) -> None:
    held, entered = tmp_path / "held", Event()

    def hold() -> None:
        with only_trainer(tmp_path):
            held.touch()
            time.sleep(600)

    def second() -> None:
        with only_trainer(tmp_path):
            entered.set()

    first = os.fork()  # and no import of what is here already
    if first == 0:
        try:
            hold()
        finally:
            os._exit(1)
    wait_until(held.exists)
    waiting = Thread(target=second)
    waiting.start()
    assert not entered.wait(0.2)
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    waiting.join(60)
    assert entered.is_set()


class EndedError(Exception):
    """Ends the trainer's loop."""


def test_a_database_that_is_away_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = copied(made, tmp_path / "toys.hybridal")
    calls: list[object] = []

    class Cycle:
        def __init__(self, project: Project) -> None: ...

        def start(self) -> None:
            calls.append("start")
            if calls.count("start") == 1:
                raise OperationalError("", {}, Exception("gone"))

        def turn(self) -> bool:
            calls.append("turn")
            if calls.count("turn") == 2:
                raise EndedError
            return False

        def explain(self) -> bool:
            calls.append("explain")
            return False

        def prepare(self) -> bool:
            calls.append("prepare")
            return False

        def score(self) -> bool:
            calls.append("score")
            return False

    monkeypatch.setattr(module, "Cycle", Cycle)
    monkeypatch.setattr(module, "watch_parent", Event)
    monkeypatch.setattr(module, "_leave_a_core_free", lambda: None)
    monkeypatch.setattr("os.nice", calls.append)
    monkeypatch.setattr("time.sleep", calls.append)
    with pytest.raises(EndedError):
        module.main(project.folder)
    assert calls == [
        10,
        "start",
        module.RECONNECT_SECONDS,
        "start",
        "prepare",
        "turn",
        "explain",
        "prepare",
        "score",
        module.POLL_SECONDS,
        "turn",
    ]
    project.close()


def test_trainer_without_database_gives_up_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, others_wait = copied(made, tmp_path / "toys.hybridal"), Event()
    others_wait.set()

    def away(*_: object) -> int:
        raise OperationalError("", {}, Exception("gone"))

    monkeypatch.setattr(module, "work", away)
    monkeypatch.setattr(module, "watch_parent", lambda: others_wait)
    monkeypatch.setattr(module, "_leave_a_core_free", lambda: None)
    monkeypatch.setattr("os.nice", lambda _: None)
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("It waits for its database."))
    assert module.main(project.folder) == MORE_TO_DO
    project.close()


@pytest.mark.parametrize(
    ("pieces", "turn", "code", "done"),
    [
        ([], 30.0, NOTHING_TO_DO, 1),
        ([True, True], 30.0, NOTHING_TO_DO, 3),  # what there is to do is done, within its time
        ([True] * 9, -1.0, MORE_TO_DO, 1),  # at least one piece, however late it is
    ],
)
def test_a_turn_ends_when_others_wait(
    pieces: list[bool], turn: float, code: int, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cycle:
        turns = 0

        def start(self) -> None: ...

        def turn(self) -> bool:
            self.turns += 1
            return pieces.pop() if pieces else False

        def prepare(self) -> bool:
            return False

        explain = score = prepare

    monkeypatch.setattr(module, "MIN_TURN_SECONDS", turn)
    others_wait = Event()
    others_wait.set()
    cycle = Cycle()
    assert module.work(cast("Any", cycle), others_wait) == code
    assert cycle.turns == done
