"""Auto: refit the head for every batch, fine-tune when the labels have grown, retrain when a trigger fires."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Schedule
from hybridal.signals import Signal
from hybridal.signals.agreement import Agreement
from hybridal.signals.drift import Drift
from hybridal.updates import Update
from hybridal.updates.finetune import FineTune
from hybridal.updates.refit import Refit
from hybridal.updates.retrain import Retrain

# Retrain only after at least this share of the labels was added, corrected or withdrawn. So all retrainings but the
# last train on at most 1 / MIN_RETRAIN_GROWTH examples per label in total.
MIN_RETRAIN_GROWTH = 0.25
# Fine-tune for this many epochs when the labels, or those of one class, have grown by this share since the encoder was
# last trained. CLASS_SMOOTHING labels are added to both counts of a class, so that its first few do not trigger a
# training each.
FINETUNE_GROWTH, EPOCHS, CLASS_SMOOTHING = 0.6, 3, 20
# Page's test on the drift: the noise of one round, and the sum beyond it that triggers retraining.
DRIFT_ALLOWANCE, DRIFT_LIMIT = 1.0, 4.0


@dataclass(frozen=True)
class Auto(Schedule):
    """Refits the head for each batch at almost no cost, fine-tunes when labels have grown, retrains when triggered.

    It fine-tunes briefly, on all labels from the last weights, when the labels, or those of one class, have grown by
    60% since the encoder was last trained, and in the last round. It retrains when

    - the encoder has not been trained yet,
    - there are twice as many new labels as old ones,
    - more labels of new classes came than expected,
    - more labels were corrected or withdrawn than chance moves their counts (√n), or
    - the model drifts away from a probe of the frozen encoder with the same labels.

    All thresholds are dimensionless, so they hold for any encoder.

    >>> Auto().decide([]).reason
    'the encoder is untrained'
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Auto"
    spec: ClassVar[str] = "auto"
    # Agreement serves the forecast, and uses the same sample.
    watches: ClassVar[tuple[Signal, ...]] = (Agreement(), Drift())

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        # A refit never counts as training: at most it takes a few steps on some labels, if the head cannot be refitted.
        learnt = [at for at, record in enumerate(history) if record.update != Refit.name]
        if not learnt or not history[learnt[-1]].cost.steps:  # a retraining without steps is a probe
            return Retrain(reason="the encoder is untrained")
        label_changes = label_changes or LabelChanges(known=history[-1].labels)
        if why := self._reason(history, label_changes):
            return Retrain(reason=why)
        trained = history[learnt[-1]]
        since = [*(record.label_changes for record in history[learnt[-1] + 1 :] if record.label_changes), label_changes]
        if label_changes.last and (label_changes.labels != trained.labels or any(n.changed for n in since)):
            return FineTune(EPOCHS, reason="the last round")
        why = self._growth(trained, label_changes)
        return FineTune(EPOCHS, reason=why) if why else Refit()

    def _growth(self, trained: Round, label_changes: LabelChanges) -> str:
        """Why to fine-tune now; "" if the labels have not grown enough since the encoder was last trained."""
        if label_changes.labels >= (1 + FINETUNE_GROWTH) * trained.labels:
            return f"{label_changes.labels} labels, {trained.labels} when the encoder was last trained"
        counts = trained.label_changes.counts if trained.label_changes else ()
        before, now = fastest_growing_class(counts, label_changes.counts)
        if now + CLASS_SMOOTHING >= (1 + FINETUNE_GROWTH) * (before + CLASS_SMOOTHING):
            return f"{now} labels of one class, {before} when the encoder was last trained"
        return ""

    def _reason(self, history: Sequence[Round], label_changes: LabelChanges) -> str:
        """Why to retrain now; "" if no trigger fires, or too few labels changed since the last retraining."""
        last = max((at for at, record in enumerate(history) if record.update == Retrain.name), default=0)
        # All changes since then count, also those of rounds in which it was too early to retrain.
        since = [*(record.label_changes for record in history[last + 1 :] if record.label_changes), label_changes]
        before = history[last].labels
        if max(label_changes.labels - before, sum(n.changed for n in since)) < MIN_RETRAIN_GROWTH * before:
            return ""
        changed = sum(n.corrected + n.withdrawn for n in since)
        known = label_changes.known + label_changes.corrected
        if label_changes.added >= 2 * known:
            return f"{label_changes.added} new labels, far more than the {known} before"
        appeared, expected = sum(n.new_class_count for n in since), sum(n.expected for n in since)
        if sum(n.unseen for n in since) > expected + 2 * math.sqrt(expected):
            return f"{appeared} new {'class' if appeared == 1 else 'classes'}"
        if changed > math.sqrt(label_changes.labels):
            return f"{changed} label{'' if changed == 1 else 's'} corrected or withdrawn"
        if label_changes.last:
            return ""  # the last round trains on all labels anyway
        if (
            drift := accumulated_drift([record.changes.get(Drift.name) for record in history[last + 1 :]])
        ) > DRIFT_LIMIT:
            return f"drifted from the frozen encoder's answers ({drift:.1f} times its noise)"
        return ""


def fastest_growing_class(before: Sequence[int], now: Sequence[int]) -> tuple[int, int]:
    """The labels, before and now, of the class whose smoothed count has grown by the largest factor.

    >>> fastest_growing_class([100, 100, 0], [190, 101, 15])
    (100, 190)
    >>> fastest_growing_class([100, 100], [110, 100, 25])
    (0, 25)
    """
    if not before or not now:
        return 0, 0

    def growth(counts: tuple[int, int]) -> float:
        return (counts[1] + CLASS_SMOOTHING) / (counts[0] + CLASS_SMOOTHING)

    return max(zip_longest(before, now, fillvalue=0), key=growth)


def accumulated_drift(changes: Sequence[float | None]) -> float:
    """Page's cumulative sum of the drift beyond the allowance; it never falls below 0.

    >>> accumulated_drift([None, 2.5, 0.0, 4.0])
    3.5
    """
    total = 0.0
    for change in changes:
        total = max(0.0, total + (change or 0.0) - DRIFT_ALLOWANCE)
    return total
