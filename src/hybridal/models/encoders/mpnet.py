"""MPNet's encoder as a module of our own, as `bert.py` is BERT's. Of packed texts it is told by `mpnet_packing.py`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.models.encoders.layers import Config, Embedding, Intermediate, Linear, Residual, Said, key_mask

# What a configuration means that does not say.
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
# The number of the padding token, whatever a configuration says; positions are counted from there on.
PADDING = 1
# Distances have this many buckets, whatever the table has, and the last of them begins here.
BUCKETS, FARTHEST = 32, 128


class MPNet(nn.Module):  # type: ignore[misc]
    """Embeddings and layers, without a pooler."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Layers(config)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        **_others: Any,
    ) -> Said:
        """It knows no kinds of tokens."""
        embedded = self.embeddings(input_ids, position_ids)
        mask = key_mask(attention_mask, embedded)
        if mask is not None and attention_mask is not mask:  # to be added; one that was ready is as it should be
            mask = torch.where(mask, embedded.new_zeros(()), torch.finfo(embedded.dtype).min)
        said: Said = self.encoder(embedded, mask)
        return said


class Embeddings(nn.Module):  # type: ignore[misc]
    padding_idx = PADDING

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = Embedding(config.vocab_size, width, padding_idx=PADDING)
        self.position_embeddings = Embedding(config.max_position_embeddings, width, padding_idx=PADDING)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        if position_ids is None:
            there = input_ids.ne(PADDING).int()
            position_ids = (torch.cumsum(there, dim=1) * there).long() + PADDING
        words = self.word_embeddings(input_ids)
        embedded: Tensor = self.dropout(self.LayerNorm(words + self.position_embeddings(position_ids)))
        return embedded


class Layers(nn.Module):  # type: ignore[misc]
    """All share a bias by how far apart two tokens are."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.relative_attention_bias = Embedding(config.relative_attention_num_buckets, config.num_attention_heads)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Said:
        bias = self.compute_position_bias(states)
        for layer in self.layer:
            states = layer(states, mask, bias)
        return Said(states)

    def compute_position_bias(self, states: Tensor) -> Tensor:
        """(texts, heads, queries, keys)"""
        places: Any = torch.arange(states.shape[1], device=states.device)
        buckets = self.relative_position_bucket(places[None, :] - places[:, None])
        bias: Tensor = self.relative_attention_bias(buckets).permute(2, 0, 1)[None]
        return bias.expand(len(states), -1, -1, -1).contiguous()

    @staticmethod
    def relative_position_bucket(apart: Tensor) -> Tensor:
        """Half of them for keys that come later; of each half, one a distance at first, then ever wider ones."""
        half = BUCKETS // 2
        exact, distance = half // 2, apart.abs()
        wider = torch.log(distance.float() / exact) / math.log(FARTHEST / exact) * (half - exact)
        far = (exact + wider.to(torch.long)).clamp(max=half - 1)
        return (apart > 0).to(torch.long) * half + torch.where(distance < exact, distance, far)


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Residual(config.intermediate_size, config)

    def forward(self, states: Tensor, mask: Tensor | None, position_bias: Any) -> Tensor:
        attended = self.attention(states, mask, position_bias)[0]
        out: Tensor = self.output(self.intermediate(attended), attended)
        return out


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attn = Heads(config)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, mask: Tensor | None, position_bias: Tensor) -> tuple[Tensor]:
        return (self.LayerNorm(self.dropout(self.attn(states, mask, position_bias)) + states),)


class Heads(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.attention_head_size = width // config.num_attention_heads
        self.q, self.k, self.v, self.o = (Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, states: Tensor, mask: Tensor | None, position_bias: Tensor) -> Tensor:
        query, key, value = (
            layer(states).unflatten(-1, (-1, self.attention_head_size)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.attention_head_size)
        scores += position_bias
        if mask is not None:
            scores = scores + mask
        shares = self.dropout(scores.softmax(dim=-1))
        out: Tensor = self.o((shares @ value).transpose(1, 2).flatten(2))
        return out
