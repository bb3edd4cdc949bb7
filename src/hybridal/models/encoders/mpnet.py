"""MPNet: BERT's layers with a bias in attention that depends on the distance of two tokens; all layers share it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

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
    Residual,
    split_heads,
)

# What a configuration means that leaves a field out, as in transformers.
DEFAULTS = {
    "vocab_size": 30527,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "relative_attention_num_buckets": 32,
    "pad_token_id": 1,
}
# The id of the padding token, whatever a configuration says.
PADDING = 1
# Distances fall into this many buckets, whatever the table's size; the last bucket begins at `FARTHEST`.
BUCKETS, FARTHEST = 32, 128


class Shared(NamedTuple):
    """What all layers add to their attention scores.

    Attributes:
        bias: By distance: broadcastable to (texts, heads, queries, keys) for padded texts; for packed ones (heads,
            queries, keys) by length.
        mask: 0 for visible keys, the lowest number for padding; None if all are visible.
    """

    bias: Any
    mask: Tensor | None


class MPNet(Encoder):
    """MPNet's embeddings and layers."""

    separable = False  # all layers share the bias

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.config, self.build = config, build
        self.embeddings = Embeddings(config, build)
        self.encoder = Layers(config, build)
        self.freeze()

    def shared_inputs(self, states: Tensor, batch: PaddedBatch | PackedBatch) -> Shared:
        """Bias and mask, computed once for all layers."""
        if isinstance(batch, PackedBatch):
            whole = self.encoder.bias_product(max(batch.lengths), states.device)
            return Shared({length: whole[:, :length, :length] for length in set(batch.lengths)}, None)
        if self.build.product_bias:
            bias = self.encoder.bias_product(states.shape[1], states.device)[None]
        else:
            bias = self.encoder.bias_lookup(len(states), states.shape[1], states.device)
        mask = batch.attention_mask
        if mask is not None:
            mask = torch.where(mask, states.new_zeros(()), torch.finfo(states.dtype).min)
        return Shared(bias, mask)


class Embeddings(EmbeddingSum):
    first_position = PADDING + 1

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = build.words(config, width, PADDING)
        self.position_embeddings = Embedding(config.max_position_embeddings, width, padding_idx=PADDING)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = build.dropout(config.hidden_dropout_prob)


class Layers(nn.Module):  # type: ignore[misc]
    """The layers, and the table of their bias."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config, build) for _ in range(config.num_hidden_layers))
        self.relative_attention_bias = Embedding(config.relative_attention_num_buckets, config.num_attention_heads)

    def bias_lookup(self, texts: int, length: int, device: Any) -> Tensor:
        """(texts, heads, length, length), looked up as in transformers."""
        bias: Tensor = self.relative_attention_bias(_buckets(length, device)).permute(2, 0, 1)[None]
        return bias.expand(texts, -1, -1, -1).contiguous()

    def bias_product(self, length: int, device: Any) -> Tensor:
        """(heads, length, length), by a matrix product: its gradient is fast and sums in the same order each time."""
        weight = self.relative_attention_bias.weight
        chosen = _buckets(length, device)[..., None] == torch.arange(len(weight), device=device)
        return (chosen.to(weight.dtype) @ weight).permute(2, 0, 1)


def bucket_of(distance: Tensor) -> Tensor:
    """The bucket of each distance (key's position minus query's position).

    Half of the buckets are for later keys. Of each half, the first buckets hold one distance each, then they get wider.
    """
    half = BUCKETS // 2
    exact, size = half // 2, distance.abs()
    wider = torch.log(size.float() / exact) / math.log(FARTHEST / exact) * (half - exact)
    far = (exact + wider.to(torch.long)).clamp(max=half - 1)
    return (distance > 0).to(torch.long) * half + torch.where(size < exact, size, far)


def _buckets(length: int, device: Any) -> Tensor:
    places: Any = torch.arange(length, device=device)
    return bucket_of(places[None, :] - places[:, None])


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.attention = Attention(config, build)
        self.intermediate = Intermediate(config, build)
        self.output = Residual(config.intermediate_size, config, build)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch, shared: Shared) -> Tensor:
        attended = self.attention(queries, states, batch, shared)
        out: Tensor = self.output(self.intermediate(attended), attended)
        return out


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.attn = SelfAttention(config, build)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = build.dropout(config.hidden_dropout_prob)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch, shared: Shared) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.attn(queries, states, batch, shared)) + queries)
        return out


class SelfAttention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.q, self.k, self.v, self.o = (build.linear(width, width) for _ in range(4))
        self.dropout = build.dropout(config.attention_probs_dropout_prob)

    def forward(self, queries: Tensor, states: Tensor, batch: PaddedBatch | PackedBatch, shared: Shared) -> Tensor:
        if isinstance(batch, PackedBatch):  # the gradients of keys and values are added up before those of queries
            queries, states = queries[0][None], states[0][None]
        query, key, value = (
            split_heads(layer(tokens), self.heads)
            for layer, tokens in ((self.q, queries), (self.k, states), (self.v, states))
        )
        if isinstance(batch, PackedBatch):
            biases: Mapping[int, Tensor] = shared.bias
            rate = self.dropout.p if self.training else 0.0
            gathered = batch.attend(query, key, value, rate, query.shape[-1] ** -0.5, biases)
        else:
            scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
            scores += shared.bias
            if shared.mask is not None:
                scores = scores + shared.mask
            gathered = (self.dropout(scores.softmax(dim=-1)) @ value).transpose(1, 2).flatten(2)
        out: Tensor = self.o(gathered)
        return out
