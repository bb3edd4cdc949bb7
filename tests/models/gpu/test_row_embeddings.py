from __future__ import annotations

import torch
from transformers.models.bert.modeling_bert import BertConfig, BertEmbeddings

from .parts import ON, needs_kernels, row_of

TEXTS = [[7, 9, 7], [4], [9, 9]]


@needs_kernels
def test_gradients_of_a_row_are_those_that_torch_finds() -> None:
    from hybridal.models.gpu.row_embeddings import Lookups

    embeddings = BertEmbeddings(BertConfig(vocab_size=12, hidden_size=6, max_position_embeddings=5)).to(ON).eval()
    row = row_of(TEXTS)
    above = torch.randn(1, 9, 6, device=ON)
    above[:, 6:] = 0  # nothing comes back from a row's tail
    inputs = {"input_ids": row.values, "position_ids": row.positions, "token_type_ids": torch.zeros_like(row.values)}
    (embeddings(**inputs) * above).sum().backward()
    expected = {name: table.weight.grad for name, table in embeddings.named_children() if hasattr(table, "weight")}
    embeddings.zero_grad(set_to_none=True)

    lookups = Lookups(embeddings)
    with lookups.reading(row):
        found = embeddings(**inputs)
    (found * above).sum().backward()
    for name in ("position_embeddings", "token_type_embeddings", "LayerNorm"):
        torch.testing.assert_close(getattr(embeddings, name).weight.grad, expected[name])
    # Words: one gradient a token, for the optimiser to add up.
    ids, _, gradient = lookups.heard()
    words = torch.zeros(12, 6, device=ON).index_add(0, ids, gradient)
    torch.testing.assert_close(words[1:], expected["word_embeddings"][1:])
    assert lookups.words.weight.grad is None
