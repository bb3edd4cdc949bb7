"""What runs in Ray's processes: cells wherever there is room, and one recorder beside the study folder."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hybridal import __version__
from hybridal.core.rounds import Round
from hybridal.errors import RunError
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.trie import run_cell
from hybridal.runs.settings import Settings
from hybridal.system.scratch import scratch
from hybridal.system.thread_count import one_thread
from hybridal.tasks import Task

# How long the recorder of a driver that was killed may take to end, and to let go of its cells.
PATIENCE = 3.0


class JournalWriter:
    """Appends to the journals of these cells, as one process on the machine of the study folder.

    It holds their locks itself: if the driver held them and were killed, the next one could
    start while this process still writes.
    """

    def __init__(self, path: Path, keys: Sequence[str], patience: float = PATIENCE) -> None:
        self._folder = StudyFolder.open(path)
        self._cells = {cell.key: cell for cell in self._folder.cells if cell.key in set(keys)}
        self._locks: dict[str, ExitStack] = {}
        self._words: dict[str, set[str]] = {}
        self._refusal: str | None = None
        try:
            self._lock(time.monotonic() + patience)
        except RunError as error:
            self.close()
            self._refusal = str(error)

    def refusal(self) -> str | None:
        """Why this recorder cannot write: another process works on one of the cells."""
        return self._refusal

    def known(self, key: str) -> list[dict[str, Any]]:
        """The facts of a cell so far."""
        self._check(key)
        return self._folder.journal(self._cells[key]).read()

    def append(self, key: str, fact: Mapping[str, Any]) -> None:
        """Durable when it returns. A word that is recorded already is the same fact from an earlier try."""
        self._check(key)
        if fact["update_sequence"] not in self._words[key]:
            self._folder.journal(self._cells[key]).append(fact)
            self._words[key].add(fact["update_sequence"])

    def release(self, key: str) -> None:
        """The cell has ended; a worker that was given up for lost and comes back is refused."""
        if key in self._locks:
            self._locks.pop(key).close()

    def close(self) -> None:
        for key in list(self._locks):
            self.release(key)

    def _lock(self, deadline: float) -> None:
        for key, cell in self._cells.items():
            stack = ExitStack()
            while True:
                try:
                    stack.enter_context(self._folder.working_on(cell))
                    break
                except RunError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)
            self._locks[key] = stack
            self._words[key] = set(self._folder.facts(cell))

    def _check(self, key: str) -> None:
        if key not in self._locks:
            raise RunError(self._refusal or f"Nobody computes {key} any more; its study has gone on without this one.")


def compute(
    recorder: Any, key: str, settings: Mapping[str, Any], specs: Sequence[str], task: Task, wanted: Mapping[str, str]
) -> str | None:
    """One cell, on the machine that Ray chose; the traceback where it failed.

    States lie in a folder that ends with the task: a cell that starts again computes them again from the beginning.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        check_alike(wanted)
        known = {fact["update_sequence"]: Round.from_json(fact) for fact in _asked(recorder.known.remote(key))}

        def record(fact: Round) -> None:
            _asked(recorder.append.remote(key, fact.to_json()))

        with one_thread(), scratch() as states:
            run_cell(Settings.from_json(settings), specs, task, known, record, states)
    except Exception:
        return traceback.format_exc()
    return None


def _asked(ref: Any) -> Any:
    """Waits for an answer and keeps the core: while a task waits in `ray.get`, Ray starts another cell on it."""
    return ref.future().result()


def versions() -> dict[str, str]:
    """What the facts of a cell depend on; builds for different devices count as the same."""
    names = ("torch", "transformers", "tokenizers", "numpy")
    return {"hybridal": __version__, **{name: version(name).partition("+")[0] for name in names}}


def check_alike(wanted: Mapping[str, str]) -> None:
    """Refuses to mix facts of different versions in one study."""
    for name, here in versions().items():
        if here != wanted[name]:
            raise RunError(
                f"{platform.node()} has {name} {here} and the driver has {wanted[name]}; install the same on every "
                "machine, since another version may give other facts."
            )
