"""How far a study is, while it runs: read from its folder, so that it is true for every engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hybridal.study.engines import CellOutcome
from hybridal.study.folder import StudyFolder

PAUSE = 2.0


@contextmanager
def progress(folder: StudyFolder, quiet: bool) -> Iterator[Callable[[CellOutcome], None]]:
    """A bar over the cells, with the rounds done so far; elsewhere than on a terminal, a line a cell."""
    console = Console(quiet=quiet)
    bar = Progress(
        TextColumn("cells"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rounds]} rounds"),
        TimeElapsedColumn(),
        console=console,
        disable=quiet or not console.is_terminal,
    )
    complete = sum(folder.complete(cell) for cell in folder.cells)
    task = bar.add_task("cells", total=len(folder.cells), completed=complete, rounds=_rounds(folder))
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(PAUSE):
            bar.update(task, rounds=_rounds(folder))

    def done(outcome: CellOutcome) -> None:
        bar.advance(task)
        if not console.is_terminal:
            state = "failed" if outcome.error else "complete"
            console.print(f"{state}: {outcome.key}", highlight=False, markup=False, soft_wrap=True)

    watcher = threading.Thread(target=watch, daemon=True)
    with bar:
        watcher.start()
        try:
            yield done
        finally:
            stop.set()
            watcher.join()


def _rounds(folder: StudyFolder) -> int:
    files = (folder.home(cell) / "rounds.jsonl" for cell in folder.cells)
    return sum(file.read_bytes().count(b"\n") for file in files if file.exists())
