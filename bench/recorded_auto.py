"""The schedule `auto` as it was when the rounds in results/findings.parquet were computed.

Runs are put together by asking the schedule for each update, so its rule must be that of the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.core.rounds import LabelChanges, Round
from hybridal.reports.display_names import schedule_of
from hybridal.schedules import Schedule
from hybridal.schedules.auto import FINETUNE_GROWTH, Auto


@dataclass(frozen=True)
class RecordedAuto(Auto):
    """Fine-tunes when all labels, or the harmonic mean of those of each class, have grown by 60%."""

    def _growth(self, trained: Round, label_changes: LabelChanges) -> str:
        counts = trained.label_changes.counts if trained.label_changes else ()
        growth = max(label_changes.labels / trained.labels, harmonic_growth(counts, label_changes.counts))
        return "labels have grown" if growth >= 1 + FINETUNE_GROWTH else ""


def recorded_schedule(spec: str) -> Schedule:
    """The schedule of this name, as the records know it."""
    return RecordedAuto() if spec == RecordedAuto.spec else schedule_of(spec)


def harmonic_growth(before: Sequence[int], now: Sequence[int]) -> float:
    """The ratio of the harmonic means of the labels of each class, each plus one.

    >>> harmonic_growth([99, 99, 99], [199, 199, 199]), harmonic_growth([], [9])
    (2.0, 1.0)
    """
    if not before or not now or not any((*before, *now)):
        return 1.0
    counts = np.zeros((2, max(len(before), len(now))))
    counts[0, : len(before)], counts[1, : len(now)] = before, now
    was, is_now = (1 / (1 + counts[:, counts.any(axis=0)])).sum(axis=1)  # without classes that never had a label
    return float(was / is_now)
