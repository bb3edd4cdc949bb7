"""Export a classifier over the mean of all tokens as a native classifier of transformers, without code of ours.

Our classifier normalises the mean of a text's states, and its head is one matrix. Transformers' classifiers read only
the first token, and their heads have a nonlinearity. So the encoder gets one more layer that turns the first token into
that mean: its attention weighs all tokens alike, and its feed-forward block is zero. The head is filled such that its
nonlinearity is the identity (`identity_head.py`). The temperature is in the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hybridal.models.encoders.cls_token_classifier import CLASSIFIERS, KINDS
from hybridal.models.encoders.saved_model import SavedModel, Weights, classifier_fields
from hybridal.models.export.identity_head import RECTIFIER, TANH, Head, IdentityHead

# A layer adds the token itself to the mean from its attention, which is not wanted. The token is scaled down by this
# factor first, and the mean scaled up by it twice, so that 2⁻²² of the token is left. Powers of two are exact, and even
# float16 can represent the intermediate numbers.
SCALE = 2.0**11


@dataclass(frozen=True)
class Names:
    """An architecture's names for the parts that are filled: of a layer, then of the head."""

    layers: str
    query: str
    key: str
    value: str
    mixed: str
    first_norm: str
    widen: str
    narrow: str
    second_norm: str
    before: str
    after: str
    head: IdentityHead


_BERT = Names(
    layers="encoder.layer",
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    mixed="attention.output.dense",
    first_norm="attention.output.LayerNorm",
    widen="intermediate.dense",
    narrow="output.dense",
    second_norm="output.LayerNorm",
    before="bert.pooler.dense",
    after="classifier",
    head=TANH,
)
_ROBERTA = replace(_BERT, before="classifier.dense", after="classifier.out_proj")
_DISTILBERT = Names(
    layers="transformer.layer",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    mixed="attention.out_lin",
    first_norm="sa_layer_norm",
    widen="ffn.lin1",
    narrow="ffn.lin2",
    second_norm="output_layer_norm",
    before="pre_classifier",
    after="classifier",
    head=RECTIFIER,
)
NAMES = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": replace(_ROBERTA, head=RECTIFIER),
    "distilbert": _DISTILBERT,
}


def is_native_exportable(body: Any) -> bool:
    """Whether `native_classifier` supports this encoder.

    Its attention must depend on queries and keys only; MPNet's also depends on the distance of two tokens.
    """
    return body.config.model_type in NAMES and not getattr(body.config, "is_decoder", False)


def native_classifier(
    body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]
) -> SavedModel:
    """Transformers' own classifier of this architecture, with logits (W f + b) / T; the body is not changed.

    f is the normalised mean of the body's states.

    >>> from hybridal.models.encoders.layers import Build
    >>> from hybridal.models.encoders.own_encoders import empty_encoder
    >>> shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    >>> body = empty_encoder({"model_type": "bert", "vocab_size": 10, **shape}, Build())
    >>> model = native_classifier(body, torch.ones(3, 8), torch.zeros(3), 1.5, ["bad", "fair", "good"])
    >>> model.config["architectures"], model.config["num_hidden_layers"], model.config["id2label"]
    (['BertForSequenceClassification'], 3, {0: 'bad', 1: 'fair', 2: 'good'})
    """
    names, top = NAMES[body.config.model_type], body.config.num_hidden_layers
    weights = copies(body)
    for part in ("weight", "bias"):
        weights[f"{names.layers}.{top - 1}.{names.second_norm}.{part}"] /= SCALE
    layer = _averaging_layer(names, body.config)
    weights |= {f"{names.layers}.{top}.{name}": value for name, value in layer.items()}
    prefix = CLASSIFIERS[body.config.model_type].prefix
    weights = {f"{prefix}.{name}": value for name, value in weights.items()}
    head = names.head.fill(*(value.detach().cpu().double() / temperature for value in (weight, bias)))
    weights |= _linear(names.before, head.before, head.before_bias) | _linear(names.after, head.after, head.after_bias)
    return SavedModel(_config(body.config, classes), weights)


def is_native_export(model: SavedModel) -> bool:
    """Whether a classifier was made by `native_classifier`: its last layer is the averaging one."""
    names = NAMES.get(model.config["model_type"])
    if names is None:
        return False
    last = model.config[_count(model.config)] - 1
    prefix = CLASSIFIERS[model.config["model_type"]].prefix
    mixed = model.weights.get(f"{prefix}.{names.layers}.{last}.{names.mixed}.weight")
    return mixed is not None and torch.equal(mixed, SCALE * torch.eye(len(mixed)).to(mixed))


def split_native_export(model: SavedModel) -> tuple[SavedModel, Tensor, Tensor]:
    """The encoder, W / T and b / T that a native export was made of."""
    names, weights, count = NAMES[model.config["model_type"]], model.weights, _count(model.config)
    parts = (f"{name}.{part}" for name in (names.before, names.after) for part in ("weight", "bias"))
    weight, bias = names.head.read(Head(*(weights[part].float() for part in parts)))
    layers, prefix = model.config[count] - 1, CLASSIFIERS[model.config["model_type"]].prefix
    body = {
        inner: value.float()
        for name, value in weights.items()
        if (inner := name.removeprefix(f"{prefix}.")) != name
        and not inner.startswith((f"{names.layers}.{layers}.", "pooler."))
    }
    for part in ("weight", "bias"):
        name = f"{names.layers}.{layers - 1}.{names.second_norm}.{part}"
        body[name] = body[name] * SCALE
    return SavedModel({**model.config, count: layers}, body), weight.clone(), bias.clone()


def copies(body: Any) -> Weights:
    """Copies of all weights except a pooler's, which are not used."""
    kept = {name: value for name, value in body.state_dict().items() if not name.startswith("pooler.")}
    return {name: value.detach().cpu().float().clone() for name, value in kept.items()}


def _config(body: Any, classes: Sequence[str]) -> dict[str, Any]:
    """The encoder's configuration with one more layer and these classes."""
    config, about = body.to_diff_dict(), classifier_fields(KINDS[body.model_type], classes)
    return {**config, _count(config): body.num_hidden_layers + 1, **about}


def _count(config: dict[str, Any]) -> str:
    """The name of the number of layers."""
    return "n_layers" if config["model_type"] == "distilbert" else "num_hidden_layers"


def _averaging_layer(names: Names, config: Any) -> Weights:
    """A layer that turns every token into the normalised mean of all visible ones."""
    width = config.hidden_size
    wide = config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size
    nothing, larger = torch.zeros(width, width), SCALE * torch.eye(width)
    # The second norm's input is normalised already; compensate for the epsilon that is added to its variance.
    epsilon = getattr(config, "layer_norm_eps", 1e-12)
    return {
        **_linear(names.query, nothing),
        **_linear(names.key, nothing),
        **_linear(names.value, larger),
        **_linear(names.mixed, larger),
        **_norm(names.first_norm, width),
        **_linear(names.widen, torch.zeros(wide, width)),
        **_linear(names.narrow, torch.zeros(width, wide)),
        **_norm(names.second_norm, width, math.sqrt(1 + epsilon)),
    }


def _linear(name: str, weight: Tensor, bias: Tensor | None = None) -> Weights:
    bias = torch.zeros(len(weight)) if bias is None else bias
    return {f"{name}.weight": weight.float().clone(), f"{name}.bias": bias.float().clone()}


def _norm(name: str, width: int, size: float = 1.0) -> Weights:
    return {f"{name}.weight": torch.full((width,), size), f"{name}.bias": torch.zeros(width)}
