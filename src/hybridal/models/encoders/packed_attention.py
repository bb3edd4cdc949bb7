"""Attention inside each text of a packed row."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import prod

import torch
from torch import Tensor, nn

from hybridal.models.encoders.dropout import draw_mask

Biases = Mapping[int, Tensor]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: list[int],
    dropout: float = 0.0,
    biases: Biases | None = None,
) -> Tensor:
    """Attention over (heads, tokens, width) tensors; returns (queries, heads, width).

    Queries are scaled already, and come one per token or one per text.

    `biases` are (heads, queries, keys) by the length of a text, and added before shares are made of the products.

    >>> one = torch.ones(1, 3, 2)
    >>> attend(one[:, :2], one, torch.arange(6.0).view(1, 3, 2), lengths=[1, 2])[:, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0]]
    """
    query_counts = lengths if query.shape[1] == key.shape[1] else [1] * len(lengths)
    if dropout:
        return _with_dropout(query, key, value, lengths, query_counts, dropout, biases)
    return _by_equal_lengths(query, key, value, lengths, query_counts, biases)


def _by_equal_lengths(
    query: Tensor, key: Tensor, value: Tensor, lengths: list[int], query_counts: list[int], biases: Biases | None
) -> Tensor:
    """Consecutive texts of one length are computed at once."""
    runs = [(len(list(some)), *sizes) for sizes, some in groupby(zip(lengths, query_counts, strict=True))]
    # `split`, not slices: the gradient of each slice would be a row of zeros as long as all texts.
    tokens, queries = [count * length for count, length, _ in runs], [count * wanted for count, _, wanted in runs]
    pieces = zip(query.split(queries, dim=1), key.split(tokens, dim=1), value.split(tokens, dim=1), strict=True)
    parts = []
    for (count, length, wanted), some in zip(runs, pieces, strict=True):
        q, k, v = (piece.unflatten(1, (count, -1)).transpose(0, 1) for piece in some)
        bias = None if biases is None else biases[length][None, :, :wanted]
        heads = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)
        parts.append(heads.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)


def _with_dropout(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: list[int],
    query_counts: list[int],
    dropout: float,
    biases: Biases | None,
) -> Tensor:
    """With dropout, for which torch's own kernel is slow; text by text, since slices of one text need no copies."""
    shapes = [(len(query), wanted, length) for wanted, length in zip(query_counts, lengths, strict=True)]
    sizes = [prod(shape) for shape in shapes]
    masks = draw_mask((sum(sizes),), dropout).split(sizes)
    pieces = zip(query.split(query_counts, dim=1), key.split(lengths, dim=1), value.split(lengths, dim=1), strict=True)
    parts = []
    for (q, k, v), shape, mask in zip(pieces, shapes, masks, strict=True):
        products = torch.bmm(q, k.transpose(1, 2))
        if biases is not None:
            products = products + biases[shape[2]][:, : shape[1]]
        shares = products.softmax(dim=-1) * mask.view(shape)
        parts.append(torch.bmm(shares, v).transpose(0, 1))
    return torch.cat(parts)
