"""An exported model, loaded to be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybridal.backbones import Backbone
from hybridal.calibration import softmax
from hybridal.errors import UserError
from hybridal.export import ABOUT
from hybridal.outputs import Floats
from hybridal.tokens import CHUNK, Tokens


class SavedModel:
    """The model folder of a finished run. Its probabilities are scaled by the temperature fitted on validation."""

    def __init__(self, folder: Path, device: str = "auto") -> None:
        from hybridal.model.classifier import Classifier
        from hybridal.model.device import choose_device

        if not (folder / ABOUT).is_file():
            raise UserError(f"{folder} is not an exported model: it has no {ABOUT}; finish the run first.")
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        backbone = Backbone(folder.name, folder)
        self.classes: tuple[str, ...] = tuple(about["classes"])
        self.temperature: float = about["temperature"] or 1.0
        self._encoder = backbone.encoder(about["max_length"])
        self._classifier = Classifier(backbone, self.classes, 0, choose_device(device))

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """(N, C): a row a text, a column a class in the order of `classes`."""
        from hybridal.model.evaluation import predict

        found = np.empty((len(texts), len(self.classes)))
        for start in range(0, len(texts), CHUNK):
            tokens = Tokens.of(self._encoder.encode(texts[start : start + CHUNK]), self._encoder.pad)
            logits = predict(self._classifier, tokens, np.arange(len(tokens))).logits
            found[start : start + len(tokens)] = softmax(logits, self.temperature)
        return found

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The likeliest class of each text."""
        return [self.classes[best] for best in self.predict_proba(texts).argmax(axis=1)]
