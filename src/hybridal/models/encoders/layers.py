"""What the encoders of ours are built of. Modules have the names that they have in transformers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Config(SimpleNamespace):
    """What `config.json` says, with the defaults."""

    _attn_implementation = "sdpa"  # as transformers calls it

    def to_diff_dict(self) -> dict[str, Any]:
        """For `config.json` again."""
        return dict(vars(self))


class Said(NamedTuple):
    """What the layers say; the rest is what transformers' models look for, and do not find."""

    last_hidden_state: Tensor
    past_key_values: None = None
    hidden_states: None = None
    attentions: None = None
    cross_attentions: None = None


class Linear(nn.Linear):  # type: ignore[misc]
    """Its weights come from a file: to draw some first takes time, and a `meta` device for them imports a compiler."""

    def reset_parameters(self) -> None: ...


class Embedding(nn.Embedding):  # type: ignore[misc]
    """As `Linear`."""

    def reset_parameters(self) -> None: ...


class Intermediate(nn.Module):  # type: ignore[misc]
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = Linear(config.hidden_size, config.intermediate_size)

    def forward(self, states: Tensor) -> Tensor:
        return nn.functional.gelu(self.dense(states))


class Residual(nn.Module):  # type: ignore[misc]
    """A product, added to what there was before."""

    def __init__(self, wide: int, config: Config) -> None:
        super().__init__()
        self.dense = Linear(wide, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, before: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(self.dropout(self.dense(states)) + before)
        return out


def key_mask(mask: Tensor | None, states: Tensor) -> Tensor | None:
    """One over (texts, keys) as attention takes it, or none where all is shown; one over heads and queries as it is."""
    if mask is None or mask.ndim == 4:
        return mask
    shown = mask.to(device=states.device, dtype=torch.bool)
    return None if shown.all() else shown[:, None, None].expand(-1, -1, states.shape[1], -1)
