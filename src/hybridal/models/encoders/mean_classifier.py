"""A classifier over the mean of an encoder's last states, normalised, under one linear layer.

Encoders that were trained to compare texts are read by that mean; transformers' own heads read the first token.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from hybridal.models.encoders.batches import Batch, PackedBatch, PaddedBatch
from hybridal.models.encoders.classifier_module import ClassifierModule, ClassifierOutput
from hybridal.models.encoders.layers import Build

# The variance is many orders of magnitude larger; this only prevents a division by zero.
EPSILON = 1e-12


class MeanClassifier(ClassifierModule):
    """Encoder, mean over tokens, layer norm without weights, dropout, linear layer.

    Layer norm gives features of short and long texts the same length. It is also the last step of an encoder's own
    layers, so that the whole can be exported as one more layer of them (`native_export.py`).
    """

    def __init__(self, body: Any, classes: int, build: Build) -> None:
        super().__init__(build)
        self.body, self.config = body, body.config
        self.dropout = build.dropout(_dropout_rate(body.config))
        self.classifier = nn.Linear(body.width, classes)

    @property
    def output_layer(self) -> nn.Linear:
        return self.classifier

    def compute(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        return self.classify(self.body(batch), batch)

    def classify(self, states: Tensor, batch: Batch) -> ClassifierOutput:
        """The head alone, over the encoder's states."""
        hidden = batch.means(states.float())
        embedding = self.dropout(normalised(hidden))
        return ClassifierOutput(self.classifier(embedding), hidden, embedding)


def normalised(features: Tensor) -> Tensor:
    """Zero mean and unit variance over each text's features: a length of √width."""
    return nn.functional.layer_norm(features, features.shape[-1:], eps=EPSILON)


def _dropout_rate(config: Any) -> float:
    """The rate of the architecture's own heads, under any of its names."""
    names = ("classifier_dropout", "seq_classif_dropout", "hidden_dropout_prob", "dropout")
    found = [getattr(config, name, None) for name in names]
    return next((float(value) for value in found if value is not None), 0.1)
