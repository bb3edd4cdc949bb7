"""A trained classifier: to be asked, saved and loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybridal.backbones import Backbone
from hybridal.backbones.backbone import ABOUT
from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.calibration import softmax
from hybridal.models.tokens import CHUNK, Tokens
from hybridal.system.files import folder_made_whole
from hybridal.tasks.store import TYPES
from hybridal.tasks.task import as_type


class TextClassifier:
    """What a learner has learnt: `learner.model`, or a folder that a run or `save` wrote.

    `classes` are in the order of the columns of `predict_proba`, and of the type that the labels had.
    """

    def __init__(
        self, classifier: Any, encoder: Any, classes: Sequence[Any], temperature: float, write: Callable[[Path], None]
    ) -> None:
        self.classes: tuple[Any, ...] = tuple(classes)
        self._classifier, self._encoder, self._temperature, self._write = classifier, encoder, temperature, write

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> TextClassifier:
        """The model of a folder. Its weights hold the temperature that was fitted, so that plain transformers gives
        the same probabilities.
        """
        from hybridal.models.classifier import Classifier
        from hybridal.models.device import choose_device
        from hybridal.models.portable import know_pooled

        folder = Path(folder)
        if not (folder / ABOUT).is_file():
            raise UserError(f"{folder} is not an exported model: it has no {ABOUT}; finish the run first.")
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if "pooling" not in about:
            raise UserError(f"{folder} was exported by an earlier edition; export its run again.")
        know_pooled()
        backbone, names = Backbone(folder.name, folder), tuple(about["classes"])
        classifier = Classifier(backbone, names, 0, choose_device(device), pooling=about["pooling"])
        kind = TYPES[about.get("labels", "str")]
        return cls(
            classifier,
            backbone.encoder(about["max_length"]),
            [as_type(kind, name) for name in names],
            1.0,
            lambda target: _copy(folder, target),
        )

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """(N, C): a row a text, a column a class in the order of `classes`."""
        from hybridal.models.evaluation import predict

        texts = list(texts)
        found = np.empty((len(texts), len(self.classes)))
        for start in range(0, len(texts), CHUNK):
            tokens = Tokens.of(self._encoder.encode(texts[start : start + CHUNK]), self._encoder.pad)
            source = self._classifier.source(tokens)
            logits = predict(self._classifier, source, np.arange(len(tokens))).logits
            found[start : start + len(tokens)] = softmax(logits, self._temperature)
        return found

    def predict(self, texts: Sequence[str]) -> list[Any]:
        """The likeliest class of each text."""
        return [self.classes[best] for best in self.predict_proba(texts).argmax(axis=1)]

    def save(self, folder: str | Path) -> Path:
        """Writes a folder that `load` and transformers read."""
        self._write(Path(folder))
        return Path(folder)

    def save_onnx(self, folder: Path) -> Path:
        """Writes the same model as `model.onnx` into a folder."""
        found: Path = self._classifier.save_onnx(self._encoder, folder, self._temperature)
        return found


def _copy(folder: Path, target: Path) -> None:
    with folder_made_whole(target) as scratch:
        shutil.copytree(folder, scratch, dirs_exist_ok=True)
