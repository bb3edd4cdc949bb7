"""What an encoder says of a text: as long as it is not trained it never changes, so it is computed once and kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.models.classifier import Classifier
from hybridal.models.text_source import Source
from hybridal.models.training import forward_passes
from hybridal.updates import Weights


class Features:
    """The inputs of the last linear layer under these weights (θ₀ where none are given), for rows of one source.

    Each text is computed by itself: in a batch its last digits would depend on its neighbours, and a run that is
    resumed computes its texts in another company.
    """

    def __init__(self, classifier: Classifier, source: Source, weights: Weights | None = None) -> None:
        self._classifier, self._source = classifier, source
        self.weights = classifier.pretrained if weights is None else weights
        self._found: dict[int, NDArray[np.float32]] = {}
        self._together: dict[bytes, Floats] = {}

    def known(self, row: int) -> NDArray[np.float32] | None:
        """What was computed before."""
        return self._found.get(row)

    def take_over(self, other: Features, rows: Mapping[int, int]) -> None:
        """`rows` are the other's rows of the same texts, by their own; its weights must be the same too."""
        self._found |= {row: other._found[its] for row, its in rows.items() if its in other._found}

    def of(self, rows: Ints) -> NDArray[np.float32]:
        """(N, E)"""
        missing = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in self._found], dtype=np.int64)
        if len(missing):
            read = self._read(missing, batch_invariant=True).astype(np.float32)
            self._found.update(zip(missing.tolist(), read, strict=True))
        return np.stack([self._found[row] for row in rows.tolist()])

    def together(self, rows: Ints) -> Floats:
        """As `of`, for rows that are always asked for together: they are each other's company, and take less time."""
        if (key := rows.tobytes()) not in self._together:
            self._together[key] = self._read(rows, batch_invariant=False)
        return self._together[key]

    def _read(self, rows: Ints, batch_invariant: bool) -> Floats:
        with self._classifier.holding(self.weights):
            outputs = forward_passes.predict(
                self._classifier, self._source, rows, features=True, batch_invariant=batch_invariant
            )
        assert outputs.embedding is not None
        return outputs.embedding
