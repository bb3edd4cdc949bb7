"""BERT, RoBERTa and ELECTRA: one architecture with small differences in the embeddings.

Importing transformers' own modules takes longer than a round on a GPU. These apply the same operations in the same
order, so that padded batches give the same results to the last bit, the draws of dropout included.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hybridal.models.encoders.batches import PackedBatch, PaddedBatch
from hybridal.models.encoders.layers import (
    Build,
    Config,
    Embedding,
    EmbeddingSum,
    Encoder,
    Intermediate,
    Linear,
    Residual,
    split_heads,
)

# What a configuration means that leaves a field out, as in transformers.
BERT_DEFAULTS = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
XLM_ROBERTA_DEFAULTS = {**BERT_DEFAULTS, "pad_token_id": 1}
ROBERTA_DEFAULTS = {**XLM_ROBERTA_DEFAULTS, "vocab_size": 50265}
ELECTRA_DEFAULTS = {
    **BERT_DEFAULTS,
    "embedding_size": 128,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}


class Bert(Encoder):
    """BERT's embeddings and layers; with `build.first_token_only` also its pooler, which the classifier applies."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.config, self.build = config, build
        self.embeddings = BertEmbeddings(config, build, config.hidden_size)
        self.encoder = Layers(config, build)
        if build.first_token_only:
            self.pooler = Pooler(config.hidden_size)
        self.freeze()


class Roberta(Encoder):
    """RoBERTa, XLM-RoBERTa and CamemBERT: BERT with positions that are counted from the padding token's id + 1."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.config, self.build = config, build
        self.embeddings = RobertaEmbeddings(config, build)
        self.encoder = Layers(config, build)
        self.freeze()


class Electra(Encoder):
    """ELECTRA: BERT whose embeddings may be narrower than its layers."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.config, self.build = config, build
        self.embeddings = BertEmbeddings(config, build, config.embedding_size)
        if config.embedding_size != config.hidden_size:
            self.embeddings_project = build.linear(config.embedding_size, config.hidden_size)
        self.encoder = Layers(config, build)
        self.freeze()

    @property
    def frozen_modules(self) -> list[nn.Module]:
        frozen = super().frozen_modules
        return [*frozen, self.embeddings_project] if frozen and hasattr(self, "embeddings_project") else frozen

    def project(self, embedded: Tensor) -> Tensor:
        """Map embeddings to the width of the layers."""
        if self.config.embedding_size == self.config.hidden_size:
            return embedded
        projected: Tensor = self.embeddings_project(embedded)
        return projected


class BertEmbeddings(EmbeddingSum):
    def __init__(self, config: Config, build: Build, width: int) -> None:
        super().__init__()
        self.word_embeddings = build.words(config, width, config.pad_token_id)
        self.position_embeddings = Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = build.dropout(config.hidden_dropout_prob)


class RobertaEmbeddings(EmbeddingSum):
    """Parameters are in transformers' order, which differs from BERT's."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        width, padding = config.hidden_size, config.pad_token_id
        self.first_position = padding + 1
        self.word_embeddings = build.words(config, width, padding)
        self.token_type_embeddings = Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = build.dropout(config.hidden_dropout_prob)
        self.position_embeddings = Embedding(config.max_position_embeddings, width, padding_idx=padding)


class Pooler(nn.Module):  # type: ignore[misc]
    """BERT's own layer between the first token and the classifier."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = Linear(width, width)

    def forward(self, first: Tensor) -> Tensor:
        return torch.tanh(self.dense(first))


class Layers(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config, build) for _ in range(config.num_hidden_layers))


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.attention = Attention(config, build)
        self.intermediate = Intermediate(config, build)
        self.output = Residual(config.intermediate_size, config, build)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch, _shared: Any) -> Tensor:
        attended = self.attention(queries, states, batch)
        out: Tensor = self.output(self.intermediate(attended), attended)
        return out


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.self = SelfAttention(config, build)
        self.output = Residual(config.hidden_size, config, build)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch) -> Tensor:
        out: Tensor = self.output(self.self(queries, states, batch), queries)
        return out


class SelfAttention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads, self.dropout = config.num_attention_heads, build.dropout(config.attention_probs_dropout_prob)
        self.query, self.key, self.value = (build.linear(width, width) for _ in range(3))

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch) -> Tensor:
        query, key, value = (
            split_heads(layer(tokens), self.heads)
            for layer, tokens in ((self.query, queries), (self.key, states), (self.value, states))
        )
        rate = self.dropout.p if self.training else 0.0
        return batch.attend(query, key, value, rate, query.shape[-1] ** -0.5)
