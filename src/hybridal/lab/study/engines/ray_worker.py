"""Code that runs in Ray's processes: cells anywhere, and one recorder on the machine of the study folder."""

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

# Time for the recorder of a killed driver to end and to release its locks.
LOCK_TIMEOUT_SECONDS = 3.0


class JournalWriter:
    """Appends to the journals of cells, in one process on the machine of the study folder.

    It holds the locks of the cells itself. If the driver held them and were killed, the next driver could start while
    this process still writes.
    """

    def __init__(self, path: Path, keys: Sequence[str], timeout: float = LOCK_TIMEOUT_SECONDS) -> None:
        self._folder = StudyFolder.open(path)
        self._cells = {cell.key: cell for cell in self._folder.cells if cell.key in set(keys)}
        self._locks: dict[str, ExitStack] = {}
        self._recorded: dict[str, set[str]] = {}
        self._refusal: str | None = None
        try:
            self._lock(time.monotonic() + timeout)
        except RunError as error:
            self.close()
            self._refusal = str(error)

    def refusal(self) -> str | None:
        """The reason if this recorder cannot write, because another process works on one of the cells."""
        return self._refusal

    def known(self, key: str) -> list[dict[str, Any]]:
        """The recorded rounds of a cell."""
        self._check(key)
        return self._folder.journal(self._cells[key]).read()

    def append(self, key: str, round_record: Mapping[str, Any]) -> None:
        """Append a round; it is durable on return. A recorded update sequence is the same round from an earlier try."""
        self._check(key)
        if round_record["update_sequence"] not in self._recorded[key]:
            self._folder.journal(self._cells[key]).append(round_record)
            self._recorded[key].add(round_record["update_sequence"])

    def release(self, key: str) -> None:
        """Unlock a finished cell; a worker of it that reappears after it was considered lost is refused."""
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
            self._recorded[key] = set(self._folder.rounds_by_sequence(cell))

    def _check(self, key: str) -> None:
        if key not in self._locks:
            raise RunError(self._refusal or f"{key} is no longer computed here; the study went on without it.")


def compute(
    recorder: Any, key: str, settings: Mapping[str, Any], specs: Sequence[str], task: Task, wanted: Mapping[str, str]
) -> str | None:
    """Compute one cell on the machine that Ray chose; return the traceback if it failed.

    Saved states are deleted with the Ray task: a restarted cell computes them again.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        check_alike(wanted)
        known = {
            round_record["update_sequence"]: Round.from_json(round_record)
            for round_record in _wait_for(recorder.known.remote(key))
        }

        def record(round_record: Round) -> None:
            _wait_for(recorder.append.remote(key, round_record.to_json()))

        with one_thread(), scratch() as states:
            run_cell(Settings.from_json(settings), specs, task, known, record, states)
    except Exception:
        return traceback.format_exc()
    return None


def _wait_for(ref: Any) -> Any:
    """Wait for a result without giving up the core: during `ray.get` Ray would start another cell on it."""
    return ref.future().result()


def versions() -> dict[str, str]:
    """Return the versions that rounds depend on; builds for different devices count as equal."""
    names = ("torch", "transformers", "tokenizers", "numpy")
    return {"hybridal": __version__, **{name: version(name).partition("+")[0] for name in names}}


def check_alike(wanted: Mapping[str, str]) -> None:
    """Refuse to mix rounds of different versions in one study."""
    for name, here in versions().items():
        if here != wanted[name]:
            raise RunError(
                f"{platform.node()} has {name} {here} and the driver has {wanted[name]}; install the same on every "
                "machine, because another version may give different results."
            )
