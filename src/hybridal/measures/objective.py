"""What an answer means: exactly one class, or any set of classes. Everything that differs between them is here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.core.rounds import Metrics, MultiLabelMetrics
from hybridal.measures import calibration, metrics, multi_label, thresholds

Predictions = NDArray[Any]
"""The predicted class numbers, (N,), or for several labels per text whether each class is given, (N, C)."""


class Objective(Protocol):
    """How logits become probabilities, predictions and figures.

    Labels are integers in both cases: class numbers, or the numbers of sets of classes (`LabelSets`).

    Attributes:
        multi_label: Whether a text may have several classes, or none.
        classes: How many classes there are.
    """

    multi_label: ClassVar[bool]

    @property
    def classes(self) -> int: ...

    def targets(self, labels: Ints) -> Floats:
        """Return 1 or 0 for each text and class, or NaN where it is unknown, (N, C)."""

    def probabilities(self, logits: Floats, temperature: float = 1.0) -> Floats:
        """Return class probabilities; those of a text sum to 1 only if it has exactly one class."""

    def predict(self, logits: Floats) -> Predictions:
        """Return the predictions for a representative sample of texts."""

    def right(self, logits: Floats, labels: Ints) -> tuple[int, int]:
        """Return how many decisions are right, and how many there are; a decision is one text, or one class of one."""

    def macro_f1(self, logits: Floats, labels: Ints) -> float:
        """Return the macro-F1 of `predict` over the classes that occur among the labels."""

    def nll(self, logits: Floats, labels: Ints, temperature: float = 1.0) -> float:
        """Return the negative log-likelihood in nats, as the mean over decisions."""

    def text_losses(self, logits: Floats, labels: Ints) -> Floats:
        """Return the negative log-likelihood of each text in nats, (N,): the sum over its known decisions."""

    def fit_temperature(self, logits: Floats, labels: Ints) -> float:
        """Return the temperature of highest likelihood."""

    def shrink_temperature(self, logits: Floats, labels: Ints, last: float | None, trained: bool) -> float:
        """Return the temperature that is most probable under a prior; there may be no labels."""

    def thresholds(self, logits: Floats, temperature: float, spec: str) -> tuple[float, ...]:
        """Return decision thresholds for a random sample of texts; () if the most probable class is the prediction."""

    def measure(
        self, logits: Floats, labels: Ints, temperature: float = 1.0, thresholds: Sequence[float] = ()
    ) -> Metrics:
        """Return all metrics of one split."""


@dataclass(frozen=True)
class SingleLabel:
    """Each text has exactly one class.

    Example:
        >>> SingleLabel(2).predict(np.array([[0.0, 2.0]])).tolist()
        [1]
    """

    classes: int
    multi_label: ClassVar[bool] = False

    def targets(self, labels: Ints) -> Floats:
        found = np.zeros((len(labels), self.classes))
        found[np.arange(len(labels)), labels] = 1.0
        return found

    def probabilities(self, logits: Floats, temperature: float = 1.0) -> Floats:
        return calibration.softmax(logits, temperature)

    def predict(self, logits: Floats) -> Predictions:
        found: Ints = logits.argmax(axis=1)
        return found

    def right(self, logits: Floats, labels: Ints) -> tuple[int, int]:
        calibration.check_pairs(logits, labels)
        return metrics.right_count(labels, self.predict(logits)), len(labels)

    def macro_f1(self, logits: Floats, labels: Ints) -> float:
        calibration.check_pairs(logits, labels)
        return metrics.macro_f1(labels, self.predict(logits), logits.shape[1])

    def nll(self, logits: Floats, labels: Ints, temperature: float = 1.0) -> float:
        return calibration.nll(logits, labels, temperature)

    def text_losses(self, logits: Floats, labels: Ints) -> Floats:
        calibration.check_pairs(logits, labels)
        return -calibration.log_softmax(logits)[np.arange(len(labels)), labels]

    def fit_temperature(self, logits: Floats, labels: Ints) -> float:
        return calibration.temperature(logits, labels)

    def shrink_temperature(self, logits: Floats, labels: Ints, last: float | None, trained: bool) -> float:
        return calibration.shrunk_temperature(logits, labels, last, trained)

    def thresholds(self, logits: Floats, temperature: float, spec: str) -> tuple[float, ...]:  # noqa: ARG002
        return ()

    def measure(
        self,
        logits: Floats,
        labels: Ints,
        temperature: float = 1.0,
        thresholds: Sequence[float] = (),  # noqa: ARG002
    ) -> Metrics:
        return metrics.measure(logits, labels, temperature)


@dataclass(frozen=True)
class MultiLabel:
    """Each text has any set of classes, which may be empty; labels are numbers of `sets`.

    Example:
        >>> objective = MultiLabel(LabelSets(2))
        >>> found = objective.measure(np.array([[2.0, -2.0], [-2.0, 2.0]]), np.array([0, 0]), thresholds=(0.5, 0.5))
        >>> round(found.f1, 3), found.right, found.hamming
        (0.667, 1, 0.5)
    """

    sets: LabelSets
    multi_label: ClassVar[bool] = True

    @property
    def classes(self) -> int:
        return self.sets.classes

    def targets(self, labels: Ints) -> Floats:
        return self.sets.targets(labels)

    def probabilities(self, logits: Floats, temperature: float = 1.0) -> Floats:
        return multi_label.sigmoid(logits, temperature)

    def predict(self, logits: Floats) -> Predictions:
        probabilities = multi_label.sigmoid(logits)
        return probabilities >= thresholds.choose_thresholds(probabilities)

    def right(self, logits: Floats, labels: Ints) -> tuple[int, int]:
        targets = self.targets(labels)
        multi_label.check_pairs(logits, targets)
        known = int((~np.isnan(targets)).sum())
        return known - round(multi_label.hamming_loss(self.predict(logits), targets) * known), known

    def macro_f1(self, logits: Floats, labels: Ints) -> float:
        targets = self.targets(labels)
        multi_label.check_pairs(logits, targets)
        return multi_label.f1_scores(self.predict(logits), targets)[0]

    def nll(self, logits: Floats, labels: Ints, temperature: float = 1.0) -> float:
        return multi_label.decision_nll(logits, self.targets(labels), temperature)

    def text_losses(self, logits: Floats, labels: Ints) -> Floats:
        return multi_label.text_nll(logits, self.targets(labels))

    def fit_temperature(self, logits: Floats, labels: Ints) -> float:
        targets = self.targets(labels)
        return calibration.fit_by_likelihood(lambda t: multi_label.total_nll(logits, targets, t))

    def shrink_temperature(self, logits: Floats, labels: Ints, last: float | None, trained: bool) -> float:
        targets = self.targets(labels)
        total = (lambda t: multi_label.total_nll(logits, targets, t)) if len(labels) else (lambda _: 0.0)
        return calibration.fit_with_prior(total, last, trained)

    def thresholds(self, logits: Floats, temperature: float, spec: str) -> tuple[float, ...]:
        probabilities = multi_label.sigmoid(logits, temperature)
        return tuple(thresholds.choose_thresholds(probabilities, spec).round(6).tolist())

    def measure(
        self, logits: Floats, labels: Ints, temperature: float = 1.0, thresholds: Sequence[float] = ()
    ) -> Metrics:
        targets = self.targets(labels)
        raw, scaled = multi_label.sigmoid(logits), multi_label.sigmoid(logits, temperature)
        decisions = scaled >= (np.array(thresholds) if len(thresholds) else 0.5)
        macro, micro = multi_label.f1_scores(decisions, targets)
        given, hits = multi_label.given_and_hits(decisions, targets)
        matches = multi_label.exact_matches(decisions, targets)
        return MultiLabelMetrics(
            n=len(labels),
            right=matches,
            accuracy=matches / len(labels),
            f1=macro,
            nll=multi_label.decision_nll(logits, targets),
            ece=multi_label.decision_ece(raw, targets),
            brier=multi_label.decision_brier(raw, targets),
            nll_scaled=multi_label.decision_nll(logits, targets, temperature),
            ece_scaled=multi_label.decision_ece(scaled, targets),
            support=tuple(self.sets.counts(labels).tolist()),
            micro_f1=micro,
            lrap=multi_label.label_ranking_precision(scaled, targets),
            hamming=multi_label.hamming_loss(decisions, targets),
            given=given,
            hits=hits,
        )


def objective_of(classes: int, sets: LabelSets | None) -> Objective:
    """Return the objective of a task.

    Args:
        classes: How many classes it has.
        sets: Its sets of classes, if a text may have several.
    """
    return SingleLabel(classes) if sets is None else MultiLabel(sets)
