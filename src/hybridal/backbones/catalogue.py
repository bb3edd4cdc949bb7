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
    """What is known about a named backbone before it is downloaded.

    Args:
        about: Its origin, in a few words.
        parameters: Number of weights, in millions.
        layers: Number of layers.
        languages: Languages of the texts that it was trained on.
        licence: Licence of the weights.
        hub_id: Its repository on the Hugging Face hub; None if it is made on this machine.
        revision: Commit of the repository, or None for its newest one.
        pooling: How it was trained to read a text, if its folder does not say: "mean" or "first".
        prefix: Put before every text, if its folder does not say.
        positions: Maximum number of tokens of a text.
    """

    about: str
    parameters: float
    layers: int
    languages: str
    licence: str
    hub_id: str | None = None
    revision: str | None = None
    pooling: str = "first"
    prefix: str = ""
    positions: int = 512


CATALOGUE: Mapping[str, Entry] = {
    "minilm": Entry(
        "MiniLM of sentence-transformers; fast; on PyPI too.",
        23, 6, "English", "Apache-2.0",
        "sentence-transformers/all-MiniLM-L6-v2", pooling="mean",
    ),
    "mpnet": Entry(
        "MPNet of sentence-transformers; on PyPI too.",
        109, 12, "English", "Apache-2.0",
        "sentence-transformers/all-mpnet-base-v2", pooling="mean",
    ),
    "gte-small": Entry(
        "General text embeddings of Alibaba; the first candidate of auto.",
        33, 12, "English", "MIT",
        "thenlper/gte-small", "17e1f347d17fe144873b1201da91788898c639cd", pooling="mean",
    ),
    "bge-small": Entry(
        "General embeddings of BAAI.",
        33, 12, "English", "MIT",
        "BAAI/bge-small-en-v1.5", "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
    ),
    "e5-small": Entry(
        "E5 embeddings of Microsoft.",
        33, 12, "English", "MIT",
        "intfloat/e5-small-v2", "ffb93f3bd4047442299a41ebb6fa998a38507c52", pooling="mean", prefix="query: ",
    ),
    "multilingual-e5-small": Entry(
        "E5 embeddings of Microsoft, with a vocabulary of 250,000 pieces.",
        118, 12, "about 100", "MIT",
        "intfloat/multilingual-e5-small", "614241f622f53c4eeff9890bdc4f31cfecc418b3", pooling="mean", prefix="query: ",
    ),
    "distilbert": Entry(
        "DistilBERT base, uncased.", 66, 6, "English", "Apache-2.0", "distilbert/distilbert-base-uncased"
    ),
    "bert": Entry("BERT base, uncased.", 110, 12, "English", "Apache-2.0", "google-bert/bert-base-uncased"),
    "roberta": Entry("RoBERTa base.", 125, 12, "English", "MIT", "FacebookAI/roberta-base"),
    "tiny": Entry(
        "Random weights and a vocabulary of the task's words; for tests and dry runs.",
        0.2, 2, "any", "", pooling="mean",
    ),
}  # fmt: skip


def split_revision(name: str) -> tuple[str, str | None]:
    """Split the name or hub id of a backbone from the revision after it.

    >>> split_revision("thenlper/gte-small@main"), split_revision("minilm")
    (('thenlper/gte-small', 'main'), ('minilm', None))
    """
    name, _, revision = name.partition("@")
    return name, revision or None


def entry_of(name: str) -> Entry | None:
    """Return the entry of a backbone, given by its name or its hub id, with or without a revision.

    >>> entry_of("e5-small") is entry_of("intfloat/e5-small-v2@main"), entry_of("./my-folder")
    (True, None)
    """
    name = split_revision(name)[0]
    return CATALOGUE.get(name) or next((entry for entry in CATALOGUE.values() if entry.hub_id == name), None)
