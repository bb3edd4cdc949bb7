"""A model folder in transformers' format: its configuration and its weights by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from torch import Tensor

from hybridal.system.files import strict_json

Weights = dict[str, Tensor]

CONFIG, WEIGHTS = "config.json", "model.safetensors"


@dataclass(frozen=True)
class SavedModel:
    config: dict[str, Any]
    weights: Weights

    @classmethod
    def read(cls, folder: Path) -> SavedModel | None:
        """Read a folder; None if its weights are not in one complete safetensors file. Tensors are mapped from it."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        # An adapter would change the weights.
        if not (folder / WEIGHTS).is_file() or (folder / "adapter_config.json").is_file():
            return None
        try:
            weights = load_file(folder / WEIGHTS)
        except SafetensorError:
            return None
        return cls(json.loads((folder / CONFIG).read_text(encoding="utf-8")), weights)

    @classmethod
    def of(cls, model: Any) -> SavedModel:
        """A model of transformers that is loaded."""
        return cls(model.config.to_diff_dict(), model.state_dict())

    def write(self, folder: Path) -> None:
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(strict_json(self.config, indent=2) + "\n", encoding="utf-8")
        save_file(self.weights, folder / WEIGHTS, {"format": "pt"})


def classifier_fields(kind: str, classes: Sequence[str]) -> dict[str, Any]:
    """The part of a classifier's configuration that does not describe its encoder."""
    return {
        "architectures": [kind],
        **class_fields(classes),
        "problem_type": "single_label_classification",
        "dtype": "float32",
        "transformers_version": version("transformers"),
    }


def class_fields(classes: Sequence[str]) -> dict[str, Any]:
    """The fields of a configuration that name the classes.

    >>> class_fields(["bad", "good"])
    {'id2label': {0: 'bad', 1: 'good'}, 'label2id': {'bad': 0, 'good': 1}}
    """
    return {"id2label": dict(enumerate(classes)), "label2id": {name: i for i, name in enumerate(classes)}}
