"""Features of a trained encoder, kept in memory until it is trained again.

Most rounds of the schedule `auto` fit only the head; scoring all texts then takes a matrix product instead of minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridal.app.trainer.chapter import Chapter
from hybridal.core.outputs import Floats

MAX_BYTES = 2**28  # features beyond this are computed each time


class FeatureCache:
    """Features by text; a restarted trainer computes them again."""

    def __init__(self) -> None:
        self._of: tuple[Any, ...] = ()
        self._found: dict[tuple[int, str], NDArray[np.float32]] = {}

    def of(self, chapter: Chapter, texts: Sequence[Any]) -> Floats:
        """Compute the features of texts (row, id, body, digest) with the encoder of the chapter's model."""
        if self._of != chapter.encoder_key:
            self._of, self._found = chapter.encoder_key, {}
        asked = {(text.row, text.digest): text.body for text in texts}
        known = {key: self._found[key] for key in asked if key in self._found}
        new = [key for key in asked if key not in known]
        read = dict(zip(new, chapter.model.text_features([asked[key] for key in new]), strict=True)) if new else {}
        self._keep(read)
        both = known | read
        return np.stack([both[key] for key in asked])

    def _keep(self, read: dict[tuple[int, str], NDArray[np.float32]]) -> None:
        size = max((values.nbytes for values in read.values()), default=1)
        for key, values in list(read.items())[: max(0, MAX_BYTES // size - len(self._found))]:
            self._found[key] = values
