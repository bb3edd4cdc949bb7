"""Where a model's inputs come from: token ids, or what frozen layers made of them."""

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
