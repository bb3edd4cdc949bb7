"""Texts with random labels that a model has not learnt: what its promises are tested on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.evidence import Evidence
from hybridal.measures.objective import Objective
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.training import forward_passes
from hybridal.models.training.examples import Examples


@dataclass(frozen=True)
class RandomLabels:
    """The validation texts that were drawn at random, and a random sample of unlabelled texts.

    Attributes:
        examples: Texts with labels.
        pool: The texts to label from.
        unlabelled: Rows of it.
        objective: Whether a text has one or several classes.
    """

    examples: Examples
    pool: Source
    unlabelled: Ints
    objective: Objective

    def evidence(
        self, classifier: Classifier, temperature: float | None, thresholds: tuple[float, ...]
    ) -> Evidence | None:
        """Let a classifier answer these texts; None if no text has a random label."""
        if not len(self.examples.rows):
            return None
        labelled = self._logits(classifier, self.examples.source, self.examples.rows)
        others = self._logits(classifier, self.pool, self.unlabelled)
        return Evidence.of(self.objective, labelled, self.examples.labels, others, temperature or 1.0, thresholds)

    def _logits(self, classifier: Classifier, source: Source, rows: Ints) -> Floats:
        if not len(rows):
            return np.empty((0, self.objective.classes), dtype=np.float32)
        return forward_passes.predict(classifier, source, rows).logits
