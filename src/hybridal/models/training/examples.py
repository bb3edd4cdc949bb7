"""Labelled rows of a source, in random batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridal.core.outputs import Ints
from hybridal.models.classifier_input import Source


@dataclass(frozen=True)
class Examples:
    """Rows of a source with their labels."""

    source: Source
    rows: Ints
    labels: Ints

    def batches(self, size: int, rng: np.random.Generator) -> list[Ints]:
        """All examples once in random order, as positions in `rows`."""
        order = rng.permutation(len(self.rows))
        return [order[start : start + size] for start in range(0, len(order), size)]
