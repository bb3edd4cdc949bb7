"""The base of all classifier modules: what they return, and in which precision they compute."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from hybridal.models.encoders.batches import PackedBatch, PaddedBatch
from hybridal.models.encoders.layers import Build


class ClassifierOutput(NamedTuple):
    """What a classifier computes for each text.

    Attributes:
        logits: (texts, classes), float32.
        hidden: The pooled states of the encoder: their mean, or the first of them.
        embedding: The input of the last linear layer.
    """

    logits: Tensor
    hidden: Tensor
    embedding: Tensor


class ClassifierModule(nn.Module):  # type: ignore[misc]
    """Computes in the precision of its `build`, whatever autocast the caller is in.

    Subclasses implement `compute`, and have their last linear layer as `output_layer`.
    """

    def __init__(self, build: Build) -> None:
        super().__init__()
        self.build = build

    @property
    def output_layer(self) -> nn.Linear:
        """The last linear layer."""
        raise NotImplementedError

    def compute(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        """Encoder and head, in the precision of the context."""
        raise NotImplementedError

    def scaled_state(self, temperature: float) -> dict[str, Tensor]:
        """`state_dict()` with the last layer divided by a temperature; that layer is a copy."""
        last = {id(part) for part in self.output_layer.parameters()}
        state = self.state_dict(keep_vars=True).items()
        return {name: value.detach() / temperature if id(value) in last else value.detach() for name, value in state}

    def forward(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        with self.build.autocast(batch.inputs.device):
            output = self.compute(batch)
        return output._replace(logits=output.logits.float())
