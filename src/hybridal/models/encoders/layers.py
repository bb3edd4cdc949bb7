"""What all own encoders are built of. Modules and parameters have the names that transformers gives them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.errors import UserError
from hybridal.models.encoders.batches import PackedBatch, PaddedBatch

# What DistilBERT calls the sizes of an encoder.
_ALIASES = {
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
}


class Config(SimpleNamespace):
    """The content of `config.json`, with defaults filled in."""

    def __getattr__(self, name: str) -> Any:
        if name in _ALIASES and _ALIASES[name] in vars(self):
            return vars(self)[_ALIASES[name]]
        raise AttributeError(f"the configuration has no `{name}`")

    def to_diff_dict(self) -> dict[str, Any]:
        """For `config.json`; named as in transformers, so that both kinds of configuration can be exported."""
        return dict(vars(self))


class Linear(nn.Linear):  # type: ignore[misc]
    """A linear layer without initial weights: they are loaded or drawn later.

    Drawing them takes time, and torch's `meta` device, which also avoids it, imports a compiler.
    """

    def reset_parameters(self) -> None: ...


class Embedding(nn.Embedding):  # type: ignore[misc]
    """An embedding without initial weights, as `Linear`."""

    def reset_parameters(self) -> None: ...


@dataclass(frozen=True)
class Build:
    """How a classifier's modules are built.

    Attributes:
        dropout: Class of all dropout layers.
        linear: Class of the linear layers of the encoder.
        word_embedding: Class of the word embedding.
        first_token_only: The head reads only the first token of each text. The last layer then computes only that token
            of packed texts, and BERT gets its pooler.
        trained_layers: Number of top layers to train; the layers below and the embeddings are frozen. None trains all.
        product_bias: Compute MPNet's position bias as a matrix product. Its gradient is deterministic on a GPU; that of
            the lookup is not.
        matmul_dtype: Operands of matrix products and of attention are rounded to it. Weights, their gradients, layer
            norms and logits are float32 in any case.
    """

    dropout: type[nn.Dropout] = nn.Dropout
    linear: type[Linear] = Linear
    word_embedding: type[nn.Embedding] = Embedding
    first_token_only: bool = False
    trained_layers: int | None = None
    product_bias: bool = False
    matmul_dtype: torch.dtype = torch.float32

    def words(self, config: Config, width: int, padding: int) -> nn.Embedding:
        """The word embedding."""
        return self.word_embedding(config.vocab_size, width, padding_idx=padding)

    def autocast(self, device: Any) -> AbstractContextManager[Any]:
        """Use `matmul_dtype` inside; an autocast around it has no effect."""
        exact = self.matmul_dtype == torch.float32
        inside: AbstractContextManager[Any] = torch.autocast(
            device.type, dtype=None if exact else self.matmul_dtype, enabled=not exact
        )
        return inside


# Torch's own modules, everything trained.
PLAIN = Build()


class Encoder(nn.Module):  # type: ignore[misc]
    """Embeddings, then layers that map states (texts, tokens, width) to states.

    Subclasses set `config`, `build` and `embeddings`, and have their layers at `layers_path`. They call `freeze` at the
    end of their constructor.
    """

    config: Config
    build: Build
    embeddings: Any
    layers_path = "encoder.layer"
    # Whether the last layer of packed texts can compute first tokens only.
    shortens_last_layer = True
    # Whether the top layers can be trained without the others.
    separable = True

    @property
    def layers(self) -> list[nn.Module]:
        """From the bottom to the top."""
        stack: Any = self.get_submodule(self.layers_path)
        return list(stack)

    @property
    def width(self) -> int:
        """The number of features of a state."""
        return int(self.config.hidden_size)

    @property
    def frozen_layers(self) -> int:
        """The number of bottom layers that are not trained."""
        trained = self.build.trained_layers
        return 0 if trained is None else len(self.layers) - trained

    @property
    def frozen_modules(self) -> list[nn.Module]:
        """The modules that are not trained: embeddings and bottom layers, if any."""
        if self.build.trained_layers is None:
            return []
        return [self.embeddings, *self.layers[: self.frozen_layers]]

    def freeze(self) -> None:
        """Exclude the frozen modules from training.

        Raises:
            UserError: If `build.trained_layers` is more than there are, or if the layers cannot be separated.
        """
        trained = self.build.trained_layers
        if trained is not None and not self.separable:
            raise not_separable()
        if trained is not None and trained > len(self.layers):
            raise UserError(
                f"`train_layers` {trained} is more than the {len(self.layers)} layers of this backbone.",
                field="protocol.train_layers",
            )
        for module in self.frozen_modules:
            module.requires_grad_(False)

    def train(self, mode: bool = True) -> Encoder:
        """As in torch, but frozen modules never apply dropout."""
        super().train(mode)
        for module in self.frozen_modules:
            module.eval()
        return self

    def project(self, embedded: Tensor) -> Tensor:
        """Map embeddings to the width of the layers; most encoders have one width."""
        return embedded

    def shared_inputs(self, _states: Tensor, _batch: PaddedBatch | PackedBatch) -> Any:
        """What all layers get in addition to states and batch."""
        return None

    def forward(self, batch: PaddedBatch | PackedBatch) -> Tensor:
        """The states of the last layer.

        Returns:
            (texts, length, width) for padded texts, (1, tokens, width) for packed ones. With `build.first_token_only`,
            packed texts give (texts, 1, width).
        """
        layers = self.layers
        if batch.inputs.is_floating_point():
            states, layers = batch.inputs, layers[self.frozen_layers :]
        else:
            states = self.project(self.embeddings(batch))
        shared = self.shared_inputs(states, batch)
        starts = batch.starts if isinstance(batch, PackedBatch) and self.build.first_token_only else None
        for number, layer in enumerate(layers, start=1):
            shortened = starts is not None and self.shortens_last_layer and number == len(layers)
            states = layer(states[:, starts] if shortened else states, states, batch, shared)
        if starts is None:
            return states
        return (states if states.shape[1] == len(starts) else states[:, starts])[0][:, None]

    def frozen_states(self, ids: Tensor) -> Tensor:
        """The outputs of the frozen layers for one text, (tokens, width)."""
        batch = PaddedBatch(ids[None])
        states = self.project(self.embeddings(batch))
        for layer in self.layers[: self.frozen_layers]:
            states = layer(states, states, batch, None)
        return states[0]


def not_separable() -> UserError:
    """The error for an encoder whose top layers cannot be trained alone."""
    return UserError(
        "`train_layers` does not know the layers of this kind of backbone; leave it out.",
        field="protocol.train_layers",
    )


class EmbeddingSum(nn.Module):  # type: ignore[misc]
    """Words, token types and positions, added and normalised. Subclasses have the tables.

    `first_position` is the number of a text's first position in the position table.
    """

    first_position = 0

    def forward(self, batch: PaddedBatch | PackedBatch) -> Tensor:
        types = getattr(self, "token_type_embeddings", None)
        words = self.word_embeddings(batch.inputs)
        kinds = None if types is None else types(torch.zeros_like(batch.inputs))
        return self.combine(words, kinds, self.position_embeddings(self.positions(batch)))

    def combine(self, words: Tensor, types: Tensor | None, positions: Tensor) -> Tensor:
        """Add what was looked up; all texts are of the first token type."""
        embedded: Tensor = self.dropout(self.LayerNorm((words if types is None else words + types) + positions))
        return embedded

    def positions(self, batch: PaddedBatch | PackedBatch) -> Tensor:
        """Numbers for the position table."""
        if isinstance(batch, PackedBatch):
            return batch.positions + self.first_position
        ids = batch.inputs
        if self.first_position == 0:  # one row for all texts
            return torch.arange(ids.shape[1], device=ids.device)[None]
        padding = self.first_position - 1
        visible = ids.ne(padding).int()
        return (torch.cumsum(visible, dim=1) * visible).long() + padding


class Intermediate(nn.Module):  # type: ignore[misc]
    """The first half of a feed-forward block."""

    def __init__(self, config: Config, build: Build) -> None:
        super().__init__()
        self.dense = build.linear(config.hidden_size, config.intermediate_size)

    def forward(self, states: Tensor) -> Tensor:
        return nn.functional.gelu(self.dense(states))


class Residual(nn.Module):  # type: ignore[misc]
    """LayerNorm(dropout(W x + b) + residual)."""

    def __init__(self, inputs: int, config: Config, build: Build) -> None:
        super().__init__()
        self.dense = build.linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = build.dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, residual: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(states)) + residual)
        return out


def split_heads(states: Tensor, heads: int) -> Tensor:
    """(texts, tokens, width) to (texts, heads, tokens, head width)."""
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)
