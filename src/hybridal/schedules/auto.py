"""Auto: a new head for every batch, all labels again when they have grown, a new start when something speaks for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Schedule
from hybridal.signals import Signal
from hybridal.signals.agreement import Agreement
from hybridal.signals.drift import Drift
from hybridal.updates import Update
from hybridal.updates.finetune import FineTune
from hybridal.updates.refit import Refit
from hybridal.updates.retrain import Retrain

# Between two retrainings this share of the labels at least is added, corrected or withdrawn. So all retrainings but the
# last train together on at most 1 / GROWTH examples for each time that somebody labelled.
GROWTH = 0.25
# The encoder is trained on when the labels have grown by this share since it was last, for so many epochs.
GROWN, EPOCHS = 0.6, 3
# Page's test on the drift: what is noise in one round, and how much beyond it must add up.
ALLOWED, ALARM = 1.0, 4.0


@dataclass(frozen=True)
class Auto(Schedule):
    """Fits the head to each batch at no cost; trains the encoder on when that is due, and anew when that is worth it.

    It is due when the labels have grown by more than half since the encoder was last trained, or those of classes that
    had few, and in the last round: brief trainings on all labels, from the last weights. A new start is worth it when
    the encoder has not been trained yet, when there are twice as many new labels as old ones, when more labels of new
    classes come than were to be expected, when more labels were corrected or withdrawn than chance moves their counts
    (√n), and when the model drifts away from what a frozen encoder makes of the same labels. No threshold has a unit,
    so they hold for any encoder.

    >>> Auto().decide([]).reason
    'nothing has been learnt yet'
    """

    name: ClassVar[str] = "auto"
    title: ClassVar[str] = "Auto"
    spec: ClassVar[str] = "auto"
    # Agreement is for the forecast: it looks at the same sample.
    watches: ClassVar[tuple[Signal, ...]] = (Agreement(), Drift())

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        # Where a head cannot be refitted alone, a refit takes a few steps on some labels: that is no training of all.
        learnt = [at for at, fact in enumerate(history) if fact.update != Refit.name]
        if not learnt or not history[learnt[-1]].cost.steps:  # a retraining without a step is a probe
            return Retrain(reason="nothing has been learnt yet")
        label_changes = label_changes or LabelChanges(known=history[-1].labels)
        if why := self._reason(history, label_changes):
            return Retrain(reason=why)
        trained = history[learnt[-1]]
        since = [*(fact.label_changes for fact in history[learnt[-1] + 1 :] if fact.label_changes), label_changes]
        if label_changes.last and (label_changes.labels != trained.labels or any(n.changed for n in since)):
            return FineTune(EPOCHS, reason="the last round")
        if label_changes.labels >= (1 + GROWN) * trained.labels:
            why = f"{label_changes.labels} labels, {trained.labels} when the encoder was last trained"
            return FineTune(EPOCHS, reason=why)
        if trained.label_changes and grown(trained.label_changes.counts, label_changes.counts) >= 1 + GROWN:
            return FineTune(EPOCHS, reason="classes with few labels have more than when the encoder was last trained")
        return Refit()

    def _reason(self, history: Sequence[Round], label_changes: LabelChanges) -> str:
        """Why to retrain now; "" where nothing speaks for it, or the last retraining is too near."""
        last = max((at for at, fact in enumerate(history) if fact.update == Retrain.name), default=0)
        # What happened while it was too early counts later.
        since = [*(fact.label_changes for fact in history[last + 1 :] if fact.label_changes), label_changes]
        before = history[last].labels
        if max(label_changes.labels - before, sum(n.changed for n in since)) < GROWTH * before:
            return ""
        changed = sum(n.corrected + n.withdrawn for n in since)
        known = label_changes.known + label_changes.corrected
        if label_changes.added >= 2 * known:
            return f"{label_changes.added} new labels, far more than the {known} before"
        appeared, expected = sum(n.new_class_count for n in since), sum(n.expected for n in since)
        if sum(n.unseen for n in since) > expected + 2 * math.sqrt(expected):
            return f"{appeared} new {'class' if appeared == 1 else 'classes'}"
        if changed > math.sqrt(label_changes.labels):
            return f"{changed} labels corrected or withdrawn"
        if label_changes.last:
            return ""  # all labels are gone over again anyway
        if (alarm := drifted([fact.changes.get(Drift.name) for fact in history[last + 1 :]])) > ALARM:
            return f"drifted from the frozen encoder's answers ({alarm:.1f} times its noise)"
        return ""


def grown(before: Sequence[int], now: Sequence[int]) -> float:
    """How many times more labels there are of a class, by a mean in which a class counts the more the fewer it has.

    It is the harmonic mean of the counts, one added to each: about what the labels grew by if all classes grew alike.

    >>> grown([99, 99, 99], [199, 199, 199]), round(grown([100, 100, 0], [101, 101, 15]), 1)
    (2.0, 12.4)
    """
    if not before or not now or not any((*before, *now)):
        return 1.0
    counts = np.zeros((2, max(len(before), len(now))))
    counts[0, : len(before)], counts[1, : len(now)] = before, now
    was, is_now = (1 / (1 + counts[:, counts.any(axis=0)])).sum(axis=1)  # classes that nobody has seen say nothing
    return float(was / is_now)


def drifted(changes: Sequence[float | None]) -> float:
    """Page's cumulative sum: what of the changes was beyond the allowed and has not been made up for.

    >>> drifted([None, 2.5, 0.0, 4.0])
    3.5
    """
    total = 0.0
    for change in changes:
        total = max(0.0, total + (change or 0.0) - ALLOWED)
    return total
