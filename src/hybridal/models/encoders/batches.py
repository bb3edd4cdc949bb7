"""Batches of texts for an encoder: padded to one length, or packed into one row without padding.

A batch knows how attention and means are computed over it, so that an encoder is written once for both. Packing pays on
a processor, where time goes with the number of tokens: nearly half of a random batch of short texts is padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.models.classifier_input import Source
from hybridal.models.encoders.packed_attention import attend


class Batch(Protocol):
    """What a classifier's head needs to know of a batch."""

    def means(self, states: Tensor) -> Tensor:
        """The mean of each text's states, (texts, width)."""


@dataclass(frozen=True)
class PaddedBatch:
    """One text per row, padded to the longest.

    Attributes:
        inputs: Token ids (texts, length), or outputs of frozen layers (texts, length, width).
        mask: 1 for tokens and 0 for padding, (texts, length); or boolean and ready for attention, (texts, 1, 1,
            length). None if nothing is padding.
    """

    inputs: Tensor
    mask: Tensor | None = None

    @cached_property
    def attention_mask(self) -> Tensor | None:
        """Boolean, broadcastable to (texts, heads, queries, keys); None if all keys are visible."""
        if self.mask is None or self.mask.ndim == 4:
            return self.mask
        visible = self.mask.to(torch.bool)
        return None if visible.all() else visible[:, None, None].expand(-1, -1, visible.shape[1], -1)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, dropout: float, scale: float) -> Tensor:
        """Attention over (texts, heads, tokens, head width); returns (texts, tokens, width)."""
        found = nn.functional.scaled_dot_product_attention(query, key, value, self.attention_mask, dropout, scale=scale)
        return found.transpose(1, 2).flatten(2)

    def means(self, states: Tensor) -> Tensor:
        """The mean of each text's states, (texts, width)."""
        if self.mask is None:
            return states.mean(1)
        visible = self.mask.flatten(1).to(states.dtype)
        return (states * visible[:, :, None]).sum(1) / visible.sum(1, keepdim=True)


@dataclass(frozen=True)
class PackedBatch:
    """All texts in one row, one after the other.

    Attributes:
        inputs: Token ids (1, tokens), or outputs of frozen layers (1, tokens, width).
        positions: The position of each token in its text, (1, tokens).
        spans: Start and end of each text in the row.
    """

    inputs: Tensor
    positions: Tensor
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, source: Source, rows: Ints) -> PackedBatch:
        """Pack these rows of a source, in this order."""
        ends = np.cumsum(source.lengths(rows)).tolist()
        spans = list(zip([0, *ends], ends, strict=False))
        positions = np.concatenate([np.arange(end - start) for start, end in spans])
        return cls(torch.from_numpy(source.joined(rows))[None], torch.from_numpy(positions)[None], spans)

    @property
    def starts(self) -> list[int]:
        return [start for start, _ in self.spans]

    @property
    def lengths(self) -> list[int]:
        return [end - start for start, end in self.spans]

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        dropout: float,
        scale: float,
        biases: Mapping[int, Tensor] | None = None,
    ) -> Tensor:
        """Attention inside each text, over (1, heads, tokens, head width); returns (1, queries, width).

        Queries come one per token, or one per text. `biases` are added to the scores, by the text's length.
        """
        return attend(query[0] * scale, key[0], value[0], self.lengths, dropout, biases).flatten(1)[None]

    def means(self, states: Tensor) -> Tensor:
        """The mean of each text's states, (texts, width)."""
        lengths: Any = torch.tensor(self.lengths)
        text_of = torch.arange(len(lengths)).repeat_interleave(lengths)
        sums = states.new_zeros(len(lengths), states.shape[2]).index_add(0, text_of, states[0])
        return sums / lengths[:, None]
