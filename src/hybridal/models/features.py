"""What the pretrained encoder says of a text: it never changes, so it is computed once and kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Ints
from hybridal.models import evaluation
from hybridal.models.classifier import Classifier
from hybridal.models.source import Source


class Features:
    """The inputs of the last linear layer under θ₀, for rows of one source.

    Each text is computed by itself: in a batch its last digits would depend on its neighbours, and a run that is
    resumed computes its texts in another company.
    """

    def __init__(self, classifier: Classifier, source: Source) -> None:
        self._classifier, self._source = classifier, source
        self._found: dict[int, NDArray[np.float32]] = {}

    def known(self, row: int) -> NDArray[np.float32] | None:
        """What was computed before."""
        return self._found.get(row)

    def of(self, rows: Ints) -> NDArray[np.float32]:
        """(N, E)"""
        missing = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in self._found], dtype=np.int64)
        if len(missing):
            with self._classifier.as_pretrained():
                outputs = evaluation.predict(self._classifier, self._source, missing, features=True, alone=True)
            assert outputs.embedding is not None
            self._found.update(zip(missing.tolist(), outputs.embedding.astype(np.float32), strict=True))
        return np.stack([self._found[row] for row in rows.tolist()])
