"""Encoders without a module of our own: transformers' modules, which read padded batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from hybridal.models.encoders.batches import PackedBatch, PaddedBatch
from hybridal.models.encoders.classifier_module import ClassifierModule, ClassifierOutput
from hybridal.models.encoders.layers import Build
from hybridal.models.encoders.saved_model import CONFIG, class_fields
from hybridal.models.process_settings import quiet_transformers
from hybridal.system.files import strict_json


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


class ForeignClassifier(ClassifierModule):
    """Any classifier of transformers; what its head reads is observed by hooks, since heads differ."""

    def __init__(self, model: Any, classes: Sequence[str], build: Build) -> None:
        super().__init__(build)
        self.model, self.config = model, model.config
        linear = [m for m in model.modules() if isinstance(m, nn.Linear) and m.out_features == len(classes)]
        self._output_layer = [linear[-1]]  # in a list, so that it is not registered a second time
        self._seen: dict[str, Tensor] = {}
        model.base_model.register_forward_hook(self._see_states)
        linear[-1].register_forward_pre_hook(self._see_embedding)

    @property
    def output_layer(self) -> Any:
        return self._output_layer[0]

    def compute(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        assert isinstance(batch, PaddedBatch)
        logits = self.model(input_ids=batch.inputs, attention_mask=batch.mask).logits
        return ClassifierOutput(logits, self._seen.pop("hidden"), self._seen.pop("embedding"))

    def save(self, folder: Path, classes: Sequence[str], temperature: float) -> None:
        """Write what `from_pretrained` reads; weights and class names of the module are not changed."""
        state = {name.removeprefix("model."): value for name, value in self.scaled_state(temperature).items()}
        with quiet_transformers():
            self.model.save_pretrained(folder, state_dict=state)
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        config |= class_fields(classes)
        (folder / CONFIG).write_text(strict_json(config, indent=2) + "\n", encoding="utf-8")

    def _see_states(self, _module: Any, _inputs: Any, output: Any) -> None:
        self._seen["hidden"] = output[0][:, 0]

    def _see_embedding(self, _module: Any, inputs: Any) -> None:
        self._seen["embedding"] = inputs[0]
