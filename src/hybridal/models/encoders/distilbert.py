"""DistilBERT: BERT's layers under other names, without token types and without dropout after attention."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from hybridal.models.encoders.batches import PackedBatch, PaddedBatch
from hybridal.models.encoders.layers import Build, Config, Embedding, EmbeddingSum, Encoder, split_heads

# What a configuration means that leaves a field out, as in transformers.
DEFAULTS = {
    "vocab_size": 30522,
    "dim": 768,
    "n_layers": 6,
    "n_heads": 12,
    "hidden_dim": 3072,
    "activation": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "seq_classif_dropout": 0.2,
    "max_position_embeddings": 512,
    "initializer_range": 0.02,
    "pad_token_id": 0,
}
EPSILON = 1e-12  # of all layer norms


class DistilBert(Encoder):
    """DistilBERT's embeddings and layers."""

    layers_path = "transformer.layer"
    # The last layer has always computed all tokens: to skip some would change the draws of dropout in recorded runs.
    shortens_last_layer = False

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.config, self.build = config, build
        self.embeddings = Embeddings(config, build)
        self.transformer = Layers(config, build)
        self.freeze()


class Embeddings(EmbeddingSum):
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.word_embeddings = build.words(config, config.dim, config.pad_token_id)
        self.position_embeddings = Embedding(config.max_position_embeddings, config.dim)
        self.LayerNorm = nn.LayerNorm(config.dim, eps=EPSILON)
        self.dropout = build.dropout(config.dropout)


class Layers(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config, build) for _ in range(config.n_layers))


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.attention = Attention(config, build)
        self.sa_layer_norm = nn.LayerNorm(config.dim, eps=EPSILON)
        self.ffn = FeedForward(config, build)
        self.output_layer_norm = nn.LayerNorm(config.dim, eps=EPSILON)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch, _shared: Any) -> Tensor:
        attended = self.sa_layer_norm(self.attention(queries, states, batch) + queries)
        out: Tensor = self.output_layer_norm(self.ffn(attended) + attended)
        return out


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.heads, self.dropout = config.n_heads, build.dropout(config.attention_dropout)
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (build.linear(config.dim, config.dim) for _ in range(4))

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch) -> Tensor:
        query, key, value = (
            split_heads(layer(tokens), self.heads)
            for layer, tokens in ((self.q_lin, queries), (self.k_lin, states), (self.v_lin, states))
        )
        rate = self.dropout.p if self.training else 0.0
        out: Tensor = self.out_lin(batch.attend(query, key, value, rate, query.shape[-1] ** -0.5))
        return out


class FeedForward(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.dropout = build.dropout(config.dropout)
        self.lin1, self.lin2 = build.linear(config.dim, config.hidden_dim), build.linear(config.hidden_dim, config.dim)

    def forward(self, states: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.lin2(nn.functional.gelu(self.lin1(states))))
        return out
