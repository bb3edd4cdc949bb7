"""A text classifier over the mean of all tokens of any encoder.

This file is copied into the folder of an exported model, so that transformers can load it with `trust_remote_code=True`
without hybridal. It must therefore import nothing of hybridal.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class PooledConfig(PreTrainedConfig):  # type: ignore[misc]
    """`body` is the encoder's own configuration."""

    # A name unknown to transformers: under the encoder's own, it would load a classifier with random weights.
    model_type = "hybridal-pooled"

    def __init__(self, body: dict[str, Any] | None = None, **others: Any) -> None:
        self.body = body or {}
        super().__init__(**others)


class PooledForSequenceClassification(PreTrainedModel):  # type: ignore[misc]
    """The encoder, the mean of its states, layer norm without weights, and one linear layer."""

    config_class = PooledConfig
    base_model_prefix = "body"
    _supports_sdpa = True

    def __init__(self, config: PooledConfig) -> None:
        super().__init__(config)
        self.body = AutoModel.from_config(AutoConfig.for_model(**config.body))
        if getattr(self.body, "pooler", None) is not None:
            self.body.pooler = None  # it reads the first token, and nothing reads it
        self.classifier = nn.Linear(self.body.config.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None, **_others: Any
    ) -> SequenceClassifierOutput:
        """Other outputs of a tokenizer are ignored, as in training."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = self.body(input_ids=input_ids, attention_mask=mask).last_hidden_state
        shown = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * shown).sum(dim=1) / shown.sum(dim=1)
        logits = self.classifier(nn.functional.layer_norm(mean, (self.classifier.in_features,), eps=1e-12))
        return SequenceClassifierOutput(loss=None if labels is None else self._loss(logits, labels), logits=logits)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.config.problem_type == "multi_label_classification":
            return nn.functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return nn.functional.cross_entropy(logits, labels)


# When such a model is saved, transformers copies this file and records where its classes are.
PooledConfig.register_for_auto_class()
PooledForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")
