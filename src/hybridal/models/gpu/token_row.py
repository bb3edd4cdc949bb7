"""Several texts as one row of tokens on a GPU, padded only at its end."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

# Tokens of a program.
COLUMNS = 128


@dataclass(frozen=True)
class TokenRow:
    """Texts one after the other, as tensors on the device.

    Attributes:
        values: Token ids, (1, tokens).
        positions: The position of each token in its text, (1, tokens).
        order: Tokens sorted by their ids; equal ids in the order of the row.
        lengths: Of the texts.
        pooling: `pooling @ states` is one row per text: the mean of its states, or the state of its first token.
        seed: Dropout draws from it.
        longest: No text is longer.
    """

    values: Tensor
    positions: Tensor
    order: Tensor
    lengths: Tensor
    pooling: Tensor
    seed: Tensor
    longest: int

    @classmethod
    def of(cls, inputs: Tensor, texts: int, longest: int, first_tokens: bool) -> TokenRow:
        """From an array of labels, lengths, a seed, token ids and their order (`graph_inputs.one_row`)."""
        tokens = (len(inputs) - 2 * texts - 1) // 2
        ids, positions = inputs.new_empty((2, tokens), dtype=torch.int64)
        pooling = inputs.new_empty((texts, tokens), dtype=torch.float32)
        _spread[(triton.cdiv(tokens, COLUMNS),)](
            inputs, ids, positions, pooling, texts, tokens, triton.next_power_of_2(texts), COLUMNS, first_tokens
        )
        lengths, seed, order = inputs[texts : 2 * texts], inputs[2 * texts :], inputs[2 * texts + 1 + tokens :]
        return cls(ids[None], positions[None], order, lengths, pooling, seed, longest)

    def means(self, states: Tensor) -> Tensor:
        """The mean of each text's states, or its first one, (texts, width); `states` are (1, tokens, width)."""
        with torch.autocast(states.device.type, enabled=False):
            return self.pooling @ states[0]


@triton.jit  # type: ignore[untyped-decorator]
def _spread(
    inputs: tl.tensor,
    ids: tl.tensor,
    positions: tl.tensor,
    pooling: tl.tensor,
    texts: tl.tensor,
    tokens: tl.tensor,
    TEXTS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FIRST_TOKENS: tl.constexpr,
) -> None:
    text = tl.arange(0, TEXTS)
    lengths = tl.load(inputs + texts + text, mask=text < texts, other=0)
    ends = tl.cumsum(lengths)
    token = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there = token < tokens
    tl.store(ids + token, tl.load(inputs + 2 * texts + 1 + token, mask=there, other=0).to(tl.int64), mask=there)
    after = (token[:, None] - (ends - lengths)[None, :]).to(tl.int32)
    own = (after >= 0) & (token[:, None] < ends[None, :])
    tl.store(positions + token, tl.sum(tl.where(own, after, 0), axis=1).to(tl.int64), mask=there)
    if FIRST_TOKENS:
        share = tl.where(own & (after == 0), 1.0, 0.0)
    else:
        share = tl.where(own, 1.0 / tl.maximum(lengths, 1).to(tl.float32)[None, :], 0.0)
    places = text[None, :] * tokens + token[:, None]
    tl.store(pooling + places, share, mask=there[:, None] & (text < texts)[None, :])
