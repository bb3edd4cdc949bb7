"""Whether the model drifts away from a reference that cannot forget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.signals import ModelView, Signal, Snapshot


@dataclass(frozen=True)
class Drift(Signal):
    """How much more often the model contradicts the probe than a round ago, as McNemar's z; 0 if less often.

    The probe is a logistic regression on the frozen encoder with the same labels. As both learn, they agree more and
    more; a model that forgets contradicts the probe more often. The statistic uses the unlabelled texts on which the
    model contradicts the probe in only one of the two rounds; by chance, half of them would be in each round.

    The model contradicts the probe where their most probable classes differ. If a text may have several classes, only
    texts count to which the probe gives one, with a probability above 0.5. Otherwise its most probable class is hardly
    more than a guess, and a model that has learnt contradicts it as one that forgets does.

    >>> quiet = {"rows": np.arange(20), "contradicts": np.zeros(20, dtype=bool)}
    >>> loud = {"rows": np.arange(20), "contradicts": np.arange(20) < 9}
    >>> Drift().change(quiet, loud), Drift().change(loud, quiet)
    (3.0, 0.0)
    """

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "drift"
    settled: ClassVar[str] = "the drift away from a frozen encoder's answers {was} below {size} times its noise"
    looks_at: ClassVar[str] = "answers on unlabelled texts, compared with a frozen encoder's"
    epsilon: ClassVar[float] = 1.0
    patience: ClassVar[int] = 2
    is_level: ClassVar[bool] = True

    def snapshot(self, model: ModelView) -> Snapshot:
        sample = model.unlabelled()
        probe = sample.probe()
        contradicts = sample.logits.argmax(axis=1) != probe.argmax(axis=1)
        if not model.objective.multi_label:
            return {"rows": sample.rows.copy(), "contradicts": contradicts}
        answers = (probe > 0).any(axis=1)
        return {"rows": sample.rows[answers], "contradicts": contradicts[answers]}

    def change(self, before: Snapshot, now: Snapshot) -> float:
        _, old, new = np.intersect1d(before["rows"], now["rows"], assume_unique=True, return_indices=True)
        was, became = before["contradicts"][old], now["contradicts"][new]
        more, fewer = int((became & ~was).sum()), int((was & ~became).sum())
        return max(0.0, (more - fewer) / math.sqrt(more + fewer)) if more + fewer else 0.0
