"""A classifier that reads every token: the mean of an encoder's last states, normalised, under one linear layer.

Encoders that were trained to compare texts speak through that mean; transformers' own heads read the first token.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hybridal.backbones.exported import was_exported
from hybridal.models.encoders.own_encoders import encoder_of
from hybridal.models.encoders.quiet_transformers import quiet
from hybridal.models.encoders.saved_model import Saved
from hybridal.models.export.portable_export import load_portable

if TYPE_CHECKING:
    from hybridal.models.encoders.packing import Joined

# The mean is many orders of magnitude larger; this only keeps a division from failing.
TINY = 1e-12


class PooledClassifier(nn.Module):  # type: ignore[misc]
    """Encoder, mean over tokens, layer norm without weights of its own, dropout, linear layer.

    Layer norm gives features one length for texts short and long; it is also what an encoder's own layers end with, so
    that the whole can be written as one more layer of them (`plain.py`).
    """

    def __init__(self, body: Any, classes: int) -> None:
        super().__init__()
        self.body, self.config = body, body.config
        self.mean = Mean()
        self.dropout = nn.Dropout(_dropout(body.config))
        self.classifier = nn.Linear(body.config.hidden_size, classes)

    @property
    def base_model(self) -> Any:
        return self.body

    def set_attn_implementation(self, name: str) -> None:
        self.body.set_attn_implementation(name)

    def forward(self, attention_mask: Tensor, packed: Joined | None = None, **inputs: Any) -> Any:
        together = {} if packed is None else {"packed": packed}
        states = self.body(attention_mask=attention_mask, **together, **inputs).last_hidden_state
        features = normalised(self.mean(states.float(), attention_mask, packed))
        return SimpleNamespace(logits=self.classifier(self.dropout(features)))


class Mean(nn.Module):  # type: ignore[misc]
    """The mean state of each text's own tokens; a module, so that it can be listened to."""

    def forward(self, states: Tensor, mask: Tensor, packed: Joined | None) -> Tensor:
        if packed is not None:
            return packed.means(states[0])
        # A mask over (texts, 1, 1, keys) is one over (texts, keys) that attention takes as it is.
        shown = mask.flatten(1).to(states.dtype)
        return (states * shown[:, :, None]).sum(1) / shown.sum(1, keepdim=True)


def normalised(features: Tensor) -> Tensor:
    """Zero mean and unit variance over each text's features: a length of √H."""
    return nn.functional.layer_norm(features, features.shape[-1:], eps=TINY)


def load_pooled(folder: Path, classes: Sequence[str]) -> tuple[PooledClassifier, list[str]]:
    """The encoder of a folder under its head, and the names of what is still to be drawn.

    What hybridal exported is taken apart again; its head serves where it has these classes.
    """
    exported = was_exported(folder)
    (body, weight, bias), missing = (load_portable(folder), []) if exported else _encoder(folder)
    if getattr(body, "pooler", None) is not None:
        body.pooler = None  # reads the first token, for nobody
    module = PooledClassifier(body, len(classes))
    if weight is None or len(weight) != len(classes):
        drawn = [f"body.{name}" for name in missing if not name.startswith("pooler.")]
        return module, [*drawn, "classifier.weight", "classifier.bias"]
    module.classifier.load_state_dict({"weight": weight, "bias": bias})
    return module, []


def _encoder(folder: Path) -> tuple[tuple[Any, None, None], list[str]]:
    """Ours where we know it, without transformers; else whatever that makes of the folder, and what it did not find."""
    saved = Saved.read(folder)
    if saved is not None and (body := encoder_of(saved)) is not None:
        return (body, None, None), []
    from transformers import AutoModel

    with quiet():
        body, found = AutoModel.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    return (body, None, None), [*found["missing_keys"]]


def _dropout(config: Any) -> float:
    """What the architecture's own heads use, under any of its names."""
    names = ("classifier_dropout", "seq_classif_dropout", "hidden_dropout_prob", "dropout")
    found = [getattr(config, name, None) for name in names]
    return next((float(value) for value in found if value is not None), 0.1)
