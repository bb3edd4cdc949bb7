"""What the tests of this folder build from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AlbertConfig,
    AlbertModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.device import choose_device
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.examples import Examples
from hybridal.tasks import Split, Task

CPU = choose_device("cpu")
LENGTH = 32

_COMMON: dict[str, Any] = {"vocab_size": 2000, "pad_token_id": 0}
_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64, **_COMMON}
# The encoder, and the name of the last linear layer of its classifier.
ARCHITECTURES: dict[str, tuple[Any, Any, str]] = {
    "distilbert": (
        DistilBertModel,
        DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=LENGTH, **_COMMON),
        "classifier",
    ),
    "bert": (BertModel, BertConfig(max_position_embeddings=LENGTH, **_BERT), "classifier"),
    "roberta": (
        RobertaModel,
        RobertaConfig(max_position_embeddings=LENGTH + 1, type_vocab_size=1, **_BERT),
        "classifier.out_proj",
    ),
    "electra": (
        ElectraModel,
        ElectraConfig(max_position_embeddings=LENGTH, embedding_size=32, **_BERT),
        "classifier.out_proj",
    ),
    "mpnet": (
        MPNetModel,
        MPNetConfig(max_position_embeddings=LENGTH + 2, **{**_BERT, "pad_token_id": 1}),
        "classifier.out_proj",
    ),
}

# Without a module of our own.
FOREIGN: dict[str, tuple[Any, Any, str]] = {
    "albert": (AlbertModel, AlbertConfig(max_position_embeddings=LENGTH, embedding_size=16, **_BERT), "classifier"),
}


def random_backbone(architecture: str, tokenizer: Path, folder: Path) -> Backbone:
    """An encoder of this architecture with random weights, saved as transformers saves."""
    kind, config, _ = (ARCHITECTURES | FOREIGN)[architecture]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        # Far larger than usual, so that what the layers say differs visibly from text to text.
        config.initializer_range = 0.3
        kind(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return Backbone(architecture, folder)


def classifier_of(backbone: Backbone, task: Task, seed: int = 7, pooling: str = "first") -> Classifier:
    return Classifier(backbone, task.classes, seed, CPU, pooling=pooling)


def examples_of(backbone: Backbone, split: Split, rows: Any = None) -> Examples:
    encoder = backbone.encoder(LENGTH)
    chosen = np.arange(len(split)) if rows is None else np.asarray(rows, dtype=np.int64)
    return Examples(Tokens.of(encoder.encode(split.texts), encoder.pad), chosen, split.labels[chosen])


def padded_logits(classifier: Classifier, source: Source, rows: Any) -> torch.Tensor:
    """The logits of these rows, padded."""
    return classifier.run(classifier.padded(source, rows)).logits


def row_of(source: Source, row: int) -> Any:
    """The token ids of one text, as a batch of one without padding."""
    return torch.from_numpy(source.joined(np.array([row])))[None]


def same_weights(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def farthest(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """The largest difference of any weight."""
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)
