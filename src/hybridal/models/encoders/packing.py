"""The texts of a batch end to end, without padding: every layer but attention sees no text boundaries anyway.

On a processor, time goes with the number of tokens, and a random batch of short texts is nearly half padding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.models.encoders.bert import Bert
from hybridal.models.encoders.dropout import lighten_dropout
from hybridal.models.encoders.mpnet_packing import teach_mpnet
from hybridal.models.encoders.packed_attention import attend
from hybridal.models.encoders.word_embedding import Lookup
from hybridal.models.text_source import Source

NAME = "hybridal_packed"
# Encoders whose attention goes through the library's interface, and whose positions are numbers that we may give.
KNOWN = ("bert", "distilbert", "roberta", "xlm-roberta", "camembert", "electra")
# Encoders with attention of their own, which we know.
OWN_ATTENTION = ("mpnet",)


@dataclass(frozen=True)
class Packed:
    """One row of all tokens; `spans` are the texts in it."""

    values: Tensor
    positions: Tensor
    spans: list[tuple[int, int]]

    @property
    def starts(self) -> list[int]:
        return [start for start, _ in self.spans]

    @property
    def lengths(self) -> list[int]:
        return [end - start for start, end in self.spans]

    def means(self, tokens: Tensor) -> Tensor:
        """The mean of each text's rows, where `tokens` has a row a token."""
        lengths: Any = torch.tensor(self.lengths)
        text_of = torch.arange(len(lengths)).repeat_interleave(lengths)
        sums = tokens.new_zeros(len(lengths), tokens.shape[1]).index_add(0, text_of, tokens)
        return sums / lengths[:, None]


def pack(source: Source, rows: Ints) -> Packed:
    """These texts, one after the other."""
    ends = np.cumsum(source.lengths(rows)).tolist()
    spans = list(zip([0, *ends], ends, strict=False))
    positions = np.concatenate([np.arange(end - start) for start, end in spans])
    return Packed(torch.from_numpy(source.joined(rows))[None], torch.from_numpy(positions)[None], spans)


def familiar(module: Any) -> bool:
    """Whether a model's layers are known to us, and its attention takes masks and positions as they are given."""
    config = module.config
    causal = getattr(config, "is_decoder", False)  # where a token must not see those after it
    asks_the_library = config.model_type in KNOWN and config._attn_implementation == "sdpa"
    return (asks_the_library or config.model_type in OWN_ATTENTION) and not causal


def teach_masks(module: Any) -> None:
    """Makes a familiar model take a mask over (texts, heads, queries, keys), true where a token is to be looked at."""
    if module.config.model_type in OWN_ATTENTION:
        teach_mpnet(module, first_tokens=False)


def teach_packing(module: Any, first_tokens: bool = True) -> bool:
    """Makes a model understand packed texts; False where its kind does not allow it.

    `first_tokens` says that its head reads the first token of a text alone, so that the last layer need not do more.
    """
    if not familiar(module):
        return False
    if words := getattr(module.base_model.embeddings, "word_embeddings", None):  # a frozen trunk took them away
        words.forward = Lookup(words)
    lighten_dropout(module)
    if module.config.model_type in OWN_ATTENTION:
        teach_mpnet(module, first_tokens)
    elif not isinstance(module.base_model, Bert):  # which knows
        _teach_attention(module, first_tokens)
    return True


def _teach_attention(module: Any, first_tokens: bool) -> None:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    module.set_attn_implementation(NAME)
    if not first_tokens:
        return
    layers = layer_stack(module)
    layers.register_forward_hook(_one_row_a_text, with_kwargs=True)
    attention: Any = getattr(layers.layer[-1], "attention", None)
    if hasattr(attention, "output"):  # its residual is its own affair, so that fewer tokens may leave it
        attention.forward = partial(_of_first_tokens, attention)


class Joined(Protocol):
    """Texts one after the other: as lists of a processor, or as numbers on a GPU."""

    @property
    def values(self) -> Tensor: ...

    @property
    def positions(self) -> Tensor: ...

    def means(self, tokens: Tensor) -> Tensor: ...


def packed_logits(module: Any, packed: Joined) -> Tensor:
    """What the model says of each text."""
    # Where positions start after the padding's, the embeddings know its number.
    offset = getattr(module.base_model.embeddings, "padding_idx", -1) + 1
    kinds = {} if module.config.model_type == "distilbert" else {"token_type_ids": torch.zeros_like(packed.positions)}
    given = "inputs_embeds" if packed.values.is_floating_point() else "input_ids"
    logits: Tensor = module(
        **{given: packed.values},
        position_ids=packed.positions + offset,
        attention_mask=torch.ones(1, 1, 1, 1),  # ready for use: the library leaves it alone, and so do we
        packed=packed,
        **kinds,
    ).logits
    return logits


def layer_stack(module: Any) -> Any:
    """The part of an encoder that holds its layers, one above the other, as `layer`."""
    base = module.base_model
    return base.transformer if hasattr(base, "transformer") else base.encoder


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packed: Packed | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention inside each text of a packed row; for any other batch, the library's own."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if packed is None:
        plain: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **others
        )
        return plain
    inputs = query[0] * (scaling or query.shape[-1] ** -0.5), key[0], value[0]
    return attend(*inputs, packed.lengths, dropout)[None], None


def _of_first_tokens(attention: Any, hidden: Tensor, *args: Any, packed: Packed | None = None, **others: Any) -> Any:
    """The last attention: above it only a text's first token is read, and all others need but be looked at."""
    if packed is None:
        return type(attention).forward(attention, hidden, *args, **others)
    inner, firsts = attention.self, hidden[:, packed.starts]
    query, key, value = (
        layer(tokens[0]).unflatten(-1, (-1, inner.attention_head_size)).transpose(0, 1)
        for layer, tokens in ((inner.query, firsts), (inner.key, hidden), (inner.value, hidden))
    )
    dropout = inner.dropout.p if inner.training else 0.0
    heads = attend(query * inner.scaling, key, value, packed.lengths, dropout)
    return attention.output(heads.flatten(1)[None], firsts), None


def _one_row_a_text(_module: nn.Module, _args: Any, kwargs: dict[str, Any], output: Any) -> Any:
    """Above the layers there is one row a text again, of its first token alone."""
    if (packed := kwargs.get("packed")) is not None:
        tokens = output.last_hidden_state[0]
        firsts = tokens if len(tokens) == len(packed.spans) else tokens[packed.starts]
        output.last_hidden_state = firsts[:, None]
    return output
