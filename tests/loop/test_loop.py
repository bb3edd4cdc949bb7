from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from hybridal.acquisition import ACQUISITIONS, Candidates, Selection
from hybridal.annotators.callback import Callback
from hybridal.annotators.oracle import Oracle
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.rounds import LabelChanges, Round
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.initial import draw_initial
from hybridal.loop.loop import Experiment, State, active_learning
from hybridal.models.training import forward_passes
from hybridal.models.transformer import TransformerModel
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model, watched
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule, make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.signals import ModelView, Signal, Snapshot
from hybridal.tasks import Split, Task
from hybridal.testing.small import toy_task
from hybridal.updates import Plan
from hybridal.updates.finetune import FineTune
from hybridal.updates.newonly import NewOnly
from hybridal.updates.retrain import Retrain

RULES: dict[str, Any] = {
    "initial": 12,
    "rounds": 5,
    "batch": 8,
    "candidates": 30,
    "max_length": 16,
    "train_batch": 8,
    "max_epochs": 4,
    "learning_rate": 2e-3,
}
TASK = toy_task(train=100, validation=30, test=20)


def settings_of(schedule: str = "retrain", seed: int = 42, signals: Sequence[str] = (), **rules: Any) -> Settings:
    return Settings(
        "toy",
        backbone="tiny",
        protocol="paper",
        schedule=schedule,
        seed=seed,
        signals=tuple(signals),
        device="cpu",
        overrides={**RULES, **rules},
    )


def experiment_of(
    settings: Settings, task: Task = TASK, acquisition: Any = None, annotator: Any = None, extra: Sequence[Any] = ()
) -> Experiment:
    """A fresh experiment with a model of its own; `extra` are signals beyond those of the settings."""
    signals = (*watched(settings, make_schedule(settings.schedule)), *extra)
    model = build_model(settings, task, signals)
    return Experiment(
        task,
        model,
        settings.rules,
        settings.seed,
        acquisition or ACQUISITIONS.make(settings.acquisition_spec),
        signals,
        annotator or Oracle(task),
        settings.test_every_round,
    )


def run(settings: Settings, task: Task = TASK, **parts: Any) -> list[tuple[State, Round]]:
    return list(active_learning(experiment_of(settings, task, **parts), make_schedule(settings.schedule)))


def records_of(turns: Sequence[tuple[State, Round]]) -> list[Round]:
    """The records without their times."""
    return [replace(record, seconds={}) for _, record in turns]


def same_weights(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def same_state(one: State, other: State) -> bool:
    """Bit for bit; of the snapshots, those that both have."""
    shared = one.snapshots.keys() & other.snapshots.keys()
    return (
        (one.round, one.update_sequence, one.pool.newest) == (other.round, other.update_sequence, other.pool.newest)
        and np.array_equal(one.pool.labels, other.pool.labels)
        and np.array_equal(one.pool.order, other.pool.order)
        and np.array_equal(one.pool.pending, other.pool.pending)
        and same_weights(one.weights, other.weights)
        and same_weights(one.moments, other.moments)
        and all(
            np.array_equal(one.snapshots[name][part], other.snapshots[name][part])
            for name in shared
            for part in one.snapshots[name]
        )
    )


# --- Algorithm 1 ---------------------------------------------------------------------------------------------------


@dataclass
class Turn:
    """One line of the transcription's own log."""

    update_sequence: str
    labels: int
    right: int
    change: float | None
    acquired: tuple[str, ...]
    epochs: int
    weights: Mapping[str, Any] = field(repr=False, default_factory=dict)


def algorithm_1(model: TransformerModel, task: Task, rules: Rules, seed: int, epsilon: float, k: int) -> Iterator[Turn]:
    """The paper's Algorithm 1, line by line, with ΔAcc and entropy. Its S_prev = 0 is read as "there is none"."""
    ids, n = task.train.ids, rules.batch
    labelled = draw_initial(task, rules, seed).tolist()
    unlabelled = sorted(set(range(len(ids))) - set(labelled))
    s, stable_count, sequence = "Retrain", 0, ""
    s_prev: Fraction | None = None
    theta = model.pretrained
    for t in range(1, rules.rounds + 1):
        known = Pool(np.where(np.isin(np.arange(len(ids)), labelled), task.train.labels, UNKNOWN))
        start = model.pretrained if s == "Retrain" else theta
        fit = model.fit(Plan(start, np.array(labelled)), known, t)
        theta = fit.weights
        sequence += s[0]

        subset = np.array(unlabelled)
        if rules.candidates is not None and len(subset) > rules.candidates:
            subset = np.sort(stream(seed, "candidates", t).choice(subset, rules.candidates, replace=False))
        logits = forward_passes.predict(model.classifier, model.train_source, subset).logits.astype(np.float64)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(p)).sum(axis=1)
        ranked = sorted(range(len(subset)), key=lambda i: (-entropy[i], ids[int(subset[i])]))
        query = [int(subset[i]) for i in ranked[:n]]
        trained_on = len(labelled)
        labelled = labelled + query
        unlabelled = [row for row in unlabelled if row not in query]

        assert fit.validation is not None
        right = int((fit.validation.logits.argmax(axis=1) == task.validation.labels).sum())
        s_curr = Fraction(right, len(task.validation))
        change = None if s_prev is None else float(abs(s_curr - s_prev))
        s_prev = s_curr
        yield Turn(sequence, trained_on, right, change, tuple(ids[r] for r in query), fit.cost.epochs, fit.weights)

        if change is not None and change < epsilon:
            stable_count += 1
            if stable_count >= k and s == "Retrain":
                s = "FineTune"
        else:
            stable_count = 0


@pytest.fixture(scope="module")
def trunk() -> list[tuple[State, Round]]:
    """All rounds retrained, with the accuracy watched."""
    return run(settings_of(signals=["accuracy"]))


@pytest.fixture(scope="module")
def moves(trunk: list[tuple[State, Round]]) -> list[float]:
    """How much the accuracy changed in each round of the trunk from the second on."""
    found = [change for _, record in trunk if (change := record.changes["accuracy"]) is not None]
    assert len(found) == len(trunk) - 1
    assert len(set(found)) > 1  # the task is hard enough for the model to move
    return found


@pytest.mark.parametrize("case", ["at once", "after three", "tie", "excursion", "never"])
def test_algorithm_1_line_by_line(case: str, moves: list[float]) -> None:
    epsilon, k = {
        "at once": (2.0, 1),
        "after three": (2.0, 3),
        "tie": (max(moves), 1),  # a change that equals ε is not below it
        "excursion": (max(moves), 2),
        "never": (2.0, 5),
    }[case]
    settings = settings_of(f"hybrid:accuracy:{epsilon!r}:{k}")
    turns = run(settings)
    model = build_model(settings, TASK, ())
    literal = list(algorithm_1(model, TASK, settings.rules, settings.seed, epsilon, k))
    assert len(turns) == len(literal) == settings.rules.rounds
    for (state, record), expected in zip(turns, literal, strict=True):
        assert record.update_sequence == state.update_sequence == expected.update_sequence
        assert record.update == {"R": "retrain", "F": "finetune"}[expected.update_sequence[-1]]
        assert record.labels == expected.labels
        assert record.validation is not None
        assert record.validation.right == expected.right
        assert record.changes == {"accuracy": expected.change}
        assert record.acquired == expected.acquired
        assert record.cost.epochs == expected.epochs
        assert same_weights(state.weights, expected.weights)
    switches = {"at once": "RRFFF", "after three": "RRRRF", "never": "RRRRR"}
    assert literal[-1].update_sequence == switches.get(case, literal[-1].update_sequence)


def test_loop_continues_from_a_state_and_its_history(trunk: list[tuple[State, Round]]) -> None:
    settings = settings_of(signals=["accuracy"])
    history = [record for _, record in trunk[:3]]
    rest = list(active_learning(experiment_of(settings), make_schedule("retrain"), trunk[2][0], history))
    assert len(rest) == 2
    assert records_of(rest) == records_of(trunk[3:])
    assert len(history) == 3  # the caller's list is not written to
    assert all(same_state(one, other) for (one, _), (other, _) in zip(rest, trunk[3:], strict=True))


# --- the update sequence determines the state ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "shared"), [("fixed:4", 3), ("hybrid:accuracy:2.0:2", 3), ("hybrid:alpha:1e-12:4", 5)]
)
def test_equal_update_sequences_give_equal_states(schedule: str, shared: int, trunk: list[tuple[State, Round]]) -> None:
    turns = run(settings_of(schedule))
    words = [record.update_sequence for _, record in turns]
    assert words[:shared] == [record.update_sequence for _, record in trunk[:shared]]
    assert words[shared:] == ["R" * shared + "F" * more for more in range(1, 6 - shared)]
    for (state, record), (other_state, other) in zip(turns[:shared], trunk[:shared], strict=True):
        assert same_state(state, other_state)
        assert replace(record, seconds={}, changes={}) == replace(other, seconds={}, changes={})


def test_different_update_sequences_give_different_states(trunk: list[tuple[State, Round]]) -> None:
    experiment = experiment_of(settings_of())
    retrained, fine_tuned = (experiment.advance(trunk[1][0], update)[0] for update in (Retrain(), FineTune()))
    assert same_state(retrained, trunk[2][0])
    assert not same_weights(retrained.weights, fine_tuned.weights)


def test_advance_twice_from_one_state_whatever_happens_in_between(trunk: list[tuple[State, Round]]) -> None:
    """Another branch, another experiment, other draws from the global generators: none of them is seen."""
    settings = settings_of(signals=["accuracy", "weight-distance", "cka", "gradient-norm"])
    experiment, other = experiment_of(settings), experiment_of(settings_of(seed=7))
    start, _ = experiment.advance(experiment.start(), Retrain())
    here, record = experiment.advance(start, FineTune())
    other_first, _ = other.advance(other.start(), Retrain())
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 - the generator that nothing should read
    experiment.advance(here, Retrain())
    other_here, other_fact = other.advance(other_first, NewOnly())
    torch.rand(100)
    again, same_fact = experiment.advance(start, FineTune())
    assert same_state(here, again)
    assert replace(record, seconds={}) == replace(same_fact, seconds={})
    other_again, other_same = other.advance(other_first, NewOnly())
    assert same_state(other_here, other_again)
    assert replace(other_fact, seconds={}) == replace(other_same, seconds={})
    assert same_state(start, trunk[0][0])  # and the state that all began from is as it was


@pytest.mark.parametrize("acquisition", ["bald:2", "badge", "random"])
def test_records_depend_on_the_seed(acquisition: str) -> None:
    def facts_of(seed: int) -> list[Round]:
        settings = replace(settings_of("fixed:2", seed, rounds=2), acquisition=acquisition)
        return records_of(run(settings))

    first = facts_of(1)
    torch.rand(3)
    assert first == facts_of(1)
    other = facts_of(2)
    assert first[0].validation != other[0].validation
    assert set(first[0].acquired) != set(other[0].acquired)


def test_cost_of_fitting_the_head_is_counted() -> None:
    """All that a refit does; it takes no step."""
    turns = run(settings_of("refit", head="probe", rounds=2))
    for _, record in turns:
        assert record.cost.steps == 0
        assert record.seconds["train"] > 0


def test_moments_are_carried_over_only_between_fine_tunings() -> None:
    settings = settings_of("fixed:2", rounds=3, moments="carry", dropout="off")
    states = [state for state, _ in run(settings)]
    assert [state.moments is None for state in states] == [True, False, False]
    fresh = [state for state, _ in run(settings_of("fixed:2", rounds=3, dropout="off"))]
    assert same_weights(states[1].weights, fresh[1].weights)  # the switch itself starts with a fresh optimiser
    assert not same_weights(states[2].weights, fresh[2].weights)


def test_moments_are_carried_over_when_only_new_labels_are_learnt() -> None:
    """As published: nothing is learnt in round 1, so that the optimiser is a fresh one in round 2."""
    published, fresh = (
        [state for state, _ in run(settings_of("newonly", rounds=3, newonly_round_1="skip", moments=moments))]
        for moments in ("carry", "fresh")
    )
    assert same_weights(published[1].weights, fresh[1].weights)
    assert not same_weights(published[2].weights, fresh[2].weights)


# --- labels and ids ------------------------------------------------------------------------------------------------


class Asked:
    """An annotator that records its requests in a log with all other events."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.log: list[Any] = []

    def label(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        self.log.append(dict(texts))
        return self.task.answers(texts)


def test_labels_are_asked_for_when_they_are_needed_and_the_last_batch_never() -> None:
    settings = settings_of(rounds=3)
    asked = Asked(TASK)
    experiment = experiment_of(settings, annotator=asked)
    history: list[Round] = []
    for _, record in active_learning(experiment, make_schedule("retrain")):
        asked.log.append(record.round)
        history.append(record)
    initial = {TASK.train.ids[row] for row in draw_initial(TASK, settings.rules, settings.seed)}
    questions = [entry for entry in asked.log if isinstance(entry, dict)]
    assert [set(question) for question in questions] == [initial, set(history[0].acquired), set(history[1].acquired)]
    assert [entry for entry in asked.log if not isinstance(entry, dict)] == [1, 2, 3]
    assert [isinstance(entry, dict) for entry in asked.log] == [True, False] * 3
    assert [record.labels for record in history] == [12, 20, 28]
    assert len(history[-1].acquired) == 8  # chosen, although its labels are never requested


def test_label_changes_are_counted_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[LabelChanges] = []
    count = Pool.label_changes

    def watched_count(pool: Pool) -> LabelChanges:
        counted.append(count(pool))
        return counted[-1]

    monkeypatch.setattr(Pool, "label_changes", watched_count)
    history = records_of(run(settings_of(rounds=3)))
    assert [record.label_changes for record in history] == [*counted[:2], replace(counted[2], last=True)]


def test_ids_and_never_positions() -> None:
    """Ids that read like the positions of other texts."""
    size = len(TASK.train)
    train = replace(TASK.train, ids=[str((row * 7 + 3) % size) for row in range(size)])
    task = replace(TASK, train=train)
    asked = Asked(task)
    turns = run(settings_of(rounds=3), task, annotator=asked)
    text_of, label_of = dict(zip(train.ids, train.texts, strict=True)), dict(zip(train.ids, train.labels, strict=True))
    for question in asked.log:
        assert question == {id: text_of[id] for id in question}
    state, record = turns[-1]
    assert [train.ids[row] for row in state.pool.order[-8:]] == list(turns[-2][1].acquired)
    for row in state.pool.order:
        assert state.pool.labels[row] == label_of[train.ids[row]]
    assert [train.ids[row] for row in state.pool.pending] == list(record.acquired)
    renamed = dict(zip(TASK.train.ids, train.ids, strict=True))
    first = run(settings_of(rounds=1))[0][1]
    assert sorted(renamed[id] for id in first.acquired) == sorted(turns[0][1].acquired)


def test_an_annotator_may_leave_texts_out() -> None:
    dropped: set[str] = set()
    answered: list[int] = []

    def reluctant(texts: Mapping[str, str]) -> Mapping[str, str]:
        dropped.update(list(texts)[::2])
        given = {id: name for id, name in TASK.answers(texts).items() if id not in dropped}
        answered.append(len(given))
        return given

    turns = run(settings_of(rounds=3), annotator=Callback(reluctant))
    assert answered[0] == 6
    assert [record.labels for _, record in turns] == np.cumsum(answered).tolist()
    free = {TASK.train.ids[row] for row in turns[0][0].pool.candidates()}
    assert {id for id in dropped if id not in turns[0][1].acquired} & free  # they can be chosen again


def test_label_of_an_unchosen_or_unknown_text_is_refused() -> None:
    stray = Callback(lambda texts: {**TASK.answers(texts), "train-x": "sport"})
    with pytest.raises(UserError, match="gave a label for 'train-x', which it was not asked about"):
        run(settings_of(rounds=1), annotator=stray)
    with pytest.raises(UserError, match="'sprot' is not a class of task 'toy'; its classes are sport, food"):
        run(settings_of(rounds=1), annotator=Callback(lambda texts: dict.fromkeys(texts, "sprot")))


def test_labels_that_came_with_some_texts_are_the_initial_pool() -> None:
    labels = np.where(np.arange(len(TASK.train)) % 9 == 0, TASK.train.labels, UNKNOWN)
    task = replace(TASK, train=replace(TASK.train, labels=labels))
    asked = Asked(TASK)
    turns = run(settings_of(rounds=2), task, annotator=Oracle(task, asked))
    assert [record.labels for _, record in turns] == [12, 20]
    assert [set(question) for question in asked.log] == [set(turns[0][1].acquired)]  # what is known is not asked


# --- what is computed ----------------------------------------------------------------------------------------------


def test_the_test_split_is_measured_at_the_end_or_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of("fixed:2", rounds=3)
    last = records_of(run(settings))
    each = records_of(run(replace(settings, test_every_round=True)))
    assert [record.test is not None for record in last] == [False, False, True]
    assert [record.test is not None for record in each] == [True, True, True]
    assert last[2] == each[2]
    assert last[2].test is not None
    assert last[2].test.n == 20
    assert [replace(record, test=None) for record in last] == [replace(record, test=None) for record in each]


def test_a_task_without_a_test_split() -> None:
    turns = run(settings_of(rounds=1), replace(TASK, test=Split.empty()))
    assert turns[-1][1].test is None


@dataclass(frozen=True)
class Scripted(Signal):
    """A signal whose changes are written down, and that counts what is done to it."""

    changes: tuple[float, ...]
    done: list[str]
    name: ClassVar[str] = "scripted"
    title: ClassVar[str] = "Scripted"
    epsilon: ClassVar[float] = 0.5
    patience: ClassVar[int] = 2

    def snapshot(self, model: ModelView) -> Snapshot:
        self.done.append("snapshot")
        return {"number": np.array(self.done.count("snapshot"))}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        self.done.append("change")
        assert int(now["number"]) == int(before["number"]) + 1  # each round is compared with the one before
        return self.changes[int(before["number"]) - 1]


def test_signals_are_measured_once_a_round_and_only_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradient_norm(*_: Any) -> float:
        raise AssertionError("the gradient was not requested")

    monkeypatch.setattr(forward_passes, "gradient_norm", gradient_norm)
    signal = Scripted((0.75, 0.25), [])
    turns = run(settings_of(rounds=3, signals=["loss"]), extra=[signal])
    assert [dict(record.changes)["scripted"] for _, record in turns] == [None, 0.75, 0.25]
    assert all(record.changes.keys() == {"loss", "scripted"} == state.snapshots.keys() for state, record in turns)
    assert signal.done == ["snapshot", "snapshot", "change", "snapshot", "change"]
    assert all(not record.changes for _, record in run(settings_of(rounds=2)))


def test_the_change_of_the_loss_is_that_of_the_facts() -> None:
    history = records_of(run(settings_of(rounds=4, signals=["loss", "accuracy"])))
    for before, now in pairwise(history):
        assert before.validation is not None
        assert now.validation is not None
        assert now.changes["loss"] == pytest.approx(abs(now.validation.nll - before.validation.nll))
        assert now.changes["accuracy"] == float(Fraction(abs(now.validation.right - before.validation.right), 30))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_non_finite_change_names_its_signal(value: float) -> None:
    signal: Signal = Scripted((0.5, value), [])
    turns = active_learning(experiment_of(settings_of(), extra=[signal]), HybridAL(signal))
    assert [next(turns)[1].update_sequence for _ in range(2)] == ["R", "RR"]
    with pytest.raises(UserError, match=f"The signal 'scripted' changed by {value}, which is not a finite number"):
        next(turns)


def test_a_training_that_diverges_says_so() -> None:
    with pytest.raises(UserError, match="training has diverged"):
        run(settings_of(rounds=2, learning_rate=1e30))


def without_validation_labels() -> Task:
    labels = np.full(len(TASK.validation), UNKNOWN)
    return replace(TASK, validation=replace(TASK.validation, labels=labels))


@pytest.mark.parametrize("task", [without_validation_labels(), replace(TASK, validation=Split.empty())])
def test_without_validation_labels_the_weights_can_still_be_watched(task: Task) -> None:
    turns = run(settings_of("hybrid:alpha:1000.0:1", rounds=3), task)
    assert turns[-1][1].update_sequence == "RRF"
    for _, record in turns:
        assert (record.validation, record.temperature) == (None, None)
        assert (record.cost.epochs, record.kept_epoch) == (4, 4)
    assert turns[-1][1].test is not None
    assert turns[-1][1].changes["alpha"] is not None


@pytest.mark.parametrize("signal", ["accuracy", "f1", "loss", "cka", "nc", "gradient-norm"])
def test_without_validation_labels_other_signals_say_what_to_do(signal: str) -> None:
    with pytest.raises(UserError, match="the task has none with labels; use alpha"):
        run(settings_of(f"hybrid:{signal}", rounds=1), without_validation_labels())


# --- acquisition ---------------------------------------------------------------------------------------------------


@dataclass
class Watching:
    """Takes the first candidates, and records their ids and probabilities."""

    name: ClassVar[str] = "watching"
    seen: list[list[str]] = field(default_factory=list)
    judged: list[Any] = field(default_factory=list)

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        self.seen.append(list(candidates.ids))
        self.judged.append(candidates.probabilities())
        ids = tuple(candidates.ids[:n])
        return Selection(ids, (0.0,) * len(ids))


@pytest.mark.parametrize(("candidates", "sizes"), [(30, [30, 30, 30]), (None, [88, 80, 72]), (75, [75, 75, 72])])
def test_candidates_are_a_random_subset_of_the_unlabelled(candidates: int | None, sizes: list[int]) -> None:
    watching = Watching()
    turns = run(settings_of(rounds=3, candidates=candidates), acquisition=watching)
    assert [len(ids) for ids in watching.seen] == sizes
    for seen, (state, record) in zip(watching.seen, turns, strict=True):
        labelled = {TASK.train.ids[row] for row in state.pool.order}
        assert len(set(seen)) == len(seen)
        assert not labelled & set(seen)
        assert set(record.acquired) <= set(seen)
    if candidates == 30:
        assert len(set(watching.seen[0]) & set(watching.seen[1])) < 25  # drawn again each round


@pytest.mark.parametrize(
    "choose",
    [
        lambda ids, n: ids[:n] * 2,
        lambda ids, n: ids[: n + 1],
        lambda ids, n: ids[:1],
        lambda _, n: ("unknown",) * n,
        lambda _, n: range(n),
    ],
)
def test_acquisition_with_an_invalid_choice_is_named(choose: Callable[[Any, int], Any]) -> None:
    @dataclass(frozen=True)
    class Wrong:
        name: ClassVar[str] = "wrong"

        def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
            ids = tuple(choose(tuple(candidates.ids), n))
            return Selection(ids, (0.0,) * len(ids))

    with pytest.raises(
        UserError, match=r"acquisition 'wrong' \(.*Wrong\) must choose 8 ids of the \d+ candidates, each"
    ):
        run(settings_of(rounds=2), acquisition=Wrong())


def test_a_pool_that_runs_out() -> None:
    task = replace(TASK, train=TASK.train.take(np.arange(22)))
    asked = Asked(task)
    turns = run(settings_of(rounds=5, initial=10), task, annotator=Oracle(task, asked))
    assert [len(record.acquired) for _, record in turns] == [8, 4, 0, 0, 0]
    assert [record.labels for _, record in turns] == [10, 18, 22, 22, 22]
    assert sorted(turns[-1][0].pool.order) == list(range(22))
    assert asked.log == []  # the annotator is not called without texts
    assert turns[-1][1].scores == ()


def test_fewer_candidates_than_the_batch_can_hold() -> None:
    task = replace(TASK, train=TASK.train.take(np.arange(15)))
    turns = run(settings_of(rounds=2), task)
    assert [len(record.acquired) for _, record in turns] == [3, 0]


def test_few_remaining_texts_give_only_a_share_to_validation() -> None:
    """Otherwise a learner with three texts would use all of them for validation and never learn."""
    experiment = experiment_of(settings_of(validation="share"), replace(TASK, train=TASK.train.take(np.arange(3))))
    first = experiment.choose_first(Pool.unlabelled(3), 32)
    assert (len(first.pending), len(first.held)) == (3, 0)
    experiment = experiment_of(settings_of(validation="share"), replace(TASK, train=TASK.train.take(np.arange(30))))
    assert len(experiment.choose_first(Pool.unlabelled(30), 200).held) == 3


def test_newonly_with_nothing_new_does_not_train() -> None:
    task = replace(TASK, train=TASK.train.take(np.arange(20)))
    turns = run(settings_of("newonly", rounds=3), task)
    assert [record.cost.examples // max(1, record.cost.epochs) for _, record in turns] == [12, 8, 0]
    assert turns[-1][1].cost.steps == 0
    assert same_weights(turns[-1][0].weights, turns[-2][0].weights)


def test_calibration_changes_the_ranking_only_through_the_temperature() -> None:
    task = toy_task(train=100, validation=30, test=20, classes=3)
    plain, scaled = Watching(), Watching()
    settings = settings_of(rounds=1)
    one = run(settings, task, acquisition=plain)[0]
    other = run(settings_of(rounds=1, calibrate=True), task, acquisition=scaled)[0]
    assert same_state(one[0], other[0])
    assert replace(one[1], seconds={}) == replace(other[1], seconds={})
    temperature = other[1].temperature
    assert temperature is not None
    assert abs(math.log(temperature)) > 0.1  # else the comparison would say nothing
    powered = plain.judged[0] ** (1 / temperature)
    np.testing.assert_allclose(scaled.judged[0], powered / powered.sum(axis=1, keepdims=True), rtol=1e-6)


def test_records_have_phase_seconds_and_acquisition_scores() -> None:
    state, record = run(settings_of(rounds=1))[0]
    assert record.seconds.keys() == {"train", "validate", "signal", "test", "score", "select"}
    assert list(record.scores) == sorted(record.scores, reverse=True)
    assert len(record.scores) == len(record.acquired) == 8
    assert [TASK.train.ids[row] for row in state.pool.pending] == list(record.acquired)
    assert state.pool.newest == 0


def test_user_schedule_decides_every_update() -> None:
    class EveryOther(Schedule):
        name: ClassVar[str] = "every-other"
        spec: ClassVar[str] = "every-other"

        def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Any:
            return NewOnly() if len(history) % 2 else FineTune()

    schedule: Schedule = EveryOther()
    words = [record.update_sequence for _, record in active_learning(experiment_of(settings_of(rounds=3)), schedule)]
    assert words == ["F", "FN", "FNF"]
