"""MPNet, whose layers do not ask the library for their attention, and share a bias by how far apart two tokens are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hybridal.models.encoders.packed_attention import attend

if TYPE_CHECKING:
    from hybridal.models.encoders.packing import Packed


@dataclass
class _Call:
    """The texts of the call under way, where they are packed: the library's layers do not hand them on."""

    packed: Packed | None = None


def teach_mpnet(module: Any, first_tokens: bool) -> None:
    """Makes its attention understand packed texts, and masks that say which tokens to look at."""
    encoder, call = module.base_model.encoder, _Call()
    module.register_forward_pre_hook(partial(_remember, call), with_kwargs=True)
    module.register_forward_hook(partial(_forget, call), always_call=True)
    encoder.compute_position_bias = partial(_shared_bias, encoder, call)
    *lower, last = (layer.attention for layer in encoder.layer)
    for attention in (*lower, last):
        attention.forward = partial(_attention, attention, call, first_tokens and attention is last)
    if first_tokens:
        encoder.register_forward_hook(partial(_one_row_a_text, call))


def _remember(call: _Call, _module: nn.Module, _args: Any, kwargs: dict[str, Any]) -> None:
    call.packed = kwargs.get("packed")


def _forget(call: _Call, _module: nn.Module, _args: Any, _output: Any) -> None:
    call.packed = None


def _shared_bias(encoder: Any, call: _Call, states: Tensor) -> Tensor | dict[int, Tensor]:
    """Of all layers: of packed texts, (heads, queries, keys) by length; else that of a batch."""
    if call.packed is None:
        return _bias(encoder, states.shape[1], states.device)[None]
    whole = _bias(encoder, max(call.packed.lengths), states.device)
    return {length: whole[:, :length, :length] for length in set(call.packed.lengths)}


def _bias(encoder: Any, length: int, device: Any) -> Tensor:
    """(heads, length, length). As a product, whose gradient adds up in the same order each time, and is fast."""
    weight = encoder.relative_attention_bias.weight
    places: Any = torch.arange(length, device=device)
    buckets = encoder.relative_position_bucket(places[None, :] - places[:, None])
    chosen = buckets[..., None] == torch.arange(len(weight), device=device)
    return (chosen.to(weight.dtype) @ weight).permute(2, 0, 1)


def _attention(
    attention: Any,
    call: _Call,
    of_first_tokens: bool,
    hidden: Tensor,
    mask: Tensor | None = None,
    position_bias: Any = None,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Attention and its residual; `of_first_tokens`, where nothing above reads any other token of a packed text."""
    if call.packed is None:
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=hidden.dtype).masked_fill(~mask, torch.finfo(hidden.dtype).min)
        padded: tuple[Tensor, ...] = type(attention).forward(attention, hidden, mask, position_bias, **others)
        return padded
    asking = hidden[:, call.packed.starts] if of_first_tokens else hidden
    heads = _packed_heads(attention.attn, asking[0], hidden[0], call.packed.lengths, position_bias)
    return (attention.LayerNorm(attention.dropout(attention.attn.o(heads[None])) + asking),)


def _packed_heads(
    inner: Any, asking: Tensor, tokens: Tensor, lengths: list[int], biases: Mapping[int, Tensor]
) -> Tensor:
    query, key, value = (
        layer(states).unflatten(-1, (-1, inner.attention_head_size)).transpose(0, 1)
        for layer, states in ((inner.q, asking), (inner.k, tokens), (inner.v, tokens))
    )
    dropout = inner.dropout.p if inner.training else 0.0
    return attend(query * inner.attention_head_size**-0.5, key, value, lengths, dropout, biases).flatten(1)


def _one_row_a_text(call: _Call, _module: nn.Module, _args: Any, output: Any) -> Any:
    """Above the layers there is one row a text, as in a padded batch."""
    if call.packed is not None:
        output.last_hidden_state = output.last_hidden_state[0][:, None]
    return output
