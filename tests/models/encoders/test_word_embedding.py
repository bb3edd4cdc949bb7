from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from hybridal.models.encoders.word_embedding import RowGradientEmbedding

WORDS = st.lists(st.integers(0, 9), min_size=1, max_size=12)


def pair(padding: int | None) -> tuple[nn.Embedding, RowGradientEmbedding]:
    """The same table twice: torch's, and ours."""
    plain, ours = nn.Embedding(10, 4, padding_idx=padding), RowGradientEmbedding(10, 4, padding_idx=padding)
    ours.load_state_dict(plain.state_dict())
    return plain, ours


def teach(rows: Tensor) -> None:
    """A loss whose gradient is another for each place."""
    (rows * torch.arange(rows.numel()).reshape(rows.shape)).sum().backward()


@given(
    st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=3), st.booleans()), min_size=1, max_size=4),
    st.none() | st.integers(0, 9),
)
def test_gradients_are_those_of_the_plain_table_step_by_step(
    steps: list[tuple[list[list[int]], bool]], padding: int | None
) -> None:
    plain, ours = pair(padding)
    for batches, clears in steps:
        if clears:
            plain.zero_grad(set_to_none=True)
            ours.zero_grad(set_to_none=True)
        for batch in batches:
            words = torch.tensor([batch])
            teach(plain(words))
            found = ours(words)
            assert torch.equal(found, plain(words))
            teach(found)
        assert plain.weight.grad is not None
        assert ours.weight.grad is not None
        torch.testing.assert_close(ours.weight.grad, plain.weight.grad)


def test_a_word_in_two_places_of_one_pass_counts_twice() -> None:
    plain, ours = pair(None)
    words = torch.tensor([[1, 2, 1]])
    teach(plain(words) + 2 * plain(words))
    teach(ours(words) + 2 * ours(words))
    assert ours.weight.grad is not None
    assert plain.weight.grad is not None
    torch.testing.assert_close(ours.weight.grad, plain.weight.grad)


def test_a_frozen_table_gets_no_gradient() -> None:
    _, ours = pair(None)
    ours.weight.requires_grad_(False)
    scale = torch.ones(4, requires_grad=True)
    (ours(torch.tensor([[1, 2]])) * scale).sum().backward()
    assert ours.weight.grad is None
    assert scale.grad is not None
