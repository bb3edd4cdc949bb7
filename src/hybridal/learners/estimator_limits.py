"""What an estimator cannot do beside a network, said before anybody labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from hybridal.acquisition import Acquisition
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.errors import UserError
from hybridal.schedules import Schedule, spec_of
from hybridal.signals import Signal
from hybridal.updates.anchor import Anchor


def check_abilities(estimator: Any, schedule: Schedule) -> None:
    """The schedule must ask for no more than the estimator has."""
    name = type(estimator).__name__
    if isinstance(schedule.decide(()), Anchor):
        raise UserError("anchor mixes the weights of a network, which an estimator is not; use another schedule.")
    if not hasattr(estimator, "predict_proba"):
        raise UserError(f"{name} has no predict_proba as it is set up; use an estimator that gives probabilities.")
    if not hasattr(estimator, "partial_fit") and spec_of(schedule) != "retrain":
        raise UserError(f"{name} has no partial_fit, so that it cannot be fine-tuned; use the schedule retrain.")


def check_weights(estimator: Any, weights: Sequence[float], rows: int) -> Floats:
    """A weight for each row, of an estimator that takes them.

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
    """Lets each look once, at answers to the validation rows that know nothing."""
    nothing = Outputs(np.zeros((len(labels), classes))) if len(labels) else None
    for signal in signals:
        look = EstimatorLook(nothing, labels, f"The signal '{signal.name}'")
        if signal.needs_features:
            look.refuse()
        signal.snapshot(look)


def check_acquisition(acquisition: Acquisition, X: Any, classes: int) -> None:
    """Lets it choose once, between two rows of which nothing is known."""
    acquisition.select(_Unknown(X, classes), 1, np.random.default_rng(0))


class EstimatorLook:
    """What a signal sees of an estimator: its answers, and nothing of what is inside."""

    def __init__(self, validation: Outputs | None, labels: Ints, who: str = "This signal") -> None:
        self._validation, self.validation_labels, self._who = validation, labels, who

    @property
    def validation(self) -> Outputs:
        if self._validation is None:
            raise UserError(f"{self._who} looks at validation rows, and there are none; give some, or use retrain.")
        return self._validation

    def refuse(self) -> NoReturn:
        raise UserError(f"{self._who} looks into a network, which an estimator is not; use accuracy, f1 or loss.")

    weights = matrices = gradient_norm = labelled = unlabelled = refuse


class _Unknown:
    """Two candidates and a labelled row; what is asked about them is checked, and answered alike."""

    ids = ("0", "1")

    def __init__(self, X: Any, classes: int) -> None:
        self._X, self._answers = X, np.full((2, classes), 1 / classes)

    def probabilities(self) -> Floats:
        return self._answers

    def labelled_probabilities(self) -> Floats:
        return self._answers[:1]

    def embeddings(self) -> Floats:
        check_numbers(self._X)
        return np.zeros((2, 1))

    def labelled_embeddings(self) -> Floats:
        return self.embeddings()[:1]

    def sampled_probabilities(self, passes: int) -> NoReturn:  # noqa: ARG002
        no_dropout()


def no_dropout() -> NoReturn:
    raise UserError("This acquisition samples by dropout, which an estimator does not have; use entropy or margin.")


def check_numbers(X: Any) -> None:
    """Rows that are to be compared must be numbers; an estimator alone may well take others."""
    try:
        values = np.asarray(X.data if hasattr(X, "tocsr") else X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"X cannot be compared row by row ({error}); make it numbers, or use entropy.") from error
    if not np.isfinite(values).all():
        raise UserError("X cannot be compared row by row, since some values are missing or infinite; use entropy.")
