"""The progress display of a benchmark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Screen:
    """A bar over all steps, and a line for each that is done."""

    def __init__(self, steps: int) -> None:
        self.console = Console(highlight=False)
        columns = (TextColumn("{task.description:32s}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self.console, disable=not self.console.is_terminal, transient=True)
        self._all = self._bar.add_task("", total=steps)

    def __enter__(self) -> Screen:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show the current step, and its total duration including the start."""
        self._bar.update(self._all, description=what)
        start = time.perf_counter()
        yield
        self._bar.advance(self._all)
        self.say(f"{what:32s} {time.perf_counter() - start:6.1f} s")

    def say(self, message: str) -> None:
        self._bar.console.print(message, markup=False, soft_wrap=True)
