"""What random labels tell of a model's answers: enough to promise any error limit later, without texts or labels.

An exported model carries it, so that `predict --max-error` and `--sets` work on its folder alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError
from hybridal.measures.error_tests import labels_for
from hybridal.measures.objective import Objective
from hybridal.measures.prediction_sets import SetRule, labels_for_sets, lowest_true, set_rule
from hybridal.measures.selective import CONFIDENCE, Flags, Promise, favoured_confidence, labels_needed, promise
from hybridal.measures.shift import Shift, find_shift

DIGITS = 6  # of stored probabilities
MAX_COLUMNS = 20  # classes whose probabilities are stored
MAX_ERRORS, COVERAGES = (0.01, 0.02, 0.05, 0.1), (0.9, 0.95)
"""The promises that a model's card lists."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """How a model answers texts with random labels that it has not learnt.

    Attributes:
        confidences: The confidence of each answer, rounded.
        right: Whether each answer is right; with several labels per text, whether the whole set is.
        lowest: Of each text, the lowest probability of a true class (`prediction_sets.lowest_true`).
        unlabelled: The confidences of a random sample of unlabelled texts.
        multi_label: Whether a text may have several classes.
        columns: The classes of `probabilities`: those with the highest probabilities.
        probabilities: The probabilities of these texts, with which those of new texts are compared.

    Example:
        >>> confidences = np.repeat([0.9, 0.6], [300, 100])
        >>> evidence = Evidence(confidences, confidences > 0.7, np.ones(400), confidences[::5], False)
        >>> found = evidence.promise(max_error=0.02)
        >>> found.threshold, found.share, found.wrong, evidence.set_rule(0.95).threshold
        (0.9, 0.75, 0, 1.0)
    """

    confidences: Floats
    right: Flags
    lowest: Floats
    unlabelled: Floats
    multi_label: bool
    columns: tuple[int, ...] = ()
    probabilities: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def of(
        cls,
        objective: Objective,
        logits: Floats,
        labels: Ints,
        unlabelled: Floats,
        temperature: float = 1.0,
        thresholds: Sequence[float] = (),
    ) -> Evidence:
        """Return the evidence of labels; texts with partly known classes are left out.

        If all texts are labelled, those with random labels take the place of unlabelled ones. Their confidences then
        choose the thresholds that their labels test, which broke no more promises (`bench/promises.py`).

        Args:
            objective: Whether a text has one or several classes.
            logits: The model's, of the randomly labelled texts.
            labels: Their labels.
            unlabelled: The model's logits of unlabelled texts.
            temperature: Divides the logits.
            thresholds: With several labels per text: the probability from which each class is given.

        Example:
            >>> from hybridal.measures.objective import SingleLabel
            >>> found = Evidence.of(SingleLabel(2), np.array([[0.0, 2.0]]), np.array([0]), np.zeros((3, 2)))
            >>> found.confidences.round(2).tolist(), found.right.tolist(), found.unlabelled.tolist()
            ([0.88], [False], [0.5, 0.5, 0.5])
        """
        targets = objective.targets(labels)
        known = ~np.isnan(targets).any(axis=1)
        probabilities = objective.probabilities(logits, temperature)[known]
        others = objective.probabilities(unlabelled, temperature)
        if objective.multi_label:
            right = ((probabilities >= np.array(thresholds)) == (targets[known] == 1)).all(axis=1)
            lowest = lowest_true(probabilities, targets[known])
        else:
            right = probabilities.argmax(axis=1) == labels[known]
            lowest = lowest_true(probabilities, labels[known])
        rounded = (
            values.round(DIGITS)
            for values in (answer_confidence(probabilities, thresholds), lowest, answer_confidence(others, thresholds))
        )
        confidences, lowest, unlabelled_confidences = rounded
        sample = unlabelled_confidences if len(others) else confidences
        columns = (
            np.sort(np.argsort(-probabilities.mean(axis=0), kind="stable")[:MAX_COLUMNS]) if len(probabilities) else ()
        )
        compared = probabilities[:, columns].round(DIGITS)
        return cls(confidences, right, lowest, sample, objective.multi_label, tuple(map(int, columns)), compared)

    def __len__(self) -> int:
        return len(self.confidences)

    def promise(self, max_error: float, confidence: float = CONFIDENCE, many_looks: bool = False) -> Promise:
        """Find how many texts can be answered with at most this share of errors; see `selective.promise`."""
        return promise(self.confidences, self.right, self.unlabelled, max_error, confidence, many_looks)

    def set_rule(self, coverage: float, confidence: float = CONFIDENCE) -> SetRule:
        """Find from which probability a class is in the set of a text; see `prediction_sets.set_rule`."""
        return set_rule(self.lowest, coverage, confidence, self.multi_label)

    def shift(self, probabilities: Floats) -> Shift | None:
        """Compare new texts with those of the random labels; `column` is then the number of a class.

        Args:
            probabilities: The model's, of a random sample of the new texts, (n, C).

        Returns:
            The difference; None if there is nothing to compare with, as in models of an earlier version.
        """
        if not len(probabilities) or not self.columns:
            return None
        found = find_shift(self.probabilities, probabilities[:, list(self.columns)])
        return replace(found, column=self.columns[found.column])

    def kept_promise(self, max_error: float, confidence: float = CONFIDENCE) -> Promise:
        """Return the promise with which some texts can be answered.

        Raises:
            UserError: If nothing can be promised; it says how many random labels that takes.
        """
        found = self.promise(max_error, confidence)
        if found.threshold is None:
            raise UserError(self.why_nothing(max_error, confidence), field="max_error")
        return found

    def kept_rule(self, coverage: float, confidence: float = CONFIDENCE) -> SetRule:
        """Return the rule of sets that are smaller than all classes.

        Raises:
            UserError: If there are too few random labels; it says how many it takes.
        """
        found = self.set_rule(coverage, confidence)
        if found.threshold is None:
            raise UserError(
                f"Sets that contain the true classes of {percent(coverage)} of the texts cannot be promised with "
                f"{percent(confidence)} confidence by {_labels(len(self))}: it takes at least "
                f"{labels_for_sets(coverage, confidence)}. "
                "Label more texts at random, or lower the coverage.",
                field="sets",
            )
        return found

    def why_nothing(self, max_error: float, confidence: float = CONFIDENCE, many_looks: bool = False) -> str:
        """Return why nothing can be promised, and what it takes."""
        start = f"At most {percent(max_error)} wrong cannot be promised with {percent(confidence)} confidence by "
        start += _labels(len(self))
        fewest = labels_for(max_error, favoured_confidence(confidence), many_looks=many_looks)
        needed = labels_needed(self.unlabelled, max_error, confidence, many_looks)
        if needed is None:
            return f"{start}: the model is not sure enough of its answers. Raise the limit, or teach the model more."
        if needed > len(self):
            return f"{start}: it takes about {needed}, and never fewer than {fewest}. Label more texts at random."
        return f"{start}: the surest answers are wrong too often. Raise the limit, or teach the model more."

    def summary(self) -> dict[str, Any]:
        """Return the thresholds of common promises as a JSON object; those that cannot be given are missing.

        Example:
            >>> found = Evidence(np.ones(50), np.ones(50, bool), np.ones(50), np.ones(9), False).summary()
            >>> found["random_labels"], found["answers"], found["sets"]
            (50, [{'max_error': 0.1, 'threshold': 1.0, 'share': 1.0}], [{'coverage': 0.9, 'threshold': 1.0}])
        """
        promises = [self.promise(limit) for limit in MAX_ERRORS]
        rules = [self.set_rule(coverage) for coverage in COVERAGES]
        return {
            "confidence": CONFIDENCE,
            "random_labels": len(self),
            "answers": [
                {"max_error": each.max_error, "threshold": each.threshold, "share": round(each.share, 4)}
                for each in promises
                if each.threshold is not None
            ],
            "sets": [
                {"coverage": each.coverage, "threshold": each.threshold} for each in rules if each.threshold is not None
            ],
        }

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as a JSON object."""
        return {
            "confidences": self.confidences.tolist(),
            "right": self.right.astype(int).tolist(),
            "lowest": self.lowest.tolist(),
            "unlabelled": self.unlabelled.tolist(),
            "multi_label": self.multi_label,
            "columns": list(self.columns),
            "probabilities": self.probabilities.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evidence:
        """Read the numbers of `to_json`.

        Raises:
            ValueError: If they are not.
        """
        try:
            confidences, lowest, unlabelled = (
                np.array(data[name], dtype=np.float64) for name in ("confidences", "lowest", "unlabelled")
            )
            right = np.array(data["right"], dtype=np.int64)
            multi_label = bool(data["multi_label"])
            columns = tuple(map(int, data.get("columns", ())))
            probabilities = np.array(data.get("probabilities", ()), dtype=np.float64).reshape(-1, len(columns) or 1)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no list of numbers: {error}") from error
        if not confidences.shape == right.shape == lowest.shape or any(
            values.ndim != 1 or not ((values >= 0) & (values <= 1)).all()
            for values in (confidences, right, lowest, unlabelled)
        ):
            raise ValueError("no list of numbers: some are missing or are no shares")
        if columns and len(probabilities) != len(confidences):
            raise ValueError("no list of numbers: there are not as many probabilities as random labels")
        return cls(confidences, right == 1, lowest, unlabelled, multi_label, columns, probabilities)


def answer_confidence(probabilities: Floats, thresholds: Sequence[float] = ()) -> NDArray[np.float64]:
    """Return the probability that the model's answer to each text is right.

    With several labels per text the answer is the set of classes above their thresholds, and its confidence is the
    product over all classes, as if they were independent.

    Example:
        >>> answer_confidence(np.array([[0.3, 0.7]])).tolist()
        [0.7]
        >>> answer_confidence(np.array([[0.9, 0.8]]), [0.5, 0.85]).round(2).tolist()  # 0.9 * (1 - 0.8)
        [0.18]
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if not len(thresholds):
        highest: NDArray[np.float64] = values.max(axis=1, initial=0.0)
        return highest
    given = values >= np.asarray(thresholds)
    found: NDArray[np.float64] = np.where(given, values, 1 - values).prod(axis=1)
    return found


def percent(share: float) -> str:
    """Write a share in percent.

    >>> percent(0.02), percent(0.995)
    ('2%', '99.5%')
    """
    return f"{100 * share:.10g}%"


def _labels(count: int) -> str:
    return f"{count} random label{'' if count == 1 else 's'} that the model has not learnt"
