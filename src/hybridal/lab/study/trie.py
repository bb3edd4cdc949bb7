"""Trie of update sequences: schedules that decided alike so far share their rounds, each computed once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hybridal.core.observer import Observer
from hybridal.core.rounds import LabelChanges, Round
from hybridal.errors import RunError
from hybridal.loop.loop import Experiment, State
from hybridal.runs import checkpoint
from hybridal.runs.assemble import build_experiment, build_loop_model, build_team, watched
from hybridal.runs.background_writer import BackgroundWriter
from hybridal.runs.run import require_equal_records
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule, decide, make_schedule
from hybridal.tasks import Task
from hybridal.updates import UPDATES, Update

# Minimum time between two saved states. A killed process loses this much work at most, plus the round in progress.
SECONDS_BETWEEN_STATES = 20.0


@dataclass
class Node:
    """An update sequence that a schedule has reached. Its state is computed only if a round must continue from it."""

    history: tuple[Round, ...]
    state: State | None = None
    parent: Node | None = None
    update: Update | None = None

    @property
    def update_sequence(self) -> str:
        return self.history[-1].update_sequence if self.history else ""


class Trie:
    """Walk the update sequences of one cell, depth first.

    Args:
        cell: The experiment that all schedules share.
        known: Rounds recorded earlier, by update sequence; they are not computed again.
        record: Called with each new round once it is complete.
        folder: Where states that may be needed again are saved, so that an interrupted walk can continue.
        begin: Called with the number and the update of each round before it is computed.
    """

    def __init__(
        self,
        cell: Experiment,
        known: Mapping[str, Round],
        record: Callable[[Round], None],
        folder: Path,
        begin: Callable[[int, str], None] = lambda _round, _update: None,
    ) -> None:
        self.cell, self.folder, self._record, self._begin = cell, folder, record, begin
        self.round_records = dict(known)
        self._known_label_changes = label_changes_by_sequence(known)
        self._kept_at = time.monotonic()
        self._writer = BackgroundWriter()
        self._first_updates: list[Update] = []

    def walk(self, schedules: Sequence[Schedule]) -> None:
        """Compute every round that at least one of these schedules needs."""
        left = self._load(self.folder / "tip")
        if left is not None and left[1] is not None and left[1].update_sequence not in self.round_records:
            # The process was killed after saving this state and before recording its round.
            self._record(left[1])
            self.round_records[left[1].update_sequence] = left[1]
        with self._writer:
            self._walk(Node((), self.cell.start()), schedules)

    def _walk(self, node: Node, schedules: Sequence[Schedule]) -> None:
        """Follow the last branch in the loop and the others by recursion: only states at forks stay in memory."""
        while len(node.history) < self.cell.rules.rounds:
            *branches, last = forks = self._forks(node, schedules)
            if not node.history:
                self._first_updates = [update for update, _ in forks]
            missing = any(node.update_sequence + update.letter not in self.round_records for update, _ in forks)
            if branches and missing and node.history:
                self._keep(self._fork_folder(node), self._state(node), node.history[-1])
            for update, members in branches:
                self._walk(self._child(node, update), members)
            update, schedules = last
            node = self._child(node, update)

    def _forks(self, node: Node, schedules: Sequence[Schedule]) -> list[tuple[Update, list[Schedule]]]:
        """Group the schedules by their next update. Retraining comes last: it is the trunk that others leave."""
        groups: dict[str, tuple[Update, list[Schedule]]] = {}
        label_changes = self._label_changes(node)
        for schedule in schedules:
            update = decide(schedule, node.history, label_changes)
            groups.setdefault(update.spec, (update, []))[1].append(schedule)
        return sorted(groups.values(), key=lambda group: group[0].name == "retrain")

    def _label_changes(self, node: Node) -> LabelChanges | None:
        """The label changes at a node, from any recorded round that continued from it, else from its labels."""
        if node.update_sequence not in self._known_label_changes:
            node.state = self.cell.labelled(self._state(node))
            self._known_label_changes[node.update_sequence] = self.cell.label_changes(node.state)
        return self._known_label_changes[node.update_sequence]

    def _child(self, node: Node, update: Update) -> Node:
        round_record = self.round_records.get(node.update_sequence + update.letter)
        if round_record is not None:
            return Node((*node.history, round_record), None, node, update)
        before = self._state(node)
        self._begin(before.round + 1, update.spec)
        state, round_record = self._advance(before, update)
        if time.monotonic() - self._kept_at >= SECONDS_BETWEEN_STATES:
            self._keep(self.folder / "tip", state, round_record)
            self._kept_at = time.monotonic()
        self._record(round_record)
        self.round_records[round_record.update_sequence] = round_record
        return Node((*node.history, round_record), state)

    def _state(self, node: Node) -> State:
        """Return the state of a node: from memory, else from disk, else computed again."""
        if node.state is None:
            node.state = self._saved(node)
        if node.state is None:
            node.state = self._recompute(node)
        node.parent = None
        return node.state

    def _recompute(self, node: Node) -> State:
        """Compute the state of a recorded round again.

        An update that starts from the pretrained weights needs no earlier state.
        """
        assert node.parent is not None
        assert node.update is not None
        *before, recorded = node.history
        if node.update.forgets:
            state, round_record = self._advance(self.cell.replayed(before), node.update)
            round_record = replace(
                round_record, changes=recorded.changes
            )  # they compare with a state that is not computed here
        else:
            state, round_record = self._advance(self._state(node.parent), node.update)
        require_equal_records(recorded, round_record)
        return state

    def _advance(self, before: State, update: Update) -> tuple[State, Round]:
        """Compute a round. Updates that train alike without previous weights share the first round."""
        if before.round or len(self._first_updates) == 1:
            return self.cell.advance(before, update)
        before = self.cell.labelled(before)
        plan = self.cell.plan(update, before)
        for number, other in enumerate(self._first_updates):
            saved = self._load(self._first_folder(number))
            if (
                saved
                and saved[1]
                and saved[0].update_sequence == other.letter
                and plan.same_as(self.cell.plan(other, before))
            ):
                state = replace(self._on_device(saved[0]), update_sequence=update.letter)
                return state, replace(saved[1], update=update.spec, update_sequence=update.letter, reason=update.reason)
        state, round_record = self.cell.advance(before, update)
        number = [other.letter for other in self._first_updates].index(update.letter)
        checkpoint.save(self._first_folder(number), state, round_record)
        return state, round_record

    def _saved(self, node: Node) -> State | None:
        for folder in (self.folder / "tip", self._fork_folder(node)):
            saved = self._load(folder)
            if saved is not None and saved[0].update_sequence == node.update_sequence:
                return self._on_device(saved[0])
        return None

    def _on_device(self, state: State) -> State:
        model = self.cell.model
        return replace(state, weights=model.to_device(state.weights), moments=model.to_device(state.moments))

    def _load(self, folder: Path) -> tuple[State, Round | None] | None:
        """Load a saved state; None if it is missing or damaged, because it can be computed again."""
        try:
            return checkpoint.load(folder, self.cell.task.label_sets)
        except RunError:
            return None

    def _keep(self, folder: Path, state: State, round_record: Round) -> None:
        self._writer.submit(partial(checkpoint.write, folder, checkpoint.Contents.of(state, round_record)))

    def _fork_folder(self, node: Node) -> Path:
        return self.folder / f"fork-{len(node.history):05d}"

    def _first_folder(self, number: int) -> Path:
        return self.folder / f"first-{number:05d}"


def histories(
    round_records: Mapping[str, Round], schedules: Sequence[Schedule], rounds: int
) -> dict[str, tuple[Round, ...]]:
    """Return the known rounds of each schedule, by its spec."""
    found: dict[str, tuple[Round, ...]] = {}
    label_changes = label_changes_by_sequence(round_records)
    for schedule in schedules:
        history: tuple[Round, ...] = ()
        while len(history) < rounds:
            before = history[-1].update_sequence if history else ""
            update = decide(schedule, history, label_changes.get(before))
            if before + update.letter not in round_records:
                break
            # A shared round is recorded with the reason of the schedule that computed it.
            history = (*history, replace(round_records[before + update.letter], reason=update.reason))
        found[schedule.spec] = history
    return found


def label_changes_by_sequence(round_records: Mapping[str, Round]) -> dict[str, LabelChanges | None]:
    """Return the label changes after each update sequence; all rounds that continue from it have the same."""
    letters = {
        update: UPDATES.make(update).letter
        for update in {round_record.update for round_record in round_records.values()}
    }
    return {
        round_record.update_sequence.removesuffix(letters[round_record.update]): round_record.label_changes
        for round_record in round_records.values()
    }


def run_cell(
    settings: Settings,
    specs: Sequence[str],
    task: Task,
    known: Mapping[str, Round],
    record: Callable[[Round], None],
    scratch: Path,
    observer: Observer | None = None,
) -> None:
    """Compute the missing rounds of all schedules of a cell.

    Args:
        settings: The settings that the schedules share.
        specs: The schedules.
        task: The task of the cell.
        known: Recorded rounds by update sequence.
        record: Called with each new round as soon as it is complete.
        scratch: Folder of saved states. Without them, the rounds are the same and take longer.
        observer: Receives progress.
    """
    observer = observer or Observer()
    schedules = [make_schedule(spec) for spec in specs]
    signals = watched(settings, *schedules)
    model = build_loop_model(settings, task, signals, observer)
    team = None if settings.annotator is None else build_team(settings, task)
    cell = build_experiment(settings, task, model, signals, team)

    def begin(round: int, update: str) -> None:
        observer.round_started(round, cell.rules.rounds, update)

    Trie(cell, known, record, scratch, begin).walk(schedules)
