"""How often a model's labels are right, class by class, and how much they count: by texts that people labelled too."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Ints
from hybridal.core.pool import Pool
from hybridal.measures.certainty import wilson
from hybridal.measures.objective import Objective

# The prior of a model that was not compared yet: as if it had been right on 9 of 10 texts.
PRIOR_SHARE, PRIOR_TEXTS = 0.9, 10.0
# A class is assumed to be like all classes, as if it had been compared on this many texts.
CLASS_TEXTS = 10.0
MIN_COMPARED = 10  # with fewer comparisons there is no statement on a class
LEVEL = 0.05
# Labels that count less are not trained on (docs/decisions/014).
MIN_WEIGHT = 0.25


@dataclass(frozen=True)
class ClassErrors:
    """How a model labels one class, compared with people.

    Attributes:
        predicted: How many of the compared texts the model gave the class.
        actual: How many of them people gave the class.
        right: How many both gave it.

    >>> found = ClassErrors(predicted=20, actual=12, right=12)
    >>> found.precision_interval, found.over_called, ClassErrors(5, 5, 2).over_called
    ((0.387, 0.781), True, None)
    """

    predicted: int
    actual: int
    right: int

    @property
    def precision_interval(self) -> tuple[float, float]:
        """The 95% interval of the share of its labels of this class that are right."""
        return _rounded(wilson(self.right, self.predicted))

    @property
    def recall_interval(self) -> tuple[float, float]:
        """The 95% interval of the share of people's texts of this class that it finds."""
        return _rounded(wilson(self.right, self.actual))

    @property
    def over_called(self) -> bool | None:
        """Whether it gives the class more often than people do; None if there are too few texts to tell."""
        return self._exceeds(self.predicted - self.right, self.actual - self.right)

    @property
    def under_called(self) -> bool | None:
        """Whether it gives the class less often than people do; None if there are too few texts to tell."""
        return self._exceeds(self.actual - self.right, self.predicted - self.right)

    def _exceeds(self, more: int, less: int) -> bool | None:
        """The exact sign test on the texts about which the model and people differ (McNemar)."""
        if max(self.predicted, self.actual) < MIN_COMPARED:
            return None
        n = more + less
        return bool(sum(comb(n, k) for k in range(more, n + 1)) / 2**n < LEVEL)


@dataclass(frozen=True)
class ModelErrors:
    """The errors of a model on texts that people labelled too.

    Attributes:
        texts: How many texts both labelled.
        alike: On how many they gave the same label.
        classes: The errors in each class.
    """

    texts: int
    alike: int
    classes: tuple[ClassErrors, ...]


def model_errors(model: Ints, people: Ints, objective: Objective) -> ModelErrors:
    """Compare a model's labels with those of people.

    Args:
        model: The labels of the model.
        people: Those of people, of the same texts.
        objective: Whether a text has one or several classes.

    >>> from hybridal.measures.objective import SingleLabel
    >>> model_errors(np.array([0, 0, 1]), np.array([0, 1, 1]), SingleLabel(2)).classes
    (ClassErrors(predicted=2, actual=1, right=1), ClassErrors(predicted=1, actual=2, right=1))
    """
    own, theirs = objective.targets(model), objective.targets(people)
    known = ~np.isnan(own) & ~np.isnan(theirs)
    predicted, actual = (own > 0) & known, (theirs > 0) & known
    counts = np.stack([predicted.sum(axis=0), actual.sum(axis=0), (predicted & actual).sum(axis=0)], axis=1)
    alike = int((((own == theirs) | ~known).all(axis=1)).sum())
    return ModelErrors(len(model), alike, tuple(ClassErrors(*map(int, row)) for row in counts))


def label_weights(labels: Ints, model: Ints, people: Ints, objective: Objective) -> NDArray[np.float64]:
    """How much a model's labels count; people's count 1.

    A label that is right with probability p counts as the square of how far p exceeds guessing: what a label with
    random errors is worth for estimating a mean.

    Args:
        labels: Labels of the model, to be weighted.
        model: Its labels of texts that people labelled too.
        people: People's labels of these.
        objective: Whether a text has one or several classes.

    Returns:
        A column with the weight of each label; with several labels per text, a column for each class.

    >>> from hybridal.measures.objective import SingleLabel
    >>> model, people = np.array([0] * 40 + [1] * 40), np.array([0] * 40 + [1, 0] * 20)
    >>> label_weights(np.array([0, 1]), model, people, SingleLabel(2)).round(2).ravel().tolist()
    [0.82, 0.01]
    """
    own, theirs = objective.targets(model), objective.targets(people)
    both = ~np.isnan(own) & ~np.isnan(theirs)
    given = objective.targets(labels)
    if not objective.multi_label:
        weights = _weights(((own > 0) & (theirs > 0)).sum(axis=0), (own > 0).sum(axis=0), 1 / objective.classes)
        of_each: NDArray[np.float64] = weights[given.argmax(axis=1)][:, None]
        return of_each
    yes, no = (
        _weights(((own == has) & (theirs == has)).sum(axis=0), ((own == has) & both).sum(axis=0), 0.5) for has in (1, 0)
    )
    return np.where(given > 0, yes, no)


def pool_weights(pool: Pool, objective: Objective) -> NDArray[np.float64] | None:
    """How much each label of a pool counts, in the order in which they are learnt; None if people gave all.

    >>> from hybridal.measures.objective import SingleLabel
    >>> pool = Pool.unlabelled(3).reveal({0: 1}).reveal_by_model({1: 0})
    >>> pool_weights(pool, SingleLabel(2)).round(2).ravel().tolist(), pool_weights(pool.by_people(), SingleLabel(2))
    ([1.0, 0.64], None)
    """
    if not len(pool.by_model):
        return None
    guessed = np.isin(pool.order, pool.by_model)
    weights = np.ones((len(pool.order), objective.classes if objective.multi_label else 1))
    weights[guessed] = label_weights(pool.labels[pool.order[guessed]], *pool.compared(), objective)
    return weights


def trusted_rows(pool: Pool, rows: Ints, objective: Objective) -> Ints:
    """Rows of a pool without those whose label counts too little to be trained on.

    Args:
        pool: The pool.
        rows: Labelled rows of it.
        objective: Whether a text has one or several classes.
    """
    weights = pool_weights(pool, objective)
    if weights is None:
        return rows
    refused = pool.order[weights.mean(axis=1) < MIN_WEIGHT]
    return rows[~np.isin(rows, refused)]


def _weights(right: Ints, predicted: Ints, guessing: float) -> NDArray[np.float64]:
    """The weight of each class, of which `predicted` labels were compared."""
    overall = (right.sum() + PRIOR_SHARE * PRIOR_TEXTS) / (predicted.sum() + PRIOR_TEXTS)
    share = (right + overall * CLASS_TEXTS) / (predicted + CLASS_TEXTS)
    weights: NDArray[np.float64] = np.maximum(0.0, (share - guessing) / (1 - guessing)) ** 2
    return weights


def _rounded(bounds: tuple[float, float]) -> tuple[float, float]:
    return round(bounds[0], 3), round(bounds[1], 3)
