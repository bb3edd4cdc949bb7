"""How many texts are done, while they are read or predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class Rate(ProgressColumn):
    """Texts a second, of late."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} texts/s" if speed else "")


@contextmanager
def text_progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar for the length of the block, on a terminal alone; it is told of each number of texts that is done."""
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
