"""Uniform names for the parts of a layer, and the layout of all weights in few arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Parts:
    """The modules of one layer, under the same names for all architectures."""

    queries: nn.Linear
    keys: nn.Linear
    values: nn.Linear
    out: nn.Linear
    middle_norm: nn.LayerNorm
    up: nn.Linear
    down: nn.Linear
    last_norm: nn.LayerNorm

    @property
    def matrices(self) -> list[nn.Linear]:
        return [self.queries, self.keys, self.values, self.out, self.up, self.down]

    @property
    def norms(self) -> list[Tensor]:
        return [vector for norm in (self.middle_norm, self.last_norm) for vector in (norm.weight, norm.bias)]

    @property
    def biases(self) -> list[Tensor]:
        return [layer.bias for layer in self.matrices]


@dataclass(frozen=True)
class Vectors:
    """The vectors of a layer: views of an array, or slices of it."""

    middle_gain: Any
    middle_bias: Any
    last_gain: Any
    last_bias: Any
    qkv: Any
    out: Any
    up: Any
    down: Any


def parts_of(layer: Any) -> Parts:
    """The modules of a layer of one of our own encoders."""
    attention = layer.attention
    if hasattr(attention, "attn"):  # MPNet
        inner = attention.attn
        return Parts(inner.q, inner.k, inner.v, inner.o, attention.LayerNorm,
                     layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm)  # fmt: skip
    if hasattr(attention, "q_lin"):  # DistilBERT
        return Parts(attention.q_lin, attention.k_lin, attention.v_lin, attention.out_lin, layer.sa_layer_norm,
                     layer.ffn.lin1, layer.ffn.lin2, layer.output_layer_norm)  # fmt: skip
    inner, after = attention.self, attention.output
    return Parts(inner.query, inner.key, inner.value, after.dense, after.LayerNorm,
                 layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm)  # fmt: skip


def vector_slices(parts: Sequence[Parts]) -> list[Vectors]:
    """The slice of each vector of each layer."""
    norms = [len(vector) for part in parts for vector in part.norms]
    biases = [size for part in parts for size in _bias_sizes(part)]
    where = list(starmap(slice, pairwise(accumulate([*norms, *biases], initial=0))))
    each = len(where) // len(parts) // 2  # norms and biases have the same number of vectors
    starts = range(0, each * len(parts), each)
    return [Vectors(*where[n : n + each], *where[len(norms) + n : len(norms) + n + each]) for n in starts]


def _bias_sizes(part: Parts) -> list[int]:
    queries, keys, values, *others = map(len, part.biases)
    return [queries + keys + values, *others]


def flatten_parameters(module: nn.Module, names: Sequence[str]) -> Tensor:
    """The values of these parameters one after the other; the module gets parameters that are views of the array."""
    before = [module.get_parameter(name) for name in names]
    array = torch.cat([parameter.detach().flatten() for parameter in before])
    module.load_state_dict(dict(zip(names, views_like(array, before), strict=True)), strict=False, assign=True)
    return array


def views_like(array: Tensor, shaped: Sequence[Any]) -> list[Tensor]:
    """Views of an array, in the shapes of these parameters."""
    cut = array.split([parameter.numel() for parameter in shaped])
    return [piece.view(parameter.shape) for parameter, piece in zip(shaped, cut, strict=True)]
