from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hybridal.models.encoders import packed_attention as attention
from hybridal.models.encoders.dropout import draw_mask
from hybridal.models.encoders.packed_attention import attend

HEADS, WIDTH = 3, 4
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def one_by_one(query: Tensor, key: Tensor, value: Tensor, lengths: list[int], masks: list[Tensor]) -> Tensor:
    """By the formula: a text and a head at a time."""
    rows = []
    ends = np.cumsum(lengths).tolist()
    per_text = query.shape[1] < key.shape[1]
    for text, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        asked = slice(text, text + 1) if per_text else slice(end - length, end)
        heads = []
        for head in range(HEADS):
            q, k, v = query[head, asked], key[head, end - length : end], value[head, end - length : end]
            heads.append((torch.softmax(q @ k.T, dim=1) * masks[text][head]) @ v)
        rows.append(torch.stack(heads, dim=1))
    return torch.cat(rows)


def drawn(lengths: list[int], per_text: bool, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    key, value = torch.randn(2, HEADS, sum(lengths), WIDTH, generator=generator)
    asked = len(lengths) if per_text else sum(lengths)
    query = torch.randn(HEADS, asked, WIDTH, generator=generator)
    return query.requires_grad_(), key.requires_grad_(), value.requires_grad_()


def assert_same(found: Tensor, expected: Tensor, inputs: tuple[Tensor, ...]) -> None:
    torch.testing.assert_close(found, expected)
    weights = torch.arange(1.0, 1 + found.numel()).view_as(found) / found.numel()
    ours, theirs = (torch.autograd.grad((made * weights).sum(), inputs) for made in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@settings(max_examples=40)
@given(LENGTHS, st.booleans(), st.integers(0, 99))
def test_each_text_attends_only_to_itself(lengths: list[int], per_text: bool, seed: int) -> None:
    inputs = drawn(lengths, per_text, seed)
    whole = [torch.ones(HEADS, 1, 1)] * len(lengths)
    assert_same(attend(*inputs, lengths), one_by_one(*inputs, lengths, whole), inputs)


@pytest.mark.parametrize("per_text", [False, True])
@pytest.mark.parametrize("lengths", [[2, 5, 5, 1], [3], [1, 1, 4]])
def test_dropout_takes_shares_away(lengths: list[int], per_text: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = drawn(lengths, per_text, seed=5)
    sizes = [HEADS * (1 if per_text else length) * length for length in lengths]
    mask = draw_mask((sum(sizes),), 0.5)
    monkeypatch.setattr(attention, "draw_mask", lambda _shape, _rate: mask)
    masks = [part.view(HEADS, -1, length) for part, length in zip(mask.split(sizes), lengths, strict=True)]
    found = attend(*inputs, lengths, dropout=0.5)
    assert_same(found, one_by_one(*inputs, lengths, masks), inputs)
