"""Recorded graphs of one classifier: what `hybridal.models.acceleration` hands out."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from torch import Tensor

from hybridal.core.outputs import Ints, Outputs
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier
from hybridal.models.encoders.batches import PaddedBatch
from hybridal.models.encoders.classifier_module import ClassifierOutput
from hybridal.models.gpu import graph_gradients, graph_passes
from hybridal.models.gpu.graph_recorder import Recorder
from hybridal.models.gpu.graph_steps import GraphSteps
from hybridal.models.token_arrays import Progress, Tokens
from hybridal.models.training.losses import CROSS_ENTROPY, Loss

if TYPE_CHECKING:
    from hybridal.models.gpu.fused_encoder import FusedEncoder


class CudaGraphs:
    """Steps and forward passes of one classifier as recorded graphs.

    Args:
        classifier: On a CUDA device, with an encoder of our own.
        recorder: Records and keeps the graphs.
        fused_encoder: Kernels for the encoder's layers; without them batches are padded and torch's own kernels run.
    """

    def __init__(self, classifier: Classifier, recorder: Recorder, fused_encoder: FusedEncoder | None = None) -> None:
        self.classifier, self.recorder, self.fused_encoder = classifier, recorder, fused_encoder

    def weights_changed(self) -> None:
        """Must be called after the classifier's weights were written from elsewhere."""
        if self.fused_encoder is not None:
            self.fused_encoder.refresh()

    def steps(self, rules: Rules, loss: Loss = CROSS_ENTROPY) -> GraphSteps:
        """Optimiser steps; graphs, once recorded, serve all rounds with the same weight decay and loss."""
        return self.recorder.cached(("steps", rules.weight_decay, loss), lambda: GraphSteps(self, rules, loss))

    def predict(self, tokens: Tokens, rows: Ints, features: bool, progress: Progress, batch_invariant: bool) -> Outputs:
        """As `training.forward_passes.predict`."""
        return graph_passes.predict(self, tokens, rows, features, progress, batch_invariant)

    def gradient_norm(self, tokens: Tokens, rows: Ints, labels: Ints, loss: Loss = CROSS_ENTROPY) -> float:
        """As `training.forward_passes.gradient_norm`."""
        return graph_gradients.gradient_norm(self, tokens, rows, labels, loss)

    def run_padded(self, ids: Tensor, mask: Tensor) -> ClassifierOutput:
        """Texts in rows of one length; the mask is boolean, (texts, 1, 1, length)."""
        return self.classifier.run(PaddedBatch(ids, mask))

    def run_row(self, inputs: Tensor, texts: int, longest: int) -> ClassifierOutput:
        """Texts in one row without padding, for a classifier with a fused encoder."""
        from hybridal.models.gpu.token_row import TokenRow

        assert self.fused_encoder is not None
        row = TokenRow.of(inputs, texts, longest, first_tokens=self.classifier.pooling == "first")
        return self.fused_encoder.run(row)


def cuda_graphs(classifier: Classifier) -> CudaGraphs:
    """The graphs of a classifier, with our own kernels if all its layers are trained."""
    recorder = Recorder(classifier.device.torch)
    return CudaGraphs(classifier, recorder, None if classifier.encoder.frozen_modules else fused_encoder_of(classifier))


def fused_encoder_of(classifier: Classifier) -> FusedEncoder | None:
    """Our own kernels, if Triton is installed: torch's builds for CUDA bring it."""
    if importlib.util.find_spec("triton") is None:
        return None
    from hybridal.models.gpu.fused_encoder import FusedEncoder

    return FusedEncoder(classifier.module)
