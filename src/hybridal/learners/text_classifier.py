"""An exported model, loaded to be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybridal.backbones import Backbone
from hybridal.backbones.backbone import ABOUT
from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.calibration import softmax
from hybridal.models.tokens import CHUNK, Tokens


class SavedModel:
    """The model folder of a finished run. Its weights hold the temperature that was fitted, so that plain transformers
    gives the same probabilities.
    """

    def __init__(self, folder: Path, device: str = "auto") -> None:
        from hybridal.models.classifier import Classifier
        from hybridal.models.device import choose_device
        from hybridal.models.portable import know_pooled

        if not (folder / ABOUT).is_file():
            raise UserError(f"{folder} is not an exported model: it has no {ABOUT}; finish the run first.")
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        backbone = Backbone(folder.name, folder)
        self.classes: tuple[str, ...] = tuple(about["classes"])
        if "pooling" not in about:
            raise UserError(f"{folder} was exported by an earlier edition; export its run again.")
        know_pooled()
        self._encoder = backbone.encoder(about["max_length"])
        self._classifier = Classifier(backbone, self.classes, 0, choose_device(device), pooling=about["pooling"])

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """(N, C): a row a text, a column a class in the order of `classes`."""
        from hybridal.models.evaluation import predict

        found = np.empty((len(texts), len(self.classes)))
        for start in range(0, len(texts), CHUNK):
            tokens = Tokens.of(self._encoder.encode(texts[start : start + CHUNK]), self._encoder.pad)
            logits = predict(self._classifier, tokens, np.arange(len(tokens))).logits
            found[start : start + len(tokens)] = softmax(logits)
        return found

    def save_onnx(self, folder: Path) -> Path:
        """Writes the same model as `model.onnx` into a folder."""
        return self._classifier.save_onnx(self._encoder, folder)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The likeliest class of each text."""
        return [self.classes[best] for best in self.predict_proba(texts).argmax(axis=1)]
