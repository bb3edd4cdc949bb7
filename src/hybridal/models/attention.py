"""Attention inside each text of a row that holds several, without padding."""

from __future__ import annotations

from itertools import groupby
from math import prod

import torch
from torch import Tensor, nn

from hybridal.models.dropout import draw_mask


def attend(query: Tensor, key: Tensor, value: Tensor, lengths: list[int], dropout: float = 0.0) -> Tensor:
    """Of (heads, tokens, width) each, (queries, heads, width); queries come scaled, one a token, or one a text.

    >>> one = torch.ones(1, 3, 2)
    >>> attend(one[:, :2], one, torch.arange(6.0).view(1, 3, 2), lengths=[1, 2])[:, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0]]
    """
    asked = lengths if query.shape[1] == key.shape[1] else [1] * len(lengths)
    if dropout:
        return _dropped_out(query, key, value, lengths, asked, dropout)
    return _by_runs(query, key, value, lengths, asked)


def _by_runs(query: Tensor, key: Tensor, value: Tensor, lengths: list[int], asked: list[int]) -> Tensor:
    """Neighbours of one length together."""
    runs = [(len(list(some)), *sizes) for sizes, some in groupby(zip(lengths, asked, strict=True))]
    # Split, not cut: the gradient of each cut would be a row of zeros as long as all texts.
    tokens, queries = [count * length for count, length, _ in runs], [count * wanted for count, _, wanted in runs]
    pieces = zip(query.split(queries, dim=1), key.split(tokens, dim=1), value.split(tokens, dim=1), strict=True)
    parts = []
    for (count, _, _), some in zip(runs, pieces, strict=True):
        q, k, v = (piece.unflatten(1, (count, -1)).transpose(0, 1) for piece in some)
        heads = nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)
        parts.append(heads.transpose(1, 2).flatten(0, 1))
    return torch.cat(parts)


def _dropped_out(
    query: Tensor, key: Tensor, value: Tensor, lengths: list[int], asked: list[int], dropout: float
) -> Tensor:
    """With dropout, which torch's own is slow with; text by text, since a single text's pieces need no copies."""
    shapes = [(len(query), wanted, length) for wanted, length in zip(asked, lengths, strict=True)]
    sizes = [prod(shape) for shape in shapes]
    masks = draw_mask((sum(sizes),), dropout).split(sizes)
    pieces = zip(query.split(asked, dim=1), key.split(lengths, dim=1), value.split(lengths, dim=1), strict=True)
    parts = []
    for (q, k, v), shape, mask in zip(pieces, shapes, masks, strict=True):
        shares = torch.bmm(q, k.transpose(1, 2)).softmax(dim=-1) * mask.view(shape)
        parts.append(torch.bmm(shares, v).transpose(0, 1))
    return torch.cat(parts)
