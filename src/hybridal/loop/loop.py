"""The round, and the loop around it: Algorithm 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from hybridal.acquisition import Acquisition, select
from hybridal.annotators import Annotator
from hybridal.core.observer import Observer
from hybridal.core.outputs import Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.rounds import Chosen, LabelChanges, Metrics, Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.initial import draw_initial, partly_labelled, spread
from hybridal.measures import calibration
from hybridal.measures.metrics import measure
from hybridal.models.model_protocol import Fit, Model, TimedCandidates
from hybridal.randomness import stream
from hybridal.schedules import Schedule, decide
from hybridal.signals import Signal, Snapshot, measured_change, snapshot_of
from hybridal.system.stopwatch import Stopwatch
from hybridal.tasks.task import Task
from hybridal.updates import Plan, Situation, Update, Weights, plan_of

StopCriterion = Callable[[Sequence[Round]], bool]


def never_stop(_history: Sequence[Round]) -> bool:
    """Goes on to the last round of the protocol."""
    return False


@dataclass(frozen=True)
class State:
    """Where a run stands after `round` rounds: a value, and a function of the run's word."""

    round: int
    update_sequence: str
    pool: Pool
    weights: Weights | None = None
    moments: Weights | None = None
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    temperature: float | None = None
    trained: bool = False  # the encoder, not only a head on the pretrained one


@dataclass(frozen=True)
class Experiment:
    """All that the schedules of one comparison share. `advance` is a function of state and update alone."""

    task: Task
    model: Model
    rules: Rules
    seed: int
    acquisition: Acquisition
    signals: tuple[Signal, ...]
    annotator: Annotator
    tests_every_round: bool = False

    def start(self) -> State:
        """Before the first round: the initial pool is chosen, and waits for its labels."""
        pool = Pool.unlabelled(len(self.task.train))
        if self.rules.initial_draw == "spread" and not partly_labelled(self.task):
            return State(0, "", self.choose_first(pool, self.rules.initial))
        drawn = draw_initial(self.task, self.rules, self.seed)
        held = self._draw_validation(pool, drawn, len(drawn), 0)
        return State(0, "", pool.choose(drawn[~np.isin(drawn, held)], held))

    @cached_property
    def first_order(self) -> Ints:
        """All rows, in the order in which to label them before there is a model."""
        if self.rules.initial_draw == "spread":
            return spread(self.task, self.model, self.seed)
        return stream(self.seed, "initial").permutation(len(self.task.train))

    def choose_first(self, pool: Pool, n: int) -> Pool:
        """Chooses n texts before there is a model; those to measure on are drawn by chance in place of the last."""
        candidates = self._available(pool.candidates(), 1)
        held = self._draw_validation(pool, candidates, n, -len(candidates))
        free = self.first_order[np.isin(self.first_order, np.setdiff1d(candidates, held))]
        return pool.choose(free[: n - len(held)], held)

    def advance(self, state: State, update: Update, last: bool | None = None) -> tuple[State, Round]:
        """One round: label what the last one chose, learn, and choose what to label next.

        Labels are asked for when a round begins, not when the round before ends: so a round's facts are complete
        before anybody starts to label, and nobody labels texts that no model will see.
        """
        learnt, fact = self.learn(self.labelled(state), update, self.label_changes(state, last).last)
        state, chosen, _ = self.acquire(learnt, self.rules.batch)
        return state, fact.completed(chosen)

    @staticmethod
    def without_pending(state: State) -> State:
        """The state with nothing left to wait for."""
        return replace(state, pool=state.pool.reveal({}))

    def labelled(self, state: State) -> State:
        """The state with the labels that it waits for."""
        return replace(state, pool=self.label(state.pool)) if len(state.pool.pending) else state

    def label_changes(self, state: State, last: bool | None = None) -> LabelChanges:
        """What there is to learn; the last round is that of the protocol, unless somebody knows better."""
        ends = state.round + 1 == self.rules.rounds if last is None else last
        return replace(state.pool.label_changes(), last=ends)

    def replayed(self, history: Sequence[Round]) -> State:
        """Where a run stood after these rounds, by what they say was chosen; what was learnt, they do not say."""
        row_of = {id: row for row, id in enumerate(self.task.train.ids)}
        state = self.start()
        for fact in history:
            acquired, held = (
                np.array([row_of[id] for id in ids], dtype=np.int64) for ids in (fact.acquired, fact.held)
            )
            pool = self.labelled(state).pool.learnt().choose(acquired, held)
            state = State(fact.round, fact.update_sequence, pool, temperature=fact.temperature)
        return state

    def plan(self, update: Update, state: State) -> Plan:
        """How the next round trains, once what the last one chose is labelled."""
        prepare = partial(self.model.start, state.pool)
        if self._probes(state):
            return Plan(prepare(None), state.pool.order[:0])
        rng = stream(self.seed, "update", state.round + 1)
        return plan_of(update, Situation(prepare, state.weights, state.moments, state.pool, self.rules, rng))

    def _probes(self, state: State) -> bool:
        """Whether there are too few labels to train on: then the model is a head on the pretrained encoder."""
        return len(state.pool) < self.rules.probe_until

    def learn(self, state: State, update: Update, last: bool = False) -> tuple[State, Round]:
        """Lines 3-7 of Algorithm 1: train as the update says; and 10-11: measure how far the model moved."""
        t, watch = state.round + 1, Stopwatch()
        with watch("train"):  # to fit the head is all that some updates do
            plan = self.plan(update, state)
        fit = self.model.fit(plan, state.pool, t)
        watch.add(fit.seconds)
        trained = fit.cost.steps > 0 or (state.trained and not self._probes(state))
        temperature = self._temperature(fit, state.temperature, trained)
        with watch("signal"):
            snapshots, changes = self._signals(fit.validation, state)
        with watch("test"):
            test = self._test(t, temperature)
        fact = Round(
            round=t,
            update=update.spec,
            update_sequence=state.update_sequence + update.letter,
            labels=len(state.pool),
            cost=fit.cost,
            kept_epoch=fit.kept_epoch,
            temperature=temperature,
            validation=self._validation(fit.validation, temperature),
            test=test,
            changes=changes,
            seconds=watch.seconds,
            reason=update.reason,
            label_changes=self.label_changes(state, last),
            cross=self._cross(state.pool) if fit.validation is None else None,
        )
        pool = state.pool.learnt()
        return State(t, fact.update_sequence, pool, fit.weights, fit.moments, snapshots, temperature, trained), fact

    def acquire(self, state: State, n: int) -> tuple[State, Chosen, TimedCandidates | None]:
        """Lines 8-9: choose n texts of a random subset of the candidates, and show these; they wait for their labels.

        The subset is as large as the protocol says, or as n where somebody asks for more than that. Where a share of
        the labels is measured on, so many of the n are drawn at random instead.
        """
        rows = self._available(state.pool.candidates(), state.round + 1)
        held = self._draw_validation(state.pool, rows, n, state.round)
        rows = np.setdiff1d(rows, held)
        most = len(rows) if self.rules.candidates is None else max(self.rules.candidates, n)
        if len(rows) > most:
            draw = stream(self.seed, "candidates", state.round)
            rows = np.sort(draw.choice(rows, most, replace=False))
        chosen = Chosen(state.round, held=tuple(self.task.train.ids[row] for row in held))
        if not len(rows) or len(held) == n:
            return replace(state, pool=state.pool.choose(rows[:0], held)), chosen, None
        scale = state.temperature if self.rules.calibrate and state.temperature is not None else 1.0
        candidates = self.model.candidates(rows, state.pool, state.round, scale)
        start = time.perf_counter()
        batch = select(self.acquisition, candidates, n - len(held), stream(self.seed, "acquisition", state.round))
        wanted = set(batch.ids)
        row_of = {id: row for id, row in zip(candidates.ids, rows, strict=True) if id in wanted}
        pending = np.array([row_of[id] for id in batch.ids], dtype=np.int64)
        scoring = candidates.seconds
        seconds = {"score": scoring, "select": time.perf_counter() - start - scoring}
        chosen = replace(chosen, acquired=batch.ids, scores=batch.scores, seconds=seconds)
        return replace(state, pool=state.pool.choose(pending, held)), chosen, candidates

    def _available(self, rows: Ints, t: int) -> Ints:
        """What can be labelled for round t: all, but for a class that a simulation lets appear later."""
        if self.rules.late_class is None or t >= self.rules.late_class:
            return rows
        others: Ints = rows[self.task.train.labels[rows] != len(self.task.classes) - 1]
        return others

    def _draw_validation(self, pool: Pool, candidates: Ints, n: int, t: int) -> Ints:
        """Texts to measure on, among the next n: a share of those that there are, or nothing would be left to learn."""
        n = min(n, len(candidates))
        wanted = self.rules.validation_rows(len(pool) + len(pool.held) + n) - len(pool.held)
        size = min(max(0, wanted), n)
        return stream(self.seed, "validation", t).choice(candidates, size, replace=False)

    def label(self, pool: Pool) -> Pool:
        """The pool with the labels of its pending texts."""
        train = self.task.train
        texts = {train.ids[row]: train.texts[row] for row in pool.pending}
        answers = self.annotator.label(texts)
        rows = dict(zip(texts, pool.pending.tolist(), strict=True))
        for id in answers:
            if id not in rows:
                raise UserError(f"The annotator gave a label for '{id}', which it was not asked about.")
        return pool.reveal({rows[id]: self.task.class_index(name) for id, name in answers.items()})

    def _signals(
        self, validation: Outputs | None, before: State
    ) -> tuple[dict[str, Snapshot], dict[str, float | None]]:
        view = self.model.look(validation, before.pool)
        now = {signal.name: snapshot_of(signal, view) for signal in self.signals}
        changes: dict[str, float | None] = dict.fromkeys(now)
        for signal in self.signals:
            if signal.name in before.snapshots:
                changes[signal.name] = measured_change(signal, before.snapshots[signal.name], now[signal.name])
        return now, changes

    def _temperature(self, fit: Fit, last: float | None, trained: bool) -> float | None:
        found, labels = fit.validation, self.model.validation_labels
        if self.rules.temperature == "shrunk":
            logits = np.empty((0, len(self.task.classes))) if found is None else found.logits
            return calibration.shrunk_temperature(logits, labels, last, trained)
        return None if found is None else calibration.temperature(found.logits, labels)

    def _validation(self, outputs: Outputs | None, temperature: float | None) -> Metrics | None:
        if outputs is None or temperature is None:
            return None
        return measure(outputs.logits, self.model.validation_labels, temperature)

    def _cross(self, pool: Pool) -> Metrics | None:
        found = self.model.cross_fitted(pool)
        return None if found is None else measure(*found, 1.0)

    def _test(self, t: int, temperature: float | None) -> Metrics | None:
        if not (self.tests_every_round or t == self.rules.rounds):
            return None
        tested = self.model.test()
        return None if tested is None else measure(tested[0].logits, tested[1], temperature or 1.0)


def active_learning(
    experiment: Experiment,
    schedule: Schedule,
    state: State | None = None,
    history: Sequence[Round] = (),
    should_stop: StopCriterion = never_stop,
    observer: Observer | None = None,
) -> Iterator[tuple[State, Round]]:
    """Algorithm 1: decide, advance, until all rounds are done. Continues from a state and its history where given.

    Once `should_stop` holds, no more labels are asked for, and a last round follows if the schedule has a use for
    one. The `observer` is told of each round once its labels are there: only then is its update decided.
    """
    observer = observer or Observer()
    state = state or experiment.start()
    history = list(history)
    while not is_finished(experiment.rules.rounds, schedule, history, should_stop):
        stop = should_stop(history)
        state = experiment.without_pending(state) if stop else experiment.labelled(state)
        last = stop or len(history) + 1 == experiment.rules.rounds
        update = decide(schedule, history, experiment.label_changes(state, last))
        observer.round_started(len(history) + 1, experiment.rules.rounds, update.spec)
        state, fact = experiment.advance(state, update, last)
        history.append(fact)
        yield state, fact


def is_finished(
    rounds: int, schedule: Schedule, history: Sequence[Round], should_stop: StopCriterion = never_stop
) -> bool:
    """Whether a run has had its last round."""
    before = history[-1] if history else None
    if len(history) >= rounds or (before and before.label_changes and before.label_changes.last):
        return True
    if before is None or not should_stop(history):
        return False
    label_changes = LabelChanges(known=before.labels)
    return (
        decide(schedule, history, label_changes).spec
        == decide(schedule, history, replace(label_changes, last=True)).spec
    )
