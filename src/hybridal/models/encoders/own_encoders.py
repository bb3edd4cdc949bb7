"""The own encoder for a saved model, if it would compute exactly what transformers computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybridal.models.encoders.bert import (
    BERT_DEFAULTS,
    ELECTRA_DEFAULTS,
    ROBERTA_DEFAULTS,
    XLM_ROBERTA_DEFAULTS,
    Bert,
    Electra,
    Roberta,
)
from hybridal.models.encoders.distilbert import DEFAULTS as DISTILBERT_DEFAULTS
from hybridal.models.encoders.distilbert import DistilBert
from hybridal.models.encoders.layers import Build, Config, Encoder
from hybridal.models.encoders.mpnet import DEFAULTS as MPNET_DEFAULTS
from hybridal.models.encoders.mpnet import MPNet
from hybridal.models.encoders.saved_model import SavedModel


@dataclass(frozen=True)
class Architecture:
    """An encoder class, and the meaning of fields that a configuration leaves out."""

    encoder: type[Encoder]
    defaults: Mapping[str, Any]


ARCHITECTURES: dict[str, Architecture] = {
    "bert": Architecture(Bert, BERT_DEFAULTS),
    "roberta": Architecture(Roberta, ROBERTA_DEFAULTS),
    "xlm-roberta": Architecture(Roberta, XLM_ROBERTA_DEFAULTS),
    "camembert": Architecture(Roberta, XLM_ROBERTA_DEFAULTS),
    "electra": Architecture(Electra, ELECTRA_DEFAULTS),
    "distilbert": Architecture(DistilBert, DISTILBERT_DEFAULTS),
    "mpnet": Architecture(MPNet, MPNET_DEFAULTS),
}
# A configuration with any other value describes an encoder that we do not have.
REQUIRED_CONFIG = {
    "hidden_act": "gelu",
    "activation": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "quantization_config": None,
    "auto_map": None,
}
# About the files, an earlier head or their origin: not true of the classifier that is built.
IGNORED_CONFIG_KEYS = ("dtype", "torch_dtype", "num_labels", "problem_type", "_name_or_path")
# In files, but not read: the pooler serves heads over the first token, and positions are computed.
UNUSED_WEIGHTS = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")


def encoder_of(saved: SavedModel, build: Build) -> Encoder | None:
    """The encoder of a saved model, in float32.

    Args:
        saved: Configuration and weights; weights are named as in the encoder, without a prefix.
        build: How to build it. A pooler that `build` asks for is not filled.

    Returns:
        None if the configuration or the weights are not exactly those of an own architecture.
    """
    weights = {name: weight for name, weight in saved.weights.items() if name not in UNUSED_WEIGHTS}
    if not has_own_encoder(saved.config) or not all(weight.is_floating_point() for weight in weights.values()):
        return None
    body = empty_encoder(saved.config, build)
    expected = {name: value.shape for name, value in body.state_dict().items() if name not in UNUSED_WEIGHTS}
    if expected != {name: weight.shape for name, weight in weights.items()}:
        return None
    body.load_state_dict({name: weight.float() for name, weight in weights.items()}, strict=False, assign=True)
    body.eval()
    return body


def empty_encoder(config: Mapping[str, Any], build: Build) -> Encoder:
    """The encoder of a configuration, without weights."""
    architecture = ARCHITECTURES[config["model_type"]]
    kept = {name: value for name, value in config.items() if name not in IGNORED_CONFIG_KEYS}
    full: Any = Config(**{**architecture.defaults, **kept, "dtype": "float32"})
    return architecture.encoder(full, build)


def has_own_encoder(config: Mapping[str, Any]) -> bool:
    """Whether a configuration is one of our architectures."""
    if config.get("model_type") not in ARCHITECTURES:
        return False
    if any(config.get(name, required) != required for name, required in REQUIRED_CONFIG.items()):
        return False
    full = Config(**{**ARCHITECTURES[config["model_type"]].defaults, **config})
    return bool(full.hidden_size % full.num_attention_heads == 0)
