"""Each check catches the fault that it is made for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from hybridal.acquisition import Candidates, Selection
from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Schedule
from hybridal.signals import ModelView, Signal, Snapshot
from hybridal.testing import FakeModel, check_acquisition, check_schedule, check_signal
from hybridal.updates import Update
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain


@dataclass(frozen=True)
class GoodSignal(Signal):
    name: ClassVar[str] = "good"
    title: ClassVar[str] = "Good"
    epsilon: ClassVar[float] = 0.1
    patience: ClassVar[int] = 1

    def snapshot(self, model: ModelView) -> Snapshot:
        return {"logits": np.array(model.validation.logits)}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        return float(np.abs(now["logits"] - before["logits"]).mean())


class SameTexts(GoodSignal):
    needs_validation: ClassVar[bool] = True


class Aliases(GoodSignal):
    def snapshot(self, model: ModelView) -> Snapshot:
        return {"logits": np.asarray(model.validation.logits)}


class AliasesWeights(GoodSignal):
    def snapshot(self, model: ModelView) -> Snapshot:
        return {name: p.detach().numpy() for name, p in model.weights().items()}


class ChangesModel(GoodSignal):
    def snapshot(self, model: ModelView) -> Snapshot:
        model.validation.logits[:] -= model.validation.logits.max()
        return {"logits": np.array(model.validation.logits)}


class ChangesSnapshots(GoodSignal):
    def change(self, before: Snapshot, now: Snapshot) -> float:
        before["logits"] -= now["logits"]
        return float(np.abs(before["logits"]).mean())


class DrawsGlobally(GoodSignal):
    def change(self, before: Snapshot, now: Snapshot) -> float:
        return random.random()


class NoFloat(GoodSignal):
    def change(self, before: Snapshot, now: Snapshot) -> Any:
        return np.float64(0.5)


class Pairwise(GoodSignal):
    def change(self, before: Snapshot, now: Snapshot) -> float:
        n = min(len(now["logits"]), 8000)
        return float(np.zeros((n, n))[0, 0])


class UndeclaredFeatures(GoodSignal):
    def snapshot(self, model: ModelView) -> Snapshot:
        assert model.validation.hidden is not None, "no features"
        return {"logits": np.array(model.validation.hidden)}


class NoEpsilon(GoodSignal):
    epsilon = 0.0


class NoTitle(GoodSignal):
    title = ""


class Unequal(Signal):
    name, title, epsilon, patience = "unequal", "Unequal", 0.1, 1
    snapshot, change = GoodSignal.snapshot, GoodSignal.change


def test_a_good_signal_passes() -> None:
    check_signal(GoodSignal)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Aliases, "share memory"),
        (AliasesWeights, "share memory"),
        (ChangesModel, "must not change the model"),
        (ChangesSnapshots, "must not change the snapshots"),
        (DrawsGlobally, "global generator of random|checkpoint"),
        (NoFloat, "must be a float"),
        (Pairwise, "MiB"),
        (UndeclaredFeatures, "no features"),
        (NoEpsilon, "epsilon must be positive"),
        (NoTitle, "must have a title"),
        (Unequal, "must be equal"),
        (SameTexts, "between which validation texts were added, or say `same_validation`"),
    ],
)
def test_a_bad_signal_is_caught(make: Callable[[], Signal], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_signal(make)


@dataclass(frozen=True)
class GoodAcquisition:
    name: ClassVar[str] = "good"

    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        return sorted(range(len(candidates.ids)), key=lambda i: candidates.ids[i])[:n]

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        chosen = [candidates.ids[i] for i in self.positions(candidates, n, rng)]
        return Selection(tuple(chosen), (0.0,) * len(chosen))


class ByPosition(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        return range(len(candidates.ids))[:n]


class Twice(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        return [0] * min(n, len(candidates.ids))


class TooFew(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        return super().positions(candidates, n - 1, rng) if n > 1 else super().positions(candidates, n, rng)


class Ranks(GoodAcquisition):
    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        return Selection(tuple(str(i) for i in range(len(candidates.ids))[:n]), (0.0,) * min(n, len(candidates.ids)))


class OwnSeed(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        return [int(i) for i in np.random.default_rng().permutation(len(candidates.ids))[:n]]


class GlobalSeed(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        np.random.seed(0)  # noqa: NPY002
        return super().positions(candidates, n, rng)


class Scribbles(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        candidates.probabilities()[:] = 0
        return super().positions(candidates, n, rng)


class OuterProducts(GoodAcquisition):
    def positions(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Sequence[int]:
        np.einsum("nc,nh->nch", candidates.probabilities(), candidates.embeddings())
        return super().positions(candidates, n, rng)


def test_a_good_acquisition_passes() -> None:
    check_acquisition(GoodAcquisition)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (ByPosition, "order of candidates"),
        (Twice, "an id twice"),
        (TooFew, "must choose 12 of 200, not 11"),
        (Ranks, "ids of the candidates"),
        (OwnSeed, "same seed"),
        (GlobalSeed, "global generator of numpy"),
        (Scribbles, "must not change its candidates"),
        (OuterProducts, "MiB"),
    ],
)
def test_a_bad_acquisition_is_caught(make: Callable[[], GoodAcquisition], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_acquisition(make)


@dataclass(frozen=True)
class GoodSchedule(Schedule):
    name: ClassVar[str] = "good"
    spec: ClassVar[str] = "good"
    watches: ClassVar[tuple[Signal, ...]] = (GoodSignal(),)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        return Retrain() if len(history) < 3 else FineTune()


@dataclass(frozen=True)
class Remembers(GoodSchedule):
    asked: list[int] = field(default_factory=list, compare=False)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        self.asked.append(len(history))
        return Retrain() if len(self.asked) < 3 else FineTune()


class LooksAtTheClock(GoodSchedule):
    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        return Retrain() if sum(record.training_time for record in history) < 100 else FineTune()


class Forgets(GoodSchedule):
    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        if isinstance(history, list) and history:
            history.pop()
        return Retrain()


class SwitchesInHindsight(GoodSchedule):
    def t_star(self, history: Sequence[Round]) -> int | None:
        return 3 if len(history) > 5 else None


class WatchesTwice(GoodSchedule):
    watches = (GoodSignal(), GoodSignal())


def test_a_good_schedule_passes() -> None:
    check_schedule(GoodSchedule)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Remembers, "must decide the same when"),
        (LooksAtTheClock, "slower machine"),
        (Forgets, "must not change the history"),
        (WatchesTwice, "two signals of one name"),
        (SwitchesInHindsight, "known from that round on"),
    ],
)
def test_a_bad_schedule_is_caught(make: Callable[[], GoodSchedule], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_schedule(make)


def test_missing_fake_attribute_is_refused() -> None:
    with pytest.raises(AssertionError, match="labelled pool"):
        FakeModel([[0.0, 1.0]], [1]).labelled()


class Answers:
    """A component whose every method gives one thing, whatever it is asked."""

    name: ClassVar[str] = "answers"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers)

    def __hash__(self) -> int:
        return 0

    def select(self, *_: Any) -> Any:
        return self.answer


class Watches(Answers, Schedule):
    spec = "watches"

    def decide(self, *_: Any) -> Any:
        return self.answer


class Snaps(Answers, Signal):
    title, epsilon, patience = "Snaps", 0.1, 1

    def snapshot(self, model: Any) -> Any:
        return self.answer

    def change(self, *_: Any) -> Any:
        return self.answer


class NoNumber(Snaps):
    epsilon = None  # type: ignore[assignment]


class NoFinite(GoodSignal):
    def change(self, before: Snapshot, now: Snapshot) -> float:
        return float("nan")


class WatchesNames(GoodSchedule):
    watches = ("accuracy",)  # type: ignore[assignment]


class NoRound(GoodSchedule):
    def t_star(self, history: Sequence[Round]) -> Any:
        return "third"


@pytest.mark.parametrize(
    ("check", "make", "complaint"),
    [
        (check_acquisition, None, "None cannot be called; give the class"),
        (check_acquisition, lambda: None, "needs a lower-case `name`"),
        (check_acquisition, GoodSchedule, "good: needs a method `select`"),
        (check_acquisition, Answers, "must return a Selection, not None"),
        (check_acquisition, lambda: Answers(Selection(None, ())), "a tuple of plain strings, not None"),  # type: ignore[arg-type]
        (check_acquisition, lambda: Answers(Selection((), None)), "a tuple of finite floats, not None"),  # type: ignore[arg-type]
        (check_acquisition, lambda: Answers(Selection(([1],), (0.0,))), "a tuple of plain strings"),  # type: ignore[arg-type]
        (check_signal, GoodAcquisition, "good: needs a method `snapshot`"),
        (check_signal, lambda: Snaps([1]), r"must be a dictionary of arrays, not \[1\]"),
        (check_signal, NoNumber, "epsilon must be positive and finite, not None"),
        (check_signal, NoFinite, "a change must be finite, not nan"),
        (check_schedule, GoodSignal, "good: needs a method `decide`"),
        (check_schedule, Watches, "must decide for an update with a spec and a letter, not None"),
        (check_schedule, WatchesNames, r"must be a tuple of signals, not \('accuracy',\)"),
        (check_schedule, NoRound, r"t\* must be a round or None, not 'third'"),
    ],
)
def test_wrong_type_is_named(check: Callable[[Any], None], make: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check(make)
