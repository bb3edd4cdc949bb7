"""Any scikit-learn estimator in the loop: the schedules serve tables and bags of words as well."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from hybridal.acquisition import ACQUISITIONS, Acquisition
from hybridal.annotators.oracle import Oracle
from hybridal.core.facts import Cost
from hybridal.core.outputs import UNKNOWN, Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.rules import protocol
from hybridal.errors import UserError
from hybridal.learners.learner import Learner
from hybridal.loop.loop import Cell
from hybridal.measures.calibration import softmax
from hybridal.models.role import Fit
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.stopwatch import Stopwatch
from hybridal.tasks import Split, Task
from hybridal.updates import Plan, Weights
from hybridal.updates.anchor import Anchor


class EstimatorLearner(Learner):
    """Query and teach an estimator with `fit`, `partial_fit` and `predict_proba`.

    RETRAIN is `fit` of a fresh clone, FINETUNE is `partial_fit` of the last one. Signals that look at probabilities
    (accuracy, f1, loss) work; those that look into a network do not.

    >>> from sklearn.linear_model import SGDClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> estimator = SGDClassifier(loss="log_loss", random_state=0)
    >>> learner = EstimatorLearner(estimator, X[:150], X[150:], y[150:], classes=["down", "up"])
    >>> for _ in range(3):
    ...     fact = learner.teach({id: str(y[int(id)]) for id in learner.query(10).ids})
    >>> fact.word, fact.labels
    ('RRR', 30)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        X_validation: Any,
        y_validation: Sequence[str],
        classes: Sequence[str],
        ids: Sequence[str] | None = None,
        schedule: Schedule | str = "hybrid:accuracy",
        acquisition: Acquisition | str = "entropy",
        seed: int = 42,
        **overrides: Any,
    ) -> None:
        schedule = make_schedule(schedule) if isinstance(schedule, str) else schedule
        if isinstance(schedule.decide(()), Anchor):
            raise UserError("anchor mixes the weights of a network, which an estimator is not; use another schedule.")
        rules = protocol("paper", overrides)
        task = _task(X.shape[0], ids, y_validation, tuple(classes))
        model = EstimatorModel(estimator, X, X_validation, task)
        chosen = ACQUISITIONS.make(acquisition) if isinstance(acquisition, str) else acquisition
        super().__init__(Cell(task, model, rules, seed, chosen, schedule.watches, Oracle(task)), schedule)
        self._model = model

    def predict_proba(self, X: Any) -> Floats:
        """(N, C), a column a class in the order given."""
        if not self.history:
            raise UserError("The model has not learnt anything yet; teach it first.")
        return self._model.probabilities(X)


class EstimatorModel:
    """The loop's model role, played by an estimator. Its weights are the estimator itself."""

    def __init__(self, estimator: Any, X: Any, X_validation: Any, task: Task) -> None:
        from sklearn.base import clone

        self.pretrained: Weights = {"estimator": clone(estimator)}
        self._estimator = self.pretrained["estimator"]
        self.X, self._X_validation, self.task = X, X_validation, task
        self.validation_labels: Ints = task.validation.labels

    def describe(self, rows: Ints) -> Floats:
        return _dense(self.X[rows])

    def describe_classes(self) -> None:
        return None

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:  # noqa: ARG002
        return self.pretrained if weights is None else weights

    def load(self, weights: Weights) -> None:
        self._estimator = weights["estimator"]

    def place(self, weights: Weights | None) -> Weights | None:
        return weights

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit:  # noqa: ARG002
        watch = Stopwatch()
        with watch("train"):
            try:
                self._estimator, examples = self._trained(plan, pool)
            except ValueError as error:
                raise UserError(f"The estimator cannot learn from the labels so far ({error}); teach more.") from error
        with watch("validate"):
            validation = Outputs(np.log(self.probabilities(self._X_validation).clip(1e-12)))
        runs = int(examples > 0)
        cost = Cost(steps=runs, examples=examples, epochs=runs)
        return Fit({"estimator": self._estimator}, cost, runs, validation, None, watch.seconds)

    def _trained(self, plan: Plan, pool: Pool) -> tuple[Any, int]:
        """The estimator after its update, and how many examples it took."""
        estimator = copy.deepcopy(plan.weights["estimator"])
        seen = getattr(estimator, "classes_", None)
        # partial_fit cannot learn a class that the first fit did not see: then only a fresh fit of everything can.
        if seen is None or not set(np.unique(pool.labels[plan.rows])) <= set(seen):
            fitted = _fresh(self.pretrained["estimator"]).fit(self.X[pool.order], pool.labels[pool.order])
            return fitted, len(pool.order)
        if len(plan.rows):
            estimator.partial_fit(self.X[plan.rows], pool.labels[plan.rows])
        return estimator, len(plan.rows)

    def probabilities(self, X: Any) -> Floats:
        """Columns for all classes of the task; those that the estimator has never seen get nothing."""
        found = np.zeros((X.shape[0], len(self.task.classes)))
        found[:, self._estimator.classes_] = self._estimator.predict_proba(X)
        return found

    def look(self, validation: Outputs | None, pool: Pool) -> Any:  # noqa: ARG002
        return _EstimatorLook(validation, self.validation_labels)

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> Any:  # noqa: ARG002
        return _EstimatorCandidates(self, rows, pool, temperature)

    def cross_fitted(self, _pool: Pool) -> None:
        return None

    def test(self) -> None:
        return None


class _EstimatorLook:
    def __init__(self, validation: Outputs | None, labels: Ints) -> None:
        self.validation, self.validation_labels = validation, labels

    def _no(self) -> NoReturn:
        raise UserError("This signal looks into a network, which an estimator is not; use accuracy, f1 or loss.")

    weights = matrices = gradient_norm = labelled = unlabelled = _no


class _EstimatorCandidates:
    seconds = 0.0

    def __init__(self, model: EstimatorModel, rows: Ints, pool: Pool, temperature: float) -> None:
        self._model, self._rows, self._labelled, self._temperature = model, rows, pool.order, temperature
        self.ids = [model.task.train.ids[row] for row in rows]

    def probabilities(self) -> Floats:
        return self._scaled(self._model.probabilities(self._model.X[self._rows]))

    def embeddings(self) -> Floats:
        return _dense(self._model.X[self._rows])

    def labelled_probabilities(self) -> Floats:
        return self._scaled(self._model.probabilities(self._model.X[self._labelled]))

    def labelled_embeddings(self) -> Floats:
        return _dense(self._model.X[self._labelled])

    def _scaled(self, probabilities: Floats) -> Floats:
        if self._temperature == 1.0:
            return probabilities
        return softmax(np.log(probabilities.clip(1e-12)), self._temperature)

    def sampled_probabilities(self, passes: int) -> NoReturn:  # noqa: ARG002
        raise UserError("bald samples by dropout, which an estimator does not have; use entropy or margin.")


def _fresh(estimator: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator)


def _dense(X: Any) -> Floats:
    values: Floats = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return values


def _task(size: int, ids: Sequence[str] | None, y_validation: Sequence[str], classes: tuple[str, ...]) -> Task:
    known = {name: label for label, name in enumerate(classes)}
    for name in y_validation:
        if str(name) not in known:
            raise UserError(f"y_validation: '{name}' is not a class; the classes are {', '.join(classes)}.")
    labels = np.array([known[str(name)] for name in y_validation], dtype=np.int64)
    names = list(ids) if ids is not None else [str(row) for row in range(size)]
    if len(set(names)) != size:
        raise UserError(f"ids: there are {len(set(names))} different ids for the {size} rows of X; give each its own.")
    train = Split(names, [""] * size, np.full(size, UNKNOWN, dtype=np.int64))
    validation = Split([f"validation-{row}" for row in range(len(labels))], [""] * len(labels), labels)
    return Task("table", classes, train, validation, Split.empty())
