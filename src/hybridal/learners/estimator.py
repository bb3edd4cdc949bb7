"""Active learning with any scikit-learn estimator, for example on tables or bags of words."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import ACQUISITIONS, Acquisition, check_objective
from hybridal.annotators.oracle import Oracle
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN, Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.rounds import Cost
from hybridal.core.rules import Rules, protocol
from hybridal.errors import UserError
from hybridal.learners.estimated_texts import EstimatedTexts, described, estimated_texts
from hybridal.learners.estimator_limits import (
    EstimatorView,
    check_abilities,
    check_acquisition,
    check_numbers,
    check_signals,
    check_weights,
    no_dropout,
)
from hybridal.learners.learner import Learner, check_keywords
from hybridal.loop.loop import Experiment
from hybridal.measures.calibration import softmax
from hybridal.measures.shares.share_table import Progress, no_progress
from hybridal.models.model_protocol import Fit
from hybridal.randomness import check_seed
from hybridal.reports.number_formats import counted
from hybridal.schedules import Schedule, make_schedule
from hybridal.system.stopwatch import Stopwatch
from hybridal.tasks import Split, Task
from hybridal.tasks.class_name_checks import check_classes
from hybridal.tasks.from_memory import as_list, class_list, kind_of
from hybridal.tasks.label_values import label_text
from hybridal.tasks.single import ONE_LABEL
from hybridal.updates import Plan, Weights


class EstimatorLearner(Learner):
    """Active learning with a scikit-learn estimator.

    The update `retrain` fits a new clone; `finetune` calls `partial_fit` of the last one. Signals that need only
    probabilities (accuracy, f1, loss) work; signals of a network's weights and the acquisition bald do not.

    Args:
        estimator: Has `fit`, `predict_proba` and, unless the schedule is retrain, `partial_fit`.
        X: Rows to choose from: an array, a sparse matrix, a DataFrame or a list of rows.
        X_validation: Rows for evaluation.
        y_validation: Labels of `X_validation`.
        classes: All classes.
        ids: Ids of the rows of X; by default their numbers.
        schedule: Decides in each round whether to retrain or to fine-tune.
        acquisition: Chooses the rows to label.
        seed: Seed of all random choices.
        sample_weight: Weights of the rows of X, passed to `fit`.
        observer: Receives progress; by default it is logged.
        overrides: Fields of the protocol, such as `batch=20`.

    Raises:
        UserError: If the estimator lacks a method, or sizes, ids or classes do not match.

    Example:
        >>> from sklearn.linear_model import SGDClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 5))
        >>> y = np.where(X[:, 0] > 0, "up", "down")
        >>> estimator = SGDClassifier(loss="log_loss", random_state=0)
        >>> learner = EstimatorLearner(estimator, X[:150], X[150:], y[150:], classes=["down", "up"])
        >>> for _ in range(3):
        ...     batch = learner.query(10)
        ...     result = learner.teach(batch, y[batch.ids])
        >>> learner.history[-1].update_sequence, result.labels
        ('RRR', 30)
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        X_validation: Any,
        y_validation: Sequence[Any],
        classes: Iterable[Any],
        ids: Sequence[Any] | None = None,
        schedule: Schedule | str = "hybrid:accuracy",
        acquisition: Acquisition | str = "entropy",
        seed: int = 42,
        sample_weight: Sequence[float] | None = None,
        observer: Observer | None = None,
        **overrides: Any,
    ) -> None:
        check_keywords(EstimatorLearner, overrides)
        check_seed(seed, "seed")
        schedule = make_schedule(schedule) if isinstance(schedule, str) else schedule
        check_abilities(estimator, schedule)
        rules, X, X_validation = protocol("paper", overrides), _table(X, "X"), _table(X_validation, "X_validation")
        if X_validation.shape[0] and X.shape[1:] != X_validation.shape[1:]:
            raise UserError(
                f"X has rows of {_width(X)} and X_validation of {_width(X_validation)}; give both the same."
            )
        labels = as_list(y_validation, "y_validation", ONE_LABEL)
        if len(labels) != (rows := X_validation.shape[0]):
            there = f"{counted(len(labels), 'label')} for the {counted(rows, 'row')} of X_validation"
            raise UserError(f"y_validation: got {there}; give one for each.")
        task = _task(X.shape[0], ids, labels, class_list(classes))
        weights = None if sample_weight is None else check_weights(estimator, sample_weight, X.shape[0])
        model = EstimatorModel(estimator, X, X_validation, task, weights)
        check_signals(schedule.watches, task.validation.labels, len(task.classes))
        chosen = ACQUISITIONS.make(acquisition) if isinstance(acquisition, str) else acquisition
        check_objective(chosen, task.multi_label)
        check_acquisition(chosen, X, len(task.classes))
        super().__init__(
            Experiment(task, model, rules, seed, chosen, schedule.watches, Oracle(task)), schedule, observer
        )
        self._model = model

    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities.

        Args:
            X: Rows.

        Returns:
            An array with one row per row of X and one column per class.

        Raises:
            UserError: If the model has not been trained yet.

        Example:
            >>> from sklearn.naive_bayes import GaussianNB
            >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
            >>> learner = EstimatorLearner(GaussianNB(), X, X[:0], [], classes=["low", "high"], schedule="retrain")
            >>> result = learner.teach({0: "low", 1: "low", 2: "high", 3: "high"})
            >>> learner.predict_proba([[0.05]]).round(2).tolist()
            [[1.0, 0.0]]
        """
        self._last_round()
        return self._model.probabilities(_table(X, "X"))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Args:
            X: Rows.

        Returns:
            The classes, in their own type.

        Raises:
            UserError: If the model has not been trained yet.

        Example:
            >>> from sklearn.naive_bayes import GaussianNB
            >>> X = np.array([[0.0], [0.1], [0.9], [1.0]])
            >>> learner = EstimatorLearner(GaussianNB(), X, X[:0], [], classes=["low", "high"], schedule="retrain")
            >>> result = learner.teach({0: "low", 1: "low", 2: "high", 3: "high"})
            >>> learner.predict([[0.05], [0.8]]).tolist()
            ['low', 'high']
        """
        task = self.experiment.task
        classes = np.asarray(task.class_labels)
        found: NDArray[Any] = classes[self.predict_proba(X).argmax(axis=1)]
        return found

    def estimated_texts(self, progress: Progress = no_progress) -> EstimatedTexts:
        """Predict all rows once, for several estimates.

        The validation rows count as a random sample of all rows; if they are none, give no validation rows, and draw
        rows with `query_random`.

        Args:
            progress: Receives how many rows are predicted, and of how many.

        Returns:
            The rows with predictions and labels.

        Raises:
            UserError: If there is no model yet, or it cannot be fitted without the random labels that it has learnt.

        Example:
            >>> from sklearn.naive_bayes import GaussianNB
            >>> X = np.linspace(0, 1, 100)[:, None]
            >>> learner = EstimatorLearner(GaussianNB(), X, X[:0], [], classes=["low", "high"], schedule="retrain")
            >>> result = learner.teach({0: "low", 20: "low", 80: "high", 99: "high"})
            >>> batch = learner.query_random(20)
            >>> result = learner.teach(batch, ["low" if id < 60 else "high" for id in batch.ids])
            >>> learner.estimated_texts().basis.labels
            20
        """
        last, pool = self._last_round(), self._state.pool
        return estimated_texts(
            EstimatorPredictor(self._model, pool, self.experiment.seed, self.experiment.rules),
            self.experiment.task,
            pool,
            last.temperature,
            (),
            described(f"estimator {type(self._model.pretrained['estimator']).__name__}", last),
            progress=progress,
        )


class EstimatorModel:
    """Implements the loop's model protocol with an estimator; its weights are the estimator itself."""

    def __init__(
        self, estimator: Any, X: Any, X_validation: Any, task: Task, sample_weight: Floats | None = None
    ) -> None:
        from sklearn.base import clone

        self.pretrained: Weights = {"estimator": clone(estimator)}
        self._estimator = self.pretrained["estimator"]
        self.X, self._X_validation, self.task = X, X_validation, task
        self._sample_weight = sample_weight
        self.validation_labels: Ints = task.validation.labels

    def pretrained_features(self, rows: Ints) -> Floats:
        """Return rows of X, which must be numbers."""
        taken = _take(self.X, rows)
        check_numbers(taken)
        return _dense(taken)

    def class_features(self) -> None:
        """Nothing: classes of an estimator have no descriptions."""

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:  # noqa: ARG002
        """Return the unfitted estimator, or the one in `weights`."""
        return self.pretrained if weights is None else weights

    def load(self, weights: Weights) -> None:
        """Predict with this estimator from now on."""
        self._estimator = weights["estimator"]

    def to_device(self, weights: Weights | None) -> Weights | None:
        """Return the weights: estimators have no device."""
        return weights

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit:  # noqa: ARG002
        """Fit or update the estimator, then predict the validation rows."""
        watch = Stopwatch()
        with watch("train"):
            self._estimator, examples = self._trained(plan, pool)
        with watch("validate"):
            validation = self._validated()
        runs = int(examples > 0)
        cost = Cost(steps=runs, examples=examples, epochs=runs)
        return Fit({"estimator": self._estimator}, cost, runs, validation, None, watch.seconds)

    def _validated(self) -> Outputs | None:
        if not len(self.validation_labels):
            return None
        return Outputs(np.log(self.probabilities(self._X_validation).clip(1e-12)))

    def _trained(self, plan: Plan, pool: Pool) -> tuple[Any, int]:
        """Return the updated estimator and the number of examples."""
        estimator = copy.deepcopy(plan.weights["estimator"])
        seen = getattr(estimator, "classes_", None)
        # partial_fit cannot learn a class that the first fit did not see, so fit a new clone on all labels.
        if seen is None or not set(np.unique(pool.labels[plan.rows])) <= set(seen):
            return self.fitted(pool), len(pool.order)
        if len(plan.rows):
            self._learn(estimator.partial_fit, plan.rows, pool)
        return estimator, len(plan.rows)

    def fitted(self, pool: Pool) -> Any:
        """Return a new clone that has learnt the labels of this pool."""
        fresh = _fresh(self.pretrained["estimator"])
        self._learn(fresh.fit, pool.order, pool)
        return fresh

    def _learn(self, fit: Callable[..., Any], rows: Ints, pool: Pool) -> None:
        weights = {} if self._sample_weight is None else {"sample_weight": self._sample_weight[rows]}
        try:
            fit(_take(self.X, rows), pool.labels[rows], **weights)
        except ValueError as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise UserError(
                f"The estimator cannot learn from the labels so far ({reason}); teach more, or correct X."
            ) from error

    def probabilities(self, X: Any, estimator: Any = None) -> Floats:
        """Return a column for every class; classes that the estimator has not seen have probability 0."""
        estimator = self._estimator if estimator is None else estimator
        found = np.zeros((X.shape[0], len(self.task.classes)))
        if len(found):  # estimators refuse empty input
            found[:, estimator.classes_] = estimator.predict_proba(X)
        return found

    def logits(self, validation: bool, estimator: Any = None) -> Floats:
        """Return the logits of all rows, followed by those of the validation rows if they are asked for."""
        tables = [self.X, self._X_validation] if validation else [self.X]
        found = np.concatenate([self.probabilities(table, estimator) for table in tables])
        return np.asarray(np.log(found.clip(1e-12)))

    def view(self, validation: Outputs | None, pool: Pool) -> Any:  # noqa: ARG002
        """Return what signals may see."""
        return EstimatorView(validation, self.validation_labels, len(self.task.classes))

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> Any:  # noqa: ARG002
        """Return what acquisitions may see."""
        return _EstimatorCandidates(self, rows, pool, temperature)

    def cross_fitted(self, _pool: Pool) -> None:
        """Nothing: an estimator has no probe."""

    def test(self) -> None:
        """Nothing: there is no test split."""


@dataclass(frozen=True, eq=False)
class EstimatorPredictor:
    """Predicts with an estimator; models without some labels are clones of it."""

    model: EstimatorModel
    pool: Pool
    seed: int
    rules: Rules

    def logits(self, splits: Sequence[Split], progress: Progress) -> Floats:
        """The logits of all rows."""
        found = self.model.logits(len(splits) > 1)
        progress(len(found), len(found))
        return found

    def logits_without(self, rows: Ints, splits: Sequence[Split]) -> Floats:
        """Those of a clone that has not learnt the labels of these rows."""
        return self.model.logits(len(splits) > 1, self.model.fitted(self.pool.withdraw(rows)))


class _EstimatorCandidates:
    seconds = 0.0

    def __init__(self, model: EstimatorModel, rows: Ints, pool: Pool, temperature: float) -> None:
        self._model, self._rows, self._labelled, self._temperature = model, rows, pool.order, temperature
        self.ids = [model.task.train.ids[row] for row in rows]

    def probabilities(self) -> Floats:
        return _scaled(self._answers, self._temperature)

    def known(self, temperature: float) -> Floats | None:
        return _scaled(self._answers, temperature) if "_answers" in self.__dict__ else None

    @cached_property
    def _answers(self) -> Floats:
        return self._model.probabilities(_take(self._model.X, self._rows))

    def thresholds(self) -> tuple[float, ...]:
        return ()

    def embeddings(self) -> Floats:
        return _dense(_take(self._model.X, self._rows))

    def labelled_probabilities(self) -> Floats:
        return _scaled(self._model.probabilities(_take(self._model.X, self._labelled)), self._temperature)

    def labelled_embeddings(self) -> Floats:
        return _dense(_take(self._model.X, self._labelled))

    def sampled_probabilities(self, passes: int) -> NoReturn:  # noqa: ARG002
        no_dropout()


def _scaled(probabilities: Floats, temperature: float) -> Floats:
    return probabilities if temperature == 1.0 else softmax(np.log(probabilities.clip(1e-12)), temperature)


def _fresh(estimator: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator)


def _table(X: Any, name: str) -> Any:
    """Convert X so that rows can be selected by number."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    try:
        table = X if hasattr(X, "shape") else np.asarray(X)
    except ValueError:  # rows of several lengths
        table = None
    if table is None or not table.shape:
        raise UserError(
            f"{name}: {X!r:.40} is not a table; give an array, a sparse matrix, a DataFrame or a list of rows."
        )
    return table


def _width(X: Any) -> str:
    return " × ".join(map(str, X.shape[1:])) + " values" if X.shape[1:] else "one value"


def _take(X: Any, rows: Ints) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _dense(X: Any) -> Floats:
    values: Floats = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return values


def _task(size: int, ids: Sequence[Any] | None, y_validation: Sequence[Any], classes: Sequence[Any]) -> Task:
    names = tuple(map(label_text, classes))
    check_classes(names)
    known = {name: label for label, name in enumerate(names)}
    for name in y_validation:
        if label_text(name) not in known:
            raise UserError(f"y_validation: '{name}' is not a class; the classes are {', '.join(names)}.")
    labels = np.array([known[label_text(name)] for name in y_validation], dtype=np.int64)
    given = list(range(size)) if ids is None else as_list(ids, "ids")
    keys = [*map(label_text, given)]
    if not len(set(keys)) == len(keys) == size:
        raise UserError(f"ids: there are {len(set(keys))} different ids for the {size} rows of X; give each its own.")
    train = Split(keys, [""] * size, np.full(size, UNKNOWN, dtype=np.int64))
    validation = Split([f"validation-{row}" for row in range(len(labels))], [""] * len(labels), labels)
    kinds = kind_of(given), kind_of(classes)
    return Task("table", names, train, validation, Split.empty(), id_type=kinds[0], label_type=kinds[1])
