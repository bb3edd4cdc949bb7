"""The result of `teach`."""

from __future__ import annotations

from dataclasses import dataclass

from hybridal.core.rounds import Metrics, Round
from hybridal.reports.number_formats import counted


@dataclass(frozen=True, repr=False)
class TeachResult:
    """The labels that `teach` took, and the round of training that followed, if one did.

    Attributes:
        learnt: New labels to learn from.
        measured: New labels of validation texts.
        skipped: Texts without a label.
        labels: Number of labels to learn from now.
        round: Number of training rounds so far.
        trained: The round that followed; None if the model is unchanged.
        reason: Why the schedule chose this update ("" if it gives no reasons), or why the model is unchanged.

    Example:
        >>> TeachResult(0, 0, 2, labels=8, round=1, reason="no labels were given")
        TeachResult(no labels, 2 texts skipped; the model is unchanged: no labels were given)
    """

    learnt: int
    measured: int
    skipped: int
    labels: int
    round: int
    trained: Round | None = None
    reason: str = ""

    @property
    def update(self) -> str:
        """The update that was made, such as "retrain"; "" if none was."""
        return "" if self.trained is None else self.trained.update

    @property
    def validation(self) -> Metrics | None:
        """Metrics on the validation texts; None if there are none."""
        return None if self.trained is None else self.trained.validation

    @property
    def cross(self) -> Metrics | None:
        """Metrics of cross-fitted probes, if there are no validation texts; else None."""
        return None if self.trained is None else self.trained.cross

    @property
    def temperature(self) -> float | None:
        """Temperature that calibrates the probabilities; None if it is not known."""
        return None if self.trained is None else self.trained.temperature

    def __repr__(self) -> str:
        taken = [f"{counted(self.learnt, 'label')} to learn from"] if self.learnt else []
        taken += [f"{counted(self.measured, 'label')} to measure on"] if self.measured else []
        taken = taken or ["no labels"]
        taken += [f"{counted(self.skipped, 'text')} skipped"] if self.skipped else []
        outcome = f"the model is unchanged: {self.reason}" if self.trained is None else repr(self.trained)
        return f"TeachResult({', '.join(taken)}; {outcome})"
