"""Progress bars."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from hybridal.lab.study.engines import CellOutcome
    from hybridal.lab.study.study_folder import StudyFolder


class Rate(ProgressColumn):
    """Recent texts per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} texts/s" if speed else "")


@contextmanager
def text_progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal; yield a function that advances it by a number of texts."""
    console = Console()
    bar = Progress(
        TextColumn(description),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(description, total=total)
    with bar:
        yield lambda texts: bar.advance(task, texts)


REFRESH_SECONDS = 2.0


@contextmanager
def study_progress(folder: StudyFolder, quiet: bool) -> Iterator[Callable[[CellOutcome], None]]:
    """Show a bar over the cells with the rounds so far; without a terminal, print one line per cell.

    It reads the study's folder, so that it works for every engine.
    """
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
        while not stop.wait(REFRESH_SECONDS):
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
