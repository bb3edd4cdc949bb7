"""The interface of a classifier's input: token ids, or the outputs of frozen layers."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from hybridal.core.outputs import Ints


class Source(Protocol):
    """Rows of different lengths."""

    def lengths(self, rows: Ints) -> Ints: ...

    def batch(self, rows: Ints) -> tuple[NDArray[Any], Ints]:
        """Values and attention mask, padded to the longest row."""

    def joined(self, rows: Ints) -> NDArray[Any]:
        """The values of these rows, one after the other."""
