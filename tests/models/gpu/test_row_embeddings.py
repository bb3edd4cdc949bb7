from __future__ import annotations

import torch

from hybridal.models.encoders.batches import PackedBatch
from hybridal.models.encoders.bert import BERT_DEFAULTS, BertEmbeddings
from hybridal.models.encoders.layers import Build, Config

from .parts import ON, needs_kernels, row_of

TEXTS = [[7, 9, 7], [4], [9, 9]]


@needs_kernels
def test_gradients_of_a_row_are_those_that_torch_finds() -> None:
    from hybridal.models.gpu.row_embeddings import RowEmbeddings

    config = Config(**{**BERT_DEFAULTS, "vocab_size": 12, "max_position_embeddings": 5})
    embeddings = BertEmbeddings(config, Build(), 6).to(ON).eval()
    for parameter in embeddings.parameters():
        torch.nn.init.normal_(parameter)
    row = row_of(TEXTS)
    above = torch.randn(1, 9, 6, device=ON)
    above[:, 6:] = 0  # nothing comes back from a row's tail
    (embeddings(PackedBatch(row.values, row.positions, [])) * above).sum().backward()
    expected = {name: table.weight.grad for name, table in embeddings.named_children() if hasattr(table, "weight")}
    embeddings.zero_grad(set_to_none=True)

    lookups = RowEmbeddings(embeddings)
    (lookups(row) * above).sum().backward()
    for name in ("position_embeddings", "token_type_embeddings", "LayerNorm"):
        torch.testing.assert_close(getattr(embeddings, name).weight.grad, expected[name])
    # Words: one gradient a token, for the optimiser to add up.
    ids, _, gradient = lookups.word_gradients()
    words = torch.zeros(12, 6, device=ON).index_add(0, ids, gradient)
    torch.testing.assert_close(words[1:], expected["word_embeddings"][1:])
    assert lookups.words.weight.grad is None
