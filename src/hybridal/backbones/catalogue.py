"""The named backbones, and limits of encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridal.errors import UserError


@dataclass(frozen=True)
class Limits:
    """Number of layers and maximum number of tokens of an encoder; None if its configuration does not say.

    >>> Limits("mine", 6, 512).check(128, train_layers=2)
    """

    name: str
    layers: int | None
    positions: int | None

    def check(self, max_length: int, train_layers: int | None = None) -> None:
        """Refuse a text length or a number of trained layers that the encoder does not have.

        Raises:
            UserError: If `max_length` or `train_layers` is too large.
        """
        if self.positions is not None and max_length > self.positions:
            raise UserError(
                f"`max_length` is {max_length}, but backbone '{self.name}' reads {self.positions} tokens at most.",
                field="protocol.max_length",
            )
        if train_layers is not None and self.layers is not None and train_layers > self.layers:
            raise UserError(
                f"`train_layers` is {train_layers}, but backbone '{self.name}' has {self.layers} layers.",
                field="protocol.train_layers",
            )


@dataclass(frozen=True)
class Entry:
    """What is known about a named backbone before it is downloaded."""

    about: str
    layers: int
    positions: int


CATALOGUE: Mapping[str, Entry] = {
    "minilm": Entry("MiniLM of sentence-transformers, 6 layers, 23 million weights; English; the default.", 6, 512),
    "mpnet": Entry("MPNet of sentence-transformers, 12 layers, 109 million weights; English.", 12, 512),
    "tiny": Entry("2 layers with random weights and a vocabulary of the task's words; for tests and dry runs.", 2, 512),
    "distilbert": Entry("DistilBERT base, uncased, 6 layers, 66 million weights; English; from the hub.", 6, 512),
    "bert": Entry("BERT base, uncased, 12 layers, 110 million weights; English; from the hub.", 12, 512),
    "roberta": Entry("RoBERTa base, 12 layers, 125 million weights; English; from the hub.", 12, 512),
}
