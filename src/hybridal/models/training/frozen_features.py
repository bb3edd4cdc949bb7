"""Cached features of an encoder that is not trained: they never change, so each text is encoded once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.token_arrays import Progress, no_progress
from hybridal.models.training import forward_passes
from hybridal.updates import Weights

# Passes over more texts report their progress.
UNREPORTED = 64


class Features:
    """Inputs of the last linear layer for rows of one source.

    Features are batch-invariant: a resumed run computes its texts in different batches, and would differ in the last
    bits.

    Args:
        classifier: Whose encoder is used.
        source: The texts.
        weights: Of the encoder; None for the pretrained weights.
        progress: Called with the number of encoded texts and of all, in passes over more than UNREPORTED texts.
    """

    def __init__(
        self,
        classifier: Classifier,
        source: Source,
        weights: Weights | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._classifier, self._source, self._progress = classifier, source, progress
        self.weights = classifier.pretrained if weights is None else weights
        self._found: dict[int, NDArray[np.float32]] = {}
        self._fixed: dict[bytes, Floats] = {}

    def known(self, row: int) -> NDArray[np.float32] | None:
        """The cached features of a row, if any."""
        return self._found.get(row)

    def copy_from(self, other: Features, rows: Mapping[int, int]) -> None:
        """Copy cached features of another cache with the same weights; `rows` maps own rows to the other's."""
        self._found |= {row: other._found[its] for row, its in rows.items() if its in other._found}

    def of(self, rows: Ints) -> NDArray[np.float32]:
        """Features of these rows, (N, width); those that are not cached are computed."""
        missing = np.array([row for row in dict.fromkeys(rows.tolist()) if row not in self._found], dtype=np.int64)
        if len(missing):
            read = self._read(missing, batch_invariant=True).astype(np.float32)
            self._found.update(zip(missing.tolist(), read, strict=True))
        return np.stack([self._found[row] for row in rows.tolist()])

    def of_fixed(self, rows: Ints) -> Floats:
        """As `of`, for rows that are always requested together: they can share batches, which is faster."""
        if (key := rows.tobytes()) not in self._fixed:
            self._fixed[key] = self._read(rows, batch_invariant=False)
        return self._fixed[key]

    def _read(self, rows: Ints, batch_invariant: bool) -> Floats:
        progress = self._progress if len(rows) > UNREPORTED else no_progress
        with self._classifier.using_weights(self.weights):
            outputs = forward_passes.predict(
                self._classifier, self._source, rows, True, progress, batch_invariant=batch_invariant
            )
        assert outputs.embedding is not None
        return outputs.embedding
