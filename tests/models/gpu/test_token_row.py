from __future__ import annotations

import torch

from .parts import ON, needs_kernels, row_of

TEXTS = [[7, 9, 7], [4], [9, 9]]


@needs_kernels
def test_a_row_has_the_position_of_each_token() -> None:
    row = row_of(TEXTS, tail=2)
    assert row.values[0].tolist() == [7, 9, 7, 4, 9, 9, 0, 0]
    assert row.positions[0].tolist() == [0, 1, 2, 0, 0, 1, 0, 0]
    assert row.lengths.tolist() == [3, 1, 2]
    assert row.order.tolist() == [6, 7, 3, 0, 2, 1, 4, 5]


@needs_kernels
def test_means_are_those_of_each_text_s_own_tokens() -> None:
    row = row_of(TEXTS, tail=2)
    states = torch.randn(8, 5, device=ON)
    expected = torch.stack([states[:3].mean(0), states[3], states[4:6].mean(0)])
    torch.testing.assert_close(row.means(states[None]), expected)
