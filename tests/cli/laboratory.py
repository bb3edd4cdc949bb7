"""Commands in separate processes that can be killed at a chosen call.

One child does a run to have everything imported, and then forks a grandchild for each command: a process that costs a
fork, not an import.
"""

from __future__ import annotations

import csv
import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LIMIT = 300.0  # seconds that anything here may take on a busy machine


@dataclass(frozen=True)
class Kill:
    """SIGKILL at the n-th call of `target`: before it, after it, or (os.write) when half of it is written."""

    target: str
    nth: int = 1
    when: str = "before"


@dataclass(frozen=True)
class Person:
    """Labels `pace` texts a pause, notes each in `log`, and pulls the plug at the n-th pause (0: never)."""

    answers: Mapping[str, str]
    log: str
    pace: int
    killed_at: int = 0


@dataclass(frozen=True)
class Ended:
    """How a command ended: `code` is negative where a signal ended it."""

    code: int
    stdout: str
    stderr: str


class Laboratory:
    def __init__(self, folder: Path, warm_up: Sequence[str | Path]) -> None:
        self._folder, self._count = folder, 0
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self._child = subprocess.Popen(
            [sys.executable, __file__, *map(str, warm_up), "--out", str(folder / "warm")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, *arguments: object, kill: Kill | None = None, person: Person | None = None) -> Ended:
        """`hybridal` with these arguments, to its end."""
        self._count += 1
        outputs = [self._folder / f"{self._count}.{name}" for name in ("stdout", "stderr")]
        order = {
            "arguments": [str(argument) for argument in arguments],
            "outputs": [str(path) for path in outputs],
            "kill": kill and asdict(kill),
            "person": person and asdict(person),
        }
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()
        assert select.select([self._child.stdout], [], [], LIMIT)[0], "there is no answer"
        code = int(self._child.stdout.readline())
        stdout, stderr = (path.read_text() for path in outputs)
        return Ended(code, stdout, stderr)

    def close(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(LIMIT)
        finally:
            self._child.kill()


def serve() -> None:
    from typer.testing import CliRunner

    from hybridal.cli.main_app import app

    without_figures()
    CliRunner().invoke(app, sys.argv[1:], catch_exceptions=False)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _obey(order)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def without_figures() -> None:
    """Drawing takes longer than a run, and has tests of its own."""
    importlib.import_module("hybridal.reports.run_report").panels = lambda *_: []  # type: ignore[attr-defined]


def _obey(order: Mapping[str, Any]) -> None:
    """Runs in the grandchild, and never returns."""
    for number, path in enumerate(order["outputs"], start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if order["kill"]:
        _plant(Kill(**order["kill"]))
    if order["person"]:
        _seat(Person(**order["person"]))
    from hybridal.cli import main

    sys.argv = ["hybridal", *order["arguments"]]
    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _plant(kill: Kill) -> None:
    owner, name = _owner(kill.target)
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def deadly(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == kill.nth and kill.when == "before":
            _die()
        if calls == kill.nth and kill.when == "half":
            descriptor, data = arguments
            real(descriptor, data[: len(data) // 2])
            _die()
        result = real(*arguments, **options)
        if calls == kill.nth and kill.when == "after":
            _die()
        return result

    setattr(owner, name, deadly)


def _owner(target: str) -> tuple[Any, str]:
    """What holds the name: a module, or a class in one."""
    path, name = target.rsplit(".", 1)
    try:
        return importlib.import_module(path), name
    except ModuleNotFoundError:
        module, holder = path.rsplit(".", 1)
        return getattr(importlib.import_module(module), holder), name


def _seat(person: Person) -> None:
    """The pauses of the engine are when the person works."""
    from types import SimpleNamespace

    from hybridal.annotators import labels_file

    pauses = 0

    def work(_seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        to_label = Path(sys.argv[sys.argv.index("--out") + 1] if "--out" in sys.argv else sys.argv[2]) / "to_label.csv"
        _label(to_label, person)
        if pauses == person.killed_at:
            _die()

    vars(labels_file)["time"] = SimpleNamespace(sleep=work)


def _label(to_label: Path, person: Person) -> None:
    with to_label.open(newline="") as file:
        rows = list(csv.DictReader(file))
    asked = [row for row in rows if not row["label"]][: person.pace]
    with Path(person.log).open("a") as log:
        log.writelines(f"{row['id']}\n" for row in asked)
    for row in asked:
        row["label"] = person.answers[row["id"]]
    write_rows(to_label, ["id", "text", "label"], [list(row.values()) for row in rows])


def write_rows(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


if __name__ == "__main__":
    serve()
