"""One round of active learning, and the loop over rounds (Algorithm 1)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from hybridal.acquisition import Acquisition, select
from hybridal.annotators import Annotator, Example, ModelAnnotator
from hybridal.annotators.team import EXAM, Answers, Team
from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.observer import Observer
from hybridal.core.outputs import Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.provenance import CHOSEN, RANDOM
from hybridal.core.rounds import Chosen, LabelChanges, Metrics, Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.initial import draw_initial, initial_origin, partly_labelled, spread
from hybridal.models.model_protocol import EncoderChooser, Fit, Model, TimedCandidates
from hybridal.randomness import stream
from hybridal.schedules import Schedule, decide
from hybridal.signals import ModelView, Signal, Snapshot, measured_change, snapshot_of
from hybridal.system.stopwatch import Stopwatch
from hybridal.tasks.task import Task
from hybridal.updates import Plan, Situation, Update, Weights, plan_of

StopCriterion = Callable[[Sequence[Round]], bool]


def never_stop(_history: Sequence[Round]) -> bool:
    """The default stop criterion: run all rounds of the protocol."""
    return False


@dataclass(frozen=True)
class State:
    """Everything that the next round depends on; a value that is never modified.

    It is a function of (task, backbone, protocol, seed, update sequence) and of the labels given.

    Attributes:
        round: How many rounds are complete.
        update_sequence: The updates so far, one letter each: `RRRRFF`.
        pool: Which texts are labelled, held for validation or pending.
        weights: The trained weights θ_t; None for the pretrained ones θ₀.
        moments: The optimiser's moments, if the protocol carries them over.
        snapshots: What each watched signal remembers of this round's model.
        temperature: The last fitted temperature.
        thresholds: The last decision thresholds, if a text may have several classes.
        trained: Whether the encoder was trained, not only a head on the pretrained encoder.
        encoder: The pretrained encoder in use, if it was chosen among several.
    """

    round: int
    update_sequence: str
    pool: Pool
    weights: Weights | None = None
    moments: Weights | None = None
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    temperature: float | None = None
    trained: bool = False
    thresholds: tuple[float, ...] = ()
    encoder: EncoderChoice | None = None

    def with_encoder(self, choice: EncoderChoice | None) -> State:
        """Return the state with this encoder. After a change only the labels are left, and no model has learnt them."""
        if choice is None or not choice.changed:
            return replace(self, encoder=choice)
        pool = replace(self.pool, newest=len(self.pool))
        return State(self.round, self.update_sequence, pool, encoder=choice)


@dataclass(frozen=True)
class Experiment:
    """What all schedules of a comparison share: task, model, protocol, seed and components.

    `advance` is a function of state and update alone, so schedules that agreed so far can share their rounds.

    Attributes:
        task: The texts, classes and splits.
        model: The model to train.
        rules: The protocol.
        seed: The seed of every random choice.
        acquisition: Chooses the texts to label.
        signals: The signals to measure each round.
        annotator: Labels the chosen texts; a team of people and a model, too.
        tests_every_round: Measure on the test split each round, not only in the last.
    """

    task: Task
    model: Model
    rules: Rules
    seed: int
    acquisition: Acquisition
    signals: tuple[Signal, ...]
    annotator: Annotator | Team
    tests_every_round: bool = False

    def start(self) -> State:
        """Return the state before round 1: the initial texts are chosen and pending."""
        self.use_encoder(None)
        pool = Pool.unlabelled(len(self.task.train), self.task.label_sets)
        if self.rules.initial_draw == "spread" and not partly_labelled(self.task):
            return State(0, "", self.choose_first(pool, self.rules.initial))
        drawn = draw_initial(self.task, self.rules, self.seed)
        held = self._draw_validation(pool, drawn, len(drawn), 0)
        origin = initial_origin(self.task, self.rules)  # also of the held ones, which are a part of the drawn ones
        return State(0, "", pool.choose(drawn[~np.isin(drawn, held)], held, origin, origin))

    @cached_property
    def first_order(self) -> Ints:
        """All training rows, in the order in which to label them before there is a model."""
        if self.rules.initial_draw == "spread":
            return spread(self.task, self.model, self.seed)
        return stream(self.seed, "initial").permutation(len(self.task.train))

    def choose_first(self, pool: Pool, n: int) -> Pool:
        """Choose n texts before there is a model; texts held for validation are drawn at random among the n."""
        candidates = self._available(pool.candidates(), 1)
        held = self._draw_validation(pool, candidates, n, -len(candidates))
        free = self.first_order[np.isin(self.first_order, np.setdiff1d(candidates, held))]
        origin = CHOSEN if self.rules.initial_draw == "spread" else RANDOM
        return self._pending(pool, free[: n - len(held)], held, origin)

    def _pending(self, pool: Pool, rows: Ints, held: Ints, origin: int) -> Pool:
        """Make rows pending. If some classes appear later, the texts that can be drawn now are no sample of all."""
        late = self.rules.late_class is not None
        return pool.choose(rows, held, CHOSEN if late else origin, CHOSEN if late else RANDOM)

    @property
    def _acquired_origin(self) -> int:
        return RANDOM if getattr(self.acquisition, "at_random", False) else CHOSEN

    def load(self, state: State) -> None:
        """Make the model that of a state."""
        self.use_encoder(state.encoder)
        self.model.load(state.weights or self.model.pretrained)

    def use_encoder(self, choice: EncoderChoice | None) -> None:
        """Make the model use the chosen encoder; None is the one that a run begins with."""
        if isinstance(self.model, EncoderChooser):
            self.model.use_encoder(choice)

    def advance(self, state: State, update: Update, label_changes: LabelChanges | None = None) -> tuple[State, Round]:
        """Run one round: label the pending texts, learn, and choose the next texts.

        Labels are requested when a round begins, not when the previous one ends. So the record of a round is complete
        before labelling starts, and no text is labelled that no model will see.

        Args:
            state: The state after the previous round.
            update: How to train.
            label_changes: The labels that came since the last round, if known; else they are counted.

        Returns:
            The state after the round, and its record.
        """
        learnt, record = self.learn(self.labelled(state), update, label_changes)
        state, chosen, _ = self.acquire(learnt, self.rules.batch)
        return state, record.completed(chosen)

    @staticmethod
    def without_pending(state: State) -> State:
        """Return the state with its pending texts made candidates again."""
        return replace(state, pool=state.pool.reveal({}))

    def labelled(self, state: State) -> State:
        """Return the state with its pending texts labelled by the annotator."""
        return replace(state, pool=self.label(state.pool)) if len(state.pool.pending) else state

    def label_changes(self, state: State, last: bool | None = None) -> LabelChanges:
        """Count the labels that came since the last update, and choose the encoder if there are several.

        Args:
            state: A state whose pending texts are labelled.
            last: Whether the next round is the last; None: if it is the protocol's last.
        """
        ends = state.round + 1 == self.rules.rounds if last is None else last
        encoder = None
        if isinstance(self.model, EncoderChooser):
            encoder = self.model.choose_encoder(state.pool, state.encoder)
        return replace(state.pool.label_changes(), last=ends, encoder=encoder)

    def replayed(self, history: Sequence[Round]) -> State:
        """Rebuild the pool after these rounds from the ids they recorded, without training: it has no weights."""
        row_of = {id: row for row, id in enumerate(self.task.train.ids)}
        state = self.start()
        for round_ in history:
            acquired, held = (
                np.array([row_of[id] for id in ids], dtype=np.int64) for ids in (round_.acquired, round_.held)
            )
            pool = self._pending(self.labelled(state).pool.learnt(), acquired, held, self._acquired_origin)
            state = State(
                round_.round,
                round_.update_sequence,
                pool,
                temperature=round_.temperature,
                thresholds=round_.thresholds,
                encoder=round_.encoder,
            )
        return state

    def plan(self, update: Update, state: State) -> Plan:
        """Return the start weights and training rows of the next round; the pending texts must be labelled."""
        prepare = partial(self.model.start, state.pool)
        if self._uses_probe(state):
            return Plan(prepare(None), state.pool.order[:0])
        rng = stream(self.seed, "update", state.round + 1)
        return plan_of(update, Situation(prepare, state.weights, state.moments, state.pool, self.rules, rng))

    def _uses_probe(self, state: State) -> bool:
        """Whether there are too few labels to train on: the model is then a head on the pretrained encoder."""
        return len(state.pool) < self.rules.probe_until

    def learn(self, state: State, update: Update, label_changes: LabelChanges | None = None) -> tuple[State, Round]:
        """Train (lines 3-7 of Algorithm 1) and measure how far the model moved (lines 10-11).

        Args:
            state: The state after the previous round, with its pending texts labelled.
            update: How to train.
            label_changes: The labels that came since the last round, if known; else they are counted.

        Returns:
            The state with the trained model, and the record of the round without the next texts.
        """
        t, watch = state.round + 1, Stopwatch()
        label_changes = label_changes or self.label_changes(state)
        state = state.with_encoder(label_changes.encoder)
        self.use_encoder(state.encoder)
        if isinstance(self.model, EncoderChooser):
            watch.add({"encoder": self.model.comparing_seconds()})
        with watch("train"):  # fitting the head is all that some updates do
            plan = self.plan(update, state)
        fit = self.model.fit(plan, state.pool, t)
        watch.add(fit.seconds)
        trained = fit.cost.steps > 0 or (state.trained and not self._uses_probe(state))
        temperature = self._temperature(fit, state.temperature, trained)
        with watch("signal"):
            view = self.model.view(fit.validation, state.pool)
            snapshots, changes = self._signals(view, state)
            thresholds = self._thresholds(view, temperature, state.thresholds)
        with watch("test"):
            test = self._test(t, temperature, thresholds)
        record = Round(
            round=t,
            update=update.spec,
            update_sequence=state.update_sequence + update.letter,
            labels=len(state.pool),
            by_model=len(state.pool.by_model),
            cost=fit.cost,
            kept_epoch=fit.kept_epoch,
            temperature=temperature,
            validation=self._validation(fit.validation, temperature, thresholds),
            test=test,
            changes=changes,
            seconds=watch.seconds,
            reason=update.reason,
            label_changes=label_changes,
            cross=self._cross_fitted(state.pool) if fit.validation is None else None,
            thresholds=thresholds,
        )
        pool, sequence = state.pool.learnt(), record.update_sequence
        now = State(t, sequence, pool, fit.weights, fit.moments, snapshots, temperature, trained, thresholds)
        return replace(now, encoder=state.encoder), record

    def acquire(self, state: State, n: int) -> tuple[State, Chosen, TimedCandidates | None]:
        """Choose the next n texts to label (lines 8-9 of Algorithm 1).

        The acquisition ranks a random subset of the unlabelled texts, of the protocol's size (of n if that is more).
        If a share of the labels is held for validation, that share of the n is drawn at random instead, also among
        texts that only a model labelled.

        Args:
            state: The state after learning.
            n: How many texts to choose.

        Returns:
            The state with the chosen texts pending, their record, and the scored candidates (None if there were none
            to rank).
        """
        rows = self._available(state.pool.candidates(), state.round + 1)
        drawable = np.union1d(rows, self._available(state.pool.by_model, state.round + 1))
        held = self._draw_validation(state.pool, drawable, n, state.round)
        rows = np.setdiff1d(rows, held)
        limit = len(rows) if self.rules.candidates is None else max(self.rules.candidates, n)
        if len(rows) > limit:
            draw = stream(self.seed, "candidates", state.round)
            rows = np.sort(draw.choice(rows, limit, replace=False))
        chosen = Chosen(state.round, held=tuple(self.task.train.ids[row] for row in held))
        if not len(rows) or len(held) == n:
            return replace(state, pool=self._pending(state.pool, rows[:0], held, CHOSEN)), chosen, None
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
        pool = self._pending(state.pool, pending, held, self._acquired_origin)
        return replace(state, pool=pool), chosen, candidates

    def _available(self, rows: Ints, t: int) -> Ints:
        """The rows that can be labelled for round t: in a simulation, the last class may appear only later."""
        if self.rules.late_class is None or t >= self.rules.late_class:
            return rows
        labels, last = self.task.train.labels[rows], len(self.task.classes) - 1
        sets = self.task.label_sets
        has_last = labels == last if sets is None else sets.targets(labels)[:, last] == 1
        others: Ints = rows[~has_last]
        return others

    def _draw_validation(self, pool: Pool, candidates: Ints, n: int, t: int) -> Ints:
        """Draw which of the next n texts are held for validation, so that the protocol's share is kept."""
        n = min(n, len(candidates))  # a share of the texts that exist, or none would be left to learn
        people = len(pool) - len(pool.by_model) + len(pool.held)  # validation is a share of what people label
        more = math.ceil(n * self.annotator.share_of_people) if isinstance(self.annotator, Team) else n
        wanted = self.rules.validation_rows(people + more) - len(pool.held)
        size = min(max(0, wanted), n)
        return stream(self.seed, "validation", t).choice(candidates, size, replace=False)

    def label(self, pool: Pool) -> Pool:
        """Ask the annotator for the labels of the pending texts."""
        train = self.task.train
        texts = {train.ids[row]: train.texts[row] for row in pool.pending}
        rows = dict(zip(texts, pool.pending.tolist(), strict=True))
        if not isinstance(self.annotator, Team):
            return self._revealed(pool, Answers(self.annotator.label(texts)), rows)
        if isinstance(self.annotator.model, ModelAnnotator):
            self.annotator.model.show(self.examples(pool))
        for_people = {train.ids[row] for row in pool.held}
        if partly_labelled(self.task):
            for_people |= {id for id, row in rows.items() if train.labels[row] >= 0}
        exam = {train.ids[row]: row for row in self.exam(pool)}
        answers = self.annotator.ask(texts, for_people, {id: train.texts[row] for id, row in exam.items()})
        if not answers.people and not answers.model and not len(pool):
            raise UserError(
                "The annotator gave no label to start with; try it on a few texts, or let people label some."
            )
        return self._revealed(pool.without_random(), answers, exam | rows)

    @staticmethod
    def exam(pool: Pool) -> list[int]:
        """Rows that people labelled, to ask a model about: enough to see how good it is."""
        rows = pool.by_people().order
        if len(pool.model_labels):
            rows = rows[pool.model_labels[rows] < 0]
        found: list[int] = rows[: max(0, EXAM - len(pool.compared()[0]))].tolist()
        return found

    def _revealed(self, pool: Pool, answers: Answers, rows: Mapping[str, int]) -> Pool:
        """Add answers to a pool; `rows` are those of the texts that were asked about, by id."""
        for id in (*answers.people, *answers.model):
            if id not in rows:
                raise UserError(f"The annotator gave a label for '{id}', which it was not asked about.")
        people, model = (
            {rows[id]: self.task.label_number(answer) for id, answer in given.items()}
            for given in (answers.people, answers.model)
        )
        return pool.reveal(people, waiting=True).reveal_by_model(model) if model else pool.reveal(people)

    def examples(self, pool: Pool) -> list[Example]:
        """The texts of the pool that people labelled, with their labels; validation texts are left out."""
        train = self.task.train
        rows = pool.by_people().order.tolist()
        return [(train.texts[row], self.task.answer(int(pool.labels[row]))) for row in rows]

    def _signals(self, view: ModelView, before: State) -> tuple[dict[str, Snapshot], dict[str, float | None]]:
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
            return self.task.objective.shrink_temperature(logits, labels, last, trained)
        return None if found is None else self.task.objective.fit_temperature(found.logits, labels)

    def _thresholds(self, view: ModelView, temperature: float | None, last: tuple[float, ...]) -> tuple[float, ...]:
        """Decision thresholds by the model's probabilities of unlabelled texts; the last ones if there are none."""
        if not self.task.multi_label:
            return ()
        logits = view.unlabelled().logits
        if not len(logits) and last:
            return last
        return self.task.objective.thresholds(logits, temperature or 1.0, self.rules.thresholds)

    def _validation(
        self, outputs: Outputs | None, temperature: float | None, thresholds: tuple[float, ...]
    ) -> Metrics | None:
        if outputs is None or temperature is None:
            return None
        return self.task.objective.measure(outputs.logits, self.model.validation_labels, temperature, thresholds)

    def _cross_fitted(self, pool: Pool) -> Metrics | None:
        found = self.model.cross_fitted(pool)
        if found is None:
            return None
        thresholds = self.task.objective.thresholds(found[0], 1.0, self.rules.thresholds)
        return self.task.objective.measure(*found, 1.0, thresholds)

    def _test(self, t: int, temperature: float | None, thresholds: tuple[float, ...]) -> Metrics | None:
        if not (self.tests_every_round or t == self.rules.rounds):
            return None
        tested = self.model.test()
        if tested is None:
            return None
        return self.task.objective.measure(tested[0].logits, tested[1], temperature or 1.0, thresholds)


def active_learning(
    experiment: Experiment,
    schedule: Schedule,
    state: State | None = None,
    history: Sequence[Round] = (),
    should_stop: StopCriterion = never_stop,
    observer: Observer | None = None,
) -> Iterator[tuple[State, Round]]:
    """Run Algorithm 1: decide and advance until all rounds are done.

    Args:
        experiment: Task, model, protocol and components.
        schedule: Decides the update of each round.
        state: The state to continue from; None starts a new run.
        history: The rounds before `state`.
        should_stop: Once it holds, no more labels are requested, and a last round follows if the schedule would train
            differently in it.
        observer: Receives the start of each round, once its labels are there and its update is decided.

    Yields:
        The state after each round, and its record.
    """
    observer = observer or Observer()
    state = state or experiment.start()
    history = list(history)
    while not is_finished(experiment.rules.rounds, schedule, history, should_stop):
        stop = should_stop(history)
        state = experiment.without_pending(state) if stop else experiment.labelled(state)
        last = stop or len(history) + 1 == experiment.rules.rounds
        label_changes = experiment.label_changes(state, last)
        update = decide(schedule, history, label_changes)
        observer.round_started(len(history) + 1, experiment.rules.rounds, update.spec)
        state, record = experiment.advance(state, update, label_changes)
        history.append(record)
        yield state, record


def is_finished(
    rounds: int, schedule: Schedule, history: Sequence[Round], should_stop: StopCriterion = never_stop
) -> bool:
    """Whether a run has had its last round.

    Once `should_stop` holds, one more round follows only if the schedule would train differently in a last round.
    """
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
