"""Classifiers over a text's first token, as transformers' own to the last bit and under the same names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.models.encoders.batches import Batch, PackedBatch, PaddedBatch
from hybridal.models.encoders.classifier_module import ClassifierModule, ClassifierOutput
from hybridal.models.encoders.layers import Build, Encoder, Linear
from hybridal.models.encoders.own_encoders import UNUSED_WEIGHTS, encoder_of
from hybridal.models.encoders.saved_model import SavedModel, classifier_fields


class ClsTokenClassifier(ClassifierModule):
    """An own encoder and a head over the first token of each text.

    Subclasses are the heads. `prefix` is what transformers calls the encoder in a classifier.
    """

    prefix: str

    def __init__(self, body: Encoder, build: Build) -> None:
        super().__init__(build)
        self.config: Any = body.config
        self.add_module(self.prefix, body)

    @property
    def body(self) -> Encoder:
        encoder: Encoder = self.get_submodule(self.prefix)
        return encoder

    def embed(self, first: Tensor) -> Tensor:
        """The head up to its last linear layer, from the first token's state (texts, width)."""
        raise NotImplementedError

    def compute(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        return self.classify(self.body(batch), batch)

    def classify(self, states: Tensor, _batch: Batch) -> ClassifierOutput:
        """The head alone, over the encoder's states."""
        first = states[:, 0]
        embedding = self.embed(first)
        return ClassifierOutput(self.output_layer(embedding), first, embedding)

    def save(self, folder: Path, classes: Sequence[str], temperature: float) -> None:
        """Write what `from_pretrained` reads; the module is not changed."""
        about = classifier_fields(KINDS[self.config.model_type], classes)
        weights = {name: value.cpu().clone() for name, value in self.scaled_state(temperature).items()}
        SavedModel({**self.config.to_diff_dict(), **about}, weights).write(folder)


class BertClassifier(ClsTokenClassifier):
    """BERT's pooler is part of its encoder."""

    prefix = "bert"

    def __init__(self, body: Encoder, classes: int, build: Build) -> None:
        super().__init__(body, build)
        self.dropout = build.dropout(_dropout_rate(body.config))
        self.classifier = Linear(body.width, classes)

    @property
    def output_layer(self) -> nn.Linear:
        return self.classifier

    def embed(self, first: Tensor) -> Tensor:
        embedding: Tensor = self.dropout(self.body.pooler(first))
        return embedding


class DistilBertClassifier(ClsTokenClassifier):
    prefix = "distilbert"

    def __init__(self, body: Encoder, classes: int, build: Build) -> None:
        super().__init__(body, build)
        self.pre_classifier = Linear(body.width, body.width)
        self.classifier = Linear(body.width, classes)
        self.dropout = build.dropout(body.config.seq_classif_dropout)

    @property
    def output_layer(self) -> nn.Linear:
        return self.classifier

    def embed(self, first: Tensor) -> Tensor:
        embedding: Tensor = self.dropout(nn.functional.relu(self.pre_classifier(first)))
        return embedding


class DenseClassifier(ClsTokenClassifier):
    """A head of two linear layers in a module of its own."""

    def __init__(self, body: Encoder, classes: int, build: Build) -> None:
        super().__init__(body, build)
        self.classifier = DenseHead(body, classes, build)

    @property
    def output_layer(self) -> nn.Linear:
        return self.classifier.out_proj

    def activate(self, values: Tensor) -> Tensor:
        return torch.tanh(values)

    def embed(self, first: Tensor) -> Tensor:
        head = self.classifier
        embedding: Tensor = head.dropout(self.activate(head.dense(head.dropout(first))))
        return embedding


class DenseHead(nn.Module):  # type: ignore[misc]
    """The parts of RoBERTa's head; `DenseClassifier.embed` applies them."""

    def __init__(self, body: Encoder, classes: int, build: Build) -> None:
        super().__init__()
        self.dense = Linear(body.width, body.width)
        self.dropout = build.dropout(_dropout_rate(body.config))
        self.out_proj = Linear(body.width, classes)


class RobertaClassifier(DenseClassifier):
    prefix = "roberta"


class MPNetClassifier(DenseClassifier):
    prefix = "mpnet"


class ElectraClassifier(DenseClassifier):
    prefix = "electra"

    def activate(self, values: Tensor) -> Tensor:
        return nn.functional.gelu(values)


CLASSIFIERS: dict[str, Any] = {
    "bert": BertClassifier,
    "roberta": RobertaClassifier,
    "xlm-roberta": RobertaClassifier,
    "camembert": RobertaClassifier,
    "electra": ElectraClassifier,
    "distilbert": DistilBertClassifier,
    "mpnet": MPNetClassifier,
}
# What transformers calls the classifier of each architecture.
KINDS = {
    "bert": "BertForSequenceClassification",
    "roberta": "RobertaForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "camembert": "CamembertForSequenceClassification",
    "electra": "ElectraForSequenceClassification",
    "distilbert": "DistilBertForSequenceClassification",
    "mpnet": "MPNetForSequenceClassification",
}


def cls_token_classifier(saved: SavedModel, classes: int, build: Build) -> tuple[ClsTokenClassifier, list[str]] | None:
    """The own classifier of a saved encoder or classifier.

    Returns:
        The classifier and the names of the head's weights that are still to be drawn; None if it might differ from what
        transformers makes of the files, or if a head in them has another shape.
    """
    kind = CLASSIFIERS.get(saved.config.get("model_type", ""))
    if kind is None:
        return None
    bare = {name.removeprefix(f"{kind.prefix}."): weight for name, weight in saved.weights.items()}
    body = encoder_of(SavedModel(saved.config, {n: w for n, w in bare.items() if not _is_of_head(n)}), build)
    if body is None:
        return None
    module = kind(body, classes, build)
    bare_names = {name: name.removeprefix(f"{kind.prefix}.") for name in module.state_dict()}
    names = {name: short for name, short in bare_names.items() if _is_of_head(short)}
    found = {name: bare[short] for name, short in names.items() if short in bare}
    if any(weight.shape != module.get_parameter(name).shape for name, weight in found.items()):
        return None
    module.load_state_dict({name: weight.float() for name, weight in found.items()}, strict=False, assign=True)
    return module.eval(), [name for name in names if name not in found]


def _is_of_head(name: str) -> bool:
    return name in UNUSED_WEIGHTS or name.startswith(("classifier.", "pre_classifier."))


def _dropout_rate(config: Any) -> float:
    """The rate of a head's dropout."""
    rate = getattr(config, "classifier_dropout", None)
    return float(config.hidden_dropout_prob if rate is None else rate)
