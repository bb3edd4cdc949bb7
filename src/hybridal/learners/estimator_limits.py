"""Check that an estimator supports the schedule, signals and acquisition, before any row is labelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from hybridal.acquisition import Acquisition, select
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.errors import UserError
from hybridal.measures.objective import Objective, SingleLabel
from hybridal.schedules import Schedule, decide, spec_of
from hybridal.signals import Signal, snapshot_of
from hybridal.updates.anchor import Anchor


def check_abilities(estimator: Any, schedule: Schedule) -> None:
    """Require the methods that the schedule calls."""
    name = type(estimator).__name__
    if isinstance(decide(schedule, ()), Anchor):
        raise UserError("anchor mixes the weights of a network, which an estimator is not; use another schedule.")
    if not hasattr(estimator, "predict_proba"):
        raise UserError(f"{name} has no predict_proba as it is set up; use an estimator that gives probabilities.")
    if not hasattr(estimator, "partial_fit") and spec_of(schedule) != "retrain":
        raise UserError(f"{name} has no partial_fit, so that it cannot be fine-tuned; use the schedule retrain.")


def check_weights(estimator: Any, weights: Sequence[float], rows: int) -> Floats:
    """Convert sample weights to an array.

    Raises:
        UserError: If the estimator takes none, or there are not as many weights as rows, or one is not a number >= 0.
    """
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(estimator, "sample_weight"):
        raise UserError(
            f"{type(estimator).__name__}.fit takes no sample_weight; leave it out, or use another estimator."
        )
    try:
        found: Floats = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"sample_weight: {error}; give a number for each row of X.") from error
    if found.shape != (rows,):
        raise UserError(f"sample_weight has the shape {found.shape} for the {rows} rows of X; give a number for each.")
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise UserError("sample_weight: a weight is negative, missing or infinite; give numbers from 0 on.")
    return found


def check_signals(signals: Sequence[Signal], labels: Ints, classes: int) -> None:
    """Compute each signal once on uniform predictions, to find those that need more than an estimator has."""
    nothing = Outputs(np.zeros((len(labels), classes))) if len(labels) else None
    for signal in signals:
        look = EstimatorView(nothing, labels, classes, f"The signal '{signal.name}'")
        if signal.needs_features:
            look.refuse()
        snapshot_of(signal, look)


def check_acquisition(acquisition: Acquisition, X: Any, classes: int) -> None:
    """Let the acquisition choose once between two rows with uniform predictions."""
    select(acquisition, _UniformCandidates(X, classes), 1, np.random.default_rng(0))


class EstimatorView:
    """The model view of an estimator: predictions on validation rows, but no weights."""

    def __init__(self, validation: Outputs | None, labels: Ints, classes: int, who: str = "This signal") -> None:
        self._validation, self.validation_labels, self._who = validation, labels, who
        self.objective: Objective = SingleLabel(classes)

    @property
    def validation(self) -> Outputs:
        """Outputs on the validation rows; refused if there are none."""
        if self._validation is None:
            raise UserError(f"{self._who} looks at validation rows, and there are none; give some, or use retrain.")
        return self._validation

    def refuse(self) -> NoReturn:
        """Refuse a signal that needs a network."""
        raise UserError(f"{self._who} looks into a network, which an estimator is not; use accuracy, f1 or loss.")

    weights = matrices = gradient_norm = labelled = unlabelled = refuse


class _UniformCandidates:
    """Two candidates and a labelled row with uniform predictions; embeddings require numbers."""

    ids = ("0", "1")

    def __init__(self, X: Any, classes: int) -> None:
        self._X, self._answers = X, np.full((2, classes), 1 / classes)

    def probabilities(self) -> Floats:
        return self._answers

    def labelled_probabilities(self) -> Floats:
        return self._answers[:1]

    def thresholds(self) -> tuple[float, ...]:
        return ()

    def embeddings(self) -> Floats:
        check_numbers(self._X)
        return np.zeros((2, 1))

    def labelled_embeddings(self) -> Floats:
        return self.embeddings()[:1]

    def sampled_probabilities(self, passes: int) -> NoReturn:  # noqa: ARG002
        no_dropout()


def no_dropout() -> NoReturn:
    """Refuse an acquisition that samples by dropout."""
    raise UserError("This acquisition samples by dropout, which an estimator does not have; use entropy or margin.")


def check_numbers(X: Any) -> None:
    """Require numeric rows, which acquisitions that compare rows need; estimators may accept others."""
    try:
        values = np.asarray(X.data if hasattr(X, "tocsr") else X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"X cannot be compared row by row ({error}); make it numbers, or use entropy.") from error
    if not np.isfinite(values).all():
        raise UserError("X cannot be compared row by row, since some values are missing or infinite; use entropy.")
