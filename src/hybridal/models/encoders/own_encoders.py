"""The encoder of a folder as a module of our own, where it would compute what transformers does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from hybridal.models.encoders import bert, mpnet
from hybridal.models.encoders.layers import Config
from hybridal.models.encoders.saved_model import Saved

OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "bert": (bert.Bert, bert.DEFAULTS),
    "mpnet": (mpnet.MPNet, mpnet.DEFAULTS),
}
# Where a configuration says anything else, the encoder is not the one of this file.
USUAL = {
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "quantization_config": None,
    "auto_map": None,
}
# What a configuration says of the files' digits, of another head, or of where it came from: no more true of ours.
PAST = ("dtype", "torch_dtype", "num_labels", "problem_type", "_name_or_path")
# Weights that files have and nobody reads: the pooler is for the first token, and positions are counted.
UNREAD = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.position_ids")


def encoder_of(saved: Saved) -> nn.Module | None:
    """In fp32 whatever the files hold; None where anything is said or found that we do not know."""
    weights = {name: weight for name, weight in saved.weights.items() if name not in UNREAD}
    if not _is_usual(saved.config) or not all(weight.is_floating_point() for weight in weights.values()):
        return None
    kind, defaults = OURS[saved.config["model_type"]]
    said = {name: value for name, value in saved.config.items() if name not in PAST}
    body = kind(Config(**{**defaults, **said, "dtype": "float32"}))
    if {name: weight.shape for name, weight in body.state_dict().items()} != {n: w.shape for n, w in weights.items()}:
        return None
    body.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    return body.eval()


def _is_usual(said: Mapping[str, Any]) -> bool:
    if said.get("model_type") not in OURS or any(said.get(name, usual) != usual for name, usual in USUAL.items()):
        return False
    meant = {**OURS[said["model_type"]][1], **said}
    return bool(meant["hidden_size"] % meant["num_attention_heads"] == 0)
