"""Trainers in separate processes that are killed at a chosen call.

One child imports everything once, and forks a grandchild for each trainer: a process that costs a fork, no import.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 300.0  # seconds that anything here may take on a busy machine
IDLE = "hybridal.app.trainer.__main__.rest"  # a trainer rests when there is nothing to do


class Laboratory:
    def __init__(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._child = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def train(self, folder: Path, until: str = IDLE, when: str = "before") -> int:
        """A trainer of this project, killed before or after the first call of `until`; its exit code."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        order = {"folder": str(folder), "until": until, "when": when}
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()
        assert select.select([self._child.stdout], [], [], LIMIT)[0], "there is no answer"
        return int(self._child.stdout.readline())

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(LIMIT)
        finally:
            self._child.kill()


def serve() -> None:
    import tempfile

    from hybridal.app.trainer.cycle import Cycle

    sys.path.insert(0, str(Path(__file__).parent))
    projects = importlib.import_module("projects")
    with tempfile.TemporaryDirectory() as folder:
        project = projects.made(Path(folder) / "warm.hybridal")
        projects.label_some(project, 6, 6)
        for _ in range(2):
            cycle = Cycle(project)
            cycle.start()
            cycle.turn()
        project.close()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _obey(**json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _obey(folder: str, until: str, when: str) -> None:
    """Runs in the grandchild, and never returns."""
    from hybridal.app.trainer import __main__ as trainer

    # The trainer must not read the laboratory's orders from stdin, and no other process uses the machine.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.nice = lambda _increment: 0
    owner, name = _owner(until)
    real: Callable[..., Any] = getattr(owner, name)

    def deadly(*arguments: Any, **options: Any) -> None:
        if when == "after":
            real(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, deadly)
    try:
        trainer.main(Path(folder))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def _owner(target: str) -> tuple[Any, str]:
    """What holds the name: a module, or a class in one."""
    path, name = target.rsplit(".", 1)
    try:
        return importlib.import_module(path), name
    except ModuleNotFoundError:
        module, holder = path.rsplit(".", 1)
        return getattr(importlib.import_module(module), holder), name


if __name__ == "__main__":
    serve()
