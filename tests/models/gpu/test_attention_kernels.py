from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from .parts import ON, needs_kernels
from .test_layer_kernels import drawn, dropout

pytestmark = needs_kernels
HEADS, SIDE = 2, 8
WIDTH = HEADS * SIDE
# Tokens after the last text: more than all programs that clear them take at once.
PADDING = 150


def by_the_formula(qkv: Tensor, lengths: list[int], bias: Tensor | None = None) -> Tensor:
    """`bias` is by (head, distance)."""
    found, start = [], 0
    for length in lengths:
        q, k, v = (
            part.view(length, HEADS, SIDE).transpose(0, 1) for part in qkv[start : start + length].split(WIDTH, 1)
        )
        products = q @ k.transpose(1, 2) / SIDE**0.5
        if bias is not None:
            place: Any = torch.arange(length, device=ON)
            products = products + bias[:, place[None, :] - place[:, None] + max(lengths) - 1]
        shares = torch.softmax(products, dim=2)
        found.append((shares @ v).transpose(0, 1).reshape(length, WIDTH))
        start += length
    return torch.cat(found)


# Texts of one block; of several, of which the last is not full; and of smaller ones, where there is little room.
@pytest.mark.parametrize(("lengths", "most"), [([3, 1, 16], 64), ([70, 2], 64), ([70, 2], 32)])
def test_each_text_attends_only_to_itself(lengths: list[int], most: int) -> None:
    from hybridal.models.gpu.attention_kernels import Attention

    tokens = sum(lengths)
    qkv = drawn(tokens + PADDING, 3 * WIDTH).requires_grad_()
    expected = by_the_formula(qkv, lengths)
    attention = Attention(HEADS, torch.tensor(lengths, dtype=torch.int32, device=ON), max(lengths), max_block=most)
    gathered, sums = attention.forward(qkv.detach(), dropout(0.0))
    torch.testing.assert_close(gathered[:tokens], expected.detach())
    assert gathered[tokens:].eq(0).all()

    above = drawn(tokens + PADDING, WIDTH)
    (expected * above[:tokens]).sum().backward()
    found, pairs = attention.backward(above, qkv.detach(), gathered, sums, dropout(0.0))
    torch.testing.assert_close(found, qkv.grad, rtol=1e-4, atol=1e-5)
    assert pairs is None


@pytest.mark.parametrize("lengths", [[3, 1, 16], [70, 2]])
def test_a_bias_by_distance_and_its_gradient(lengths: list[int]) -> None:
    from hybridal.models.gpu.attention_kernels import Attention
    from hybridal.models.gpu.distance_bias import sums_by_distance

    tokens = sum(lengths)
    qkv, bias = drawn(tokens + PADDING, 3 * WIDTH).requires_grad_(), drawn(HEADS, 2 * max(lengths) - 1).requires_grad_()
    expected = by_the_formula(qkv, lengths, bias)
    attention = Attention(HEADS, torch.tensor(lengths, dtype=torch.int32, device=ON), max(lengths), bias.detach())
    gathered, sums = attention.forward(qkv.detach(), dropout(0.0))
    torch.testing.assert_close(gathered[:tokens], expected.detach())

    above = drawn(tokens + PADDING, WIDTH)
    (expected * above[:tokens]).sum().backward()
    found, pairs = attention.backward(above, qkv.detach(), gathered, sums, dropout(0.0))
    assert pairs is not None
    torch.testing.assert_close(found, qkv.grad, rtol=1e-4, atol=1e-5)
    positions = torch.tensor([place for length in [*lengths, PADDING] for place in range(length)], device=ON)
    torch.testing.assert_close(sums_by_distance(pairs, positions), bias.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [[9, 4], [70]])
def test_the_gradient_has_the_masks_of_the_pass_before(lengths: list[int]) -> None:
    """What is gathered is linear in the values: their gradient, times a change of them, is what that change does."""
    from hybridal.models.gpu.attention_kernels import Attention

    tokens = sum(lengths)
    qkv, change, above = drawn(tokens, 3 * WIDTH), drawn(tokens, 3 * WIDTH) * 0.5, drawn(tokens, WIDTH)
    change[:, : 2 * WIDTH] = 0
    attention = Attention(HEADS, torch.tensor(lengths, dtype=torch.int32, device=ON), max(lengths))
    gathered, sums = attention.forward(qkv, dropout(0.3))
    moved, _ = attention.forward(qkv + change, dropout(0.3))
    assert not torch.allclose(gathered, attention.forward(qkv, dropout(0.0))[0])
    found, _ = attention.backward(above, qkv, gathered, sums, dropout(0.3))
    torch.testing.assert_close((found * change).sum(), ((moved - gathered) * above).sum(), rtol=1e-3, atol=1e-4)


# What a program may have on an H200, an A100, an RTX 4090 and a T4, in KB.
@pytest.mark.parametrize(
    ("room", "plain", "biased"),
    [
        (227, [64, 64, 64], [64, 64, 64]),
        (163, [64, 64, 64], [64, 64, 32]),
        (99, [64, 64, 32], [64, 32, 32]),
        (64, [64, 32, 16], [32, 32, 16]),
    ],
)
def test_blocks_fit_into_shared_memory(room: int, plain: list[int], biased: list[int]) -> None:
    """In bf16 with 32 columns a head, in bf16 with 64, and in fp32 with 64; compiled for these GPUs, they do."""
    from hybridal.models.gpu.attention_kernels import max_block_size, shared_memory_bytes

    kinds = ((32, 2), (64, 2), (64, 4))
    assert [max_block_size(side, size, False, room * 1024) for side, size in kinds] == plain
    assert [max_block_size(side, size, True, room * 1024) for side, size in kinds] == biased
    assert max_block_size(64, 4, True, None) == 64
    assert (shared_memory_bytes(ON) is None) == (ON.type == "cpu")
