"""A model of the loop's role that trains in microseconds: a linear classifier on random features."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hybridal.acquisition.entropy import Entropy
from hybridal.annotators.oracle import Oracle
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.rounds import Cost, LabelChanges, Round
from hybridal.core.rules import Rules, protocol
from hybridal.loop.loop import Experiment, State
from hybridal.measures.calibration import softmax
from hybridal.models.model_protocol import Fit
from hybridal.randomness import stream
from hybridal.signals import SIGNALS
from hybridal.testing.small import toy_task
from hybridal.updates import Plan, Update, Weights


class Linear:
    def __init__(self, rules: Rules) -> None:
        self.task, self.rules = toy_task(60, 20, 0), rules
        draw = stream(0, "features")
        means = draw.normal(size=(2, 4))
        self.train = means[self.task.train.labels] + draw.normal(size=(60, 4))
        self.held_out = means[self.task.validation.labels] + draw.normal(size=(20, 4))
        self.validation_labels = self.task.validation.labels
        self.pretrained: Weights = {"w": torch.zeros(4, 2, dtype=torch.float64)}
        self.weights: Weights = self.pretrained

    def pretrained_features(self, rows: Ints) -> Floats:
        return np.zeros((len(rows), 1))

    def class_features(self) -> None:
        return None

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:
        return self.pretrained if weights is None else weights

    def load(self, weights: Weights) -> None:
        self.weights = weights

    def to_device(self, weights: Weights | None) -> Weights | None:
        return weights

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit:
        w = plan.weights["w"].numpy().copy()
        noise = stream(1, "noise", round).normal(0, 0.01, w.shape)
        features, right = self.train[plan.rows], np.eye(2)[pool.labels[plan.rows]]
        for _ in range(3):
            w = w - 0.5 * features.T @ (softmax(features @ w, 1.0) - right) / max(1, len(features)) + noise
        self.weights = {"w": torch.from_numpy(w)}
        cost = Cost(steps=3, examples=3 * len(plan.rows), tokens=0, epochs=3)
        moments = {"m": torch.from_numpy(noise)} if plan.keeps_moments else None
        return Fit(self.weights, cost, 3, Outputs(self._logits(self.held_out)), moments, {"train": 0.5})

    def view(self, validation: Outputs | None, pool: Pool) -> Any:
        return _View(self, validation)

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> Any:
        return _Rows(self, rows)

    def cross_fitted(self, _pool: Pool) -> None:
        return None

    def test(self) -> None:
        return None

    def _logits(self, features: Floats) -> Floats:
        logits: Floats = (features @ self.weights["w"].numpy()).astype(np.float32)
        return logits


class _View:
    def __init__(self, model: Linear, validation: Outputs | None) -> None:
        self.validation, self.validation_labels = validation, model.validation_labels
        self.objective = model.task.objective


class _Rows:
    seconds = 0.0

    def __init__(self, model: Linear, rows: Ints) -> None:
        self.ids = [model.task.train.ids[row] for row in rows]
        self._logits = model._logits(model.train[rows])

    def thresholds(self) -> Sequence[float]:
        return ()

    def probabilities(self) -> Floats:
        return softmax(self._logits, 1.0)


class Watched(Experiment):
    """A cell that records which update sequences were computed, their weights, and how many states exist at once."""

    def watch(self) -> Watched:
        object.__setattr__(self, "words", [])
        object.__setattr__(self, "weights", {})
        object.__setattr__(self, "alive", [])
        object.__setattr__(self, "_states", [])
        return self

    words: list[str]
    weights: dict[str, Weights | None]
    alive: list[int]
    _states: list[weakref.ref[State]]

    def advance(self, state: State, update: Update, label_changes: LabelChanges | None = None) -> tuple[State, Round]:
        after, record = super().advance(state, update, label_changes)
        self.words.append(record.update_sequence)
        self.weights[record.update_sequence] = after.weights
        self._states.append(weakref.ref(after))
        self.alive.append(len({id(known()) for known in self._states if known() is not None}))
        return after, record

    def labelled(self, state: State) -> State:
        after = super().labelled(state)
        self._states.append(weakref.ref(after))
        return after


def linear_cell(rounds: int = 4, signals: Sequence[str] = ("accuracy", "loss"), **overrides: Any) -> Watched:
    rules = protocol("quick", {"rounds": rounds, "initial": 6, "batch": 2, "candidates": 20, **overrides})
    model = Linear(rules)
    watched = tuple(SIGNALS.make(name) for name in signals)
    return Watched(model.task, model, rules, 42, Entropy(), watched, Oracle(model.task)).watch()


def damage(folder: Path) -> None:
    for file in folder.rglob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-9])
