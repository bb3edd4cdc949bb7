from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hybridal.app.project import Project
from hybridal.app.trainer import __main__ as module

from .projects import made


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
    assert said == [10, "start", module.LATER, "start", "turn", "prepare", module.PAUSE, "turn"]
    project.close()
