"""Encoders without a module of our own: transformers' modules, which read padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.encoders.classifier_output import ClassifierOutput
from hybridal.models.process_settings import quiet_transformers


class ForeignEncoder(nn.Module):  # type: ignore[misc]
    """Any encoder of transformers as a body for `MeanClassifier`."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # it reads the first token, and nothing reads it
        self.model, self.config = model, model.config

    @property
    def width(self) -> int:
        """The number of features of a state."""
        return int(self.config.hidden_size)

    def forward(self, batch: PaddedBatch) -> Tensor:
        states: Tensor = self.model(input_ids=batch.inputs, attention_mask=batch.mask).last_hidden_state
        return states


class ForeignClassifier(nn.Module):  # type: ignore[misc]
    """Any classifier of transformers; what its head reads is observed by hooks, since heads differ."""

    def __init__(self, model: Any, classes: Sequence[str]) -> None:
        super().__init__()
        self.model, self.config = model, model.config
        linear = [m for m in model.modules() if isinstance(m, nn.Linear) and m.out_features == len(classes)]
        self._output_layer = [linear[-1]]  # in a list, so that it is not registered a second time
        self._seen: dict[str, Tensor] = {}
        model.base_model.register_forward_hook(self._see_states)
        linear[-1].register_forward_pre_hook(self._see_embedding)

    @property
    def output_layer(self) -> Any:
        """The last linear layer."""
        return self._output_layer[0]

    def forward(self, batch: PaddedBatch) -> ClassifierOutput:
        logits = self.model(input_ids=batch.inputs, attention_mask=batch.mask).logits
        return ClassifierOutput(logits, self._seen.pop("hidden"), self._seen.pop("embedding"))

    def save(self, folder: Any) -> None:
        """Write what `from_pretrained` reads."""
        with quiet_transformers():
            self.model.save_pretrained(folder)

    def _see_states(self, _module: Any, _inputs: Any, output: Any) -> None:
        self._seen["hidden"] = output[0][:, 0]

    def _see_embedding(self, _module: Any, inputs: Any) -> None:
        self._seen["embedding"] = inputs[0]
