"""One cell of a study: every round that its schedules need, each computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hybridal.core.facts import Round
from hybridal.core.observer import Observer
from hybridal.runs.assemble import build_cell, build_model, watched
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.study.trie import Trie
from hybridal.tasks import Task


def run_cell(
    settings: Settings,
    specs: Sequence[str],
    task: Task,
    known: Mapping[str, Round],
    record: Callable[[Round], None],
    scratch: Path,
    observer: Observer | None = None,
) -> None:
    """Computes the rounds that are not `known`; `record` gets each as soon as it is complete.

    States that may be needed again lie in `scratch`; without them the same facts come out, only later.
    """
    observer = observer or Observer()
    schedules = [make_schedule(spec) for spec in specs]
    signals = watched(settings, *schedules)
    model = build_model(settings, task, signals, observer)
    cell = build_cell(settings, task, model, signals)

    def begin(round: int, update: str) -> None:
        observer.round_started(round, cell.rules.rounds, update)

    Trie(cell, known, record, scratch, begin).walk(schedules)
