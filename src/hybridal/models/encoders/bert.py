"""BERT's encoder as a module of our own: importing transformers' takes longer than a round on a GPU.

All is computed by the same operations in the same order as there, so that results are the same to the last bit,
dropout's draws included. It takes packed texts (`packing.py`) as they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hybridal.models.encoders.layers import Config, Embedding, Intermediate, Linear, Residual, Said, key_mask
from hybridal.models.encoders.packed_attention import attend

if TYPE_CHECKING:
    from hybridal.models.encoders.packing import Packed

# What a configuration means that does not say.
DEFAULTS = {
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


class Bert(nn.Module):  # type: ignore[misc]
    """Embeddings and layers, without a pooler."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.encoder = Layers(config)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        packed: Packed | None = None,
    ) -> Said:
        """`inputs_embeds` are for what stands in the embeddings' place (`trunk.py`)."""
        embedded = self.embeddings(input_ids if inputs_embeds is None else inputs_embeds, token_type_ids, position_ids)
        said: Said = self.encoder(embedded, key_mask(attention_mask, embedded), packed=packed)
        return said


class Embeddings(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.position_embeddings = Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        if position_ids is None:  # one row for all texts
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)[None]
        words = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        embedded: Tensor = self.dropout(self.LayerNorm(words + self.position_embeddings(position_ids)))
        return embedded


class Layers(nn.Module):  # type: ignore[misc]
    """`first_tokens` says that nothing above reads any other token: of packed texts, one row each comes out."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.first_tokens = False

    def forward(self, states: Tensor, mask: Tensor | None = None, packed: Packed | None = None) -> Said:
        if packed is None or not self.first_tokens:
            for layer in self.layer:
                states = layer(states, mask, packed)
            return Said(states)
        *lower, last = self.layer
        for layer in lower:
            states = layer(states, mask, packed)
        tokens = last(states, mask, packed, of_first_tokens=True)[0]
        firsts = tokens if len(tokens) == len(packed.spans) else tokens[packed.starts]  # a frozen layer says all
        return Said(firsts[:, None])


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Residual(config.intermediate_size, config)

    def forward(
        self,
        states: Tensor,
        mask: Tensor | None = None,
        packed: Packed | None = None,
        of_first_tokens: bool = False,
    ) -> Tensor:
        asking = states[:, packed.starts] if packed is not None and of_first_tokens else states
        attended = self.attention(asking, states, mask, packed)
        out: Tensor = self.output(self.intermediate(attended), attended)
        return out


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = Heads(config)
        self.output = Residual(config.hidden_size, config)

    def forward(self, asking: Tensor, states: Tensor, mask: Tensor | None, packed: Packed | None) -> Tensor:
        out: Tensor = self.output(self.self(asking, states, mask, packed), asking)
        return out


class Heads(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads, self.dropout = config.num_attention_heads, nn.Dropout(config.attention_probs_dropout_prob)
        self.query, self.key, self.value = (Linear(width, width) for _ in range(3))

    def forward(self, asking: Tensor, states: Tensor, mask: Tensor | None, packed: Packed | None) -> Tensor:
        """What those that ask gather from all."""
        query, key, value = (
            layer(tokens).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, tokens in ((self.query, asking), (self.key, states), (self.value, states))
        )
        rate, scale = self.dropout.p if self.training else 0.0, query.shape[-1] ** -0.5
        if packed is not None:
            return attend(query[0] * scale, key[0], value[0], packed.lengths, rate).flatten(1)[None]
        found = nn.functional.scaled_dot_product_attention(query, key, value, mask, rate, scale=scale)
        return found.transpose(1, 2).flatten(2)
