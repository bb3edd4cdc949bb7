"""Progress of a run: a table with one row per round, and a progress bar under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from hybridal.core.observer import Observer
from hybridal.core.rounds import Round
from hybridal.errors import one_line
from hybridal.measures.certainty import known, wilson
from hybridal.reports.report_measures import has_several_labels
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule, make_schedule, switched_after
from hybridal.signals.agreement import Agreement
from hybridal.system.background_imports import import_later

COLUMNS = ("round", "update", "labels", "epochs", "accuracy", "95%", "F1", "NLL", "test", "ΔS", "stable", "seconds")
WIDTHS = (5, 21, 6, 6, 8, 9, 5, 5, 5, 7, 6, 7)
# Imported in the background after the first round, for the report.
REPORT = ("hybridal.reports.round_figures", "hybridal.reports.run_report", "jinja2")


class Quiet(Observer):
    """Shows nothing."""

    def round_done(self, history: Sequence[Round]) -> None:  # noqa: ARG002
        import_later(REPORT)


class Screen(Quiet):
    """Draws the table and the bar on a terminal; otherwise prints one line per round."""

    def __init__(self, schedule: Schedule, console: Console) -> None:
        self.schedule, self.console = schedule, console
        self.table = new_table()
        self.progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), console=console
        )
        self.stage, self.update = "preparing", ""
        self.awaited: tuple[int, int] | None = None
        self.bar = self.progress.add_task(self.stage, total=None)
        self.live = Live(Group(self.table, self.progress), console=console, refresh_per_second=4)

    def message(self, text: str) -> None:
        self.console.print(one_line(text), highlight=False, markup=False, soft_wrap=True)

    def texts_done(self, what: str, done: int, of: int) -> None:
        self.progress.update(self.bar, description=f"{self.stage}: {what} texts", completed=done, total=of)

    def round_started(self, round: int, of: int | None, update: str) -> None:
        self.stage, self.update, self.awaited = f"round {round} of {of}", update, None
        self.progress.reset(self.bar, description=f"{self.stage}: {update}", total=None)

    def epoch_done(self, epoch: int, of: int) -> None:
        self.progress.update(self.bar, description=f"{self.stage}: {self.update}", completed=epoch, total=of)

    def probe_fitted(self, fits: int, of: int) -> None:
        self.progress.update(self.bar, description=f"{self.stage}: fitting the probe", completed=fits, total=of)

    def round_done(self, history: Sequence[Round]) -> None:
        super().round_done(history)
        row, names = table_row(history, self.schedule), column_names(history)
        for column, name in zip(self.table.columns, names, strict=True):
            column.header = name
        self.table.add_row(*row)
        if not self.console.is_terminal:
            if self.table.row_count == 1:
                self._line(names)
            self._line(row)

    def _line(self, row: Sequence[str]) -> None:
        """Print a row for a log file: aligned and never wrapped."""
        text = "  ".join(value.rjust(width) for value, width in zip(row, WIDTHS, strict=True))
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def waiting(self, labelled: int, of: int, file: Path) -> None:
        self.progress.update(self.bar, description=f"waiting for labels in {file}", completed=labelled, total=of)
        if not self.console.is_terminal and self.awaited != (labelled, of):
            self.message(f"Waiting for labels in {file}: {labelled} of {of} are there.")
            self.awaited = (labelled, of)


def wide_console() -> Console:
    """Return a console for tables that does not wrap them in files and pipes."""
    console = Console()
    return console if console.is_terminal else Console(width=1000)


def new_table() -> Table:
    table = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        column.justify = "left" if column.header == "update" else "right"
    return table


def column_names(history: Sequence[Round]) -> tuple[str, ...]:
    """Return the columns: most are of validation, "test" is the accuracy on test texts.

    With several labels per text, accuracy is the share of exact matches.
    """
    exact = "exact" if has_several_labels(history) else "accuracy"
    return tuple(exact if name == "accuracy" else name for name in COLUMNS)


def table_row(history: Sequence[Round], schedule: Schedule) -> list[str]:
    """Format the newest round."""
    record = history[-1]
    measured = record.validation or record.cross
    scores = ["–"] * 4
    if measured is not None:
        (low, high), f1 = wilson(measured.right, measured.n), known(measured, "f1")
        interval = f"{low:.2f}–{high:.2f}"
        scores = [f"{measured.accuracy:.3f}", interval, "–" if f1 is None else f"{f1:.3f}", f"{measured.nll:.3f}"]
    moved = record.changes.get(Agreement.name)
    change, stable = "–" if moved is None else f"{moved:.2g}", "–"
    if rule := schedule.rule:
        latest = rule.changes(history)[-1]
        change = "–" if latest is None else f"{latest:.2g}"
        stable = f"{rule.detector.streaks(rule.changes(history))[-1]}/{rule.detector.patience}"
    if (t_star := switched_after(schedule, history)) is not None:
        stable = f"t*={t_star}"
    seconds = sum(record.seconds.values())
    return [
        str(record.round),
        record.update,
        str(record.labels),
        str(record.cost.epochs),
        *scores,
        f"{record.test.accuracy:.3f}" if record.test else "–",
        change,
        stable,
        f"{seconds:.1f}",
    ]


@contextmanager
def observer_of(settings: Settings, silent: bool) -> Iterator[Observer]:
    """Yield the observer of a run: a screen, or a silent one."""
    if silent:
        yield Quiet()
        return
    screen = Screen(make_schedule(settings.schedule), Console())
    if screen.console.is_terminal:
        with screen.live:
            yield screen
            screen.progress.remove_task(screen.bar)
    else:
        yield screen
