"""A text classifier over the mean of all tokens of any encoder.

This file is copied into a model's folder, beside the weights, so that transformers can load the model with
`trust_remote_code=True` where hybridal is not installed. It must therefore import nothing of hybridal.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class PooledConfig(PreTrainedConfig):  # type: ignore[misc]
    """`body` is the encoder's own configuration."""

    # A name that transformers does not know: under the encoder's own, it would load a classifier with random weights.
    model_type = "hybridal-pooled"

    def __init__(self, body: dict[str, Any] | None = None, **others: Any) -> None:
        self.body = body or {}
        super().__init__(**others)


class PooledForSequenceClassification(PreTrainedModel):  # type: ignore[misc]
    """The encoder, the mean of what it says of a text's tokens, layer norm without weights, and one matrix."""

    config_class = PooledConfig
    base_model_prefix = "body"
    _supports_sdpa = True

    def __init__(self, config: PooledConfig) -> None:
        super().__init__(config)
        self.body = AutoModel.from_config(AutoConfig.for_model(**config.body))
        if getattr(self.body, "pooler", None) is not None:
            self.body.pooler = None  # reads the first token, for nobody
        self.classifier = nn.Linear(self.body.config.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_others: Any
    ) -> SequenceClassifierOutput:
        """What else a tokenizer may say of a text was not read in training either."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = self.body(input_ids=input_ids, attention_mask=mask).last_hidden_state
        shown = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * shown).sum(dim=1) / shown.sum(dim=1)
        logits = self.classifier(nn.functional.layer_norm(mean, (self.classifier.in_features,), eps=1e-12))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


# Asked to save such a model, transformers copies this file along and writes down where its classes are.
PooledConfig.register_for_auto_class()
PooledForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")
