"""A classifier over the mean of all tokens, told in weights that transformers' own classifiers understand.

Ours normalises the mean of a text's tokens, and its head is one matrix. Transformers' classifiers read the first token
alone, and their heads have a nonlinearity. So the encoder gets one layer more, which makes the first token that mean:
its attention looks at all tokens alike, and its feed-forward part says nothing. The head is filled such that its
nonlinearity changes nothing. Whoever loads the folder needs no code of ours, and the temperature is in the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hybridal.models.encoders.saved_model import Saved, Weights, about_classifier
from hybridal.models.export.identity_head import RECTIFIER, TANH, Head, Straight

# To the mean that its attention finds, a layer adds the token itself, which we do not want. The token is made this much
# smaller first, and the mean this much larger twice, so that 2⁻²² of the token is left. Powers of two cost no digits,
# and even float16 can hold the numbers in between.
SCALE = 2.0**11


@dataclass(frozen=True)
class Names:
    """What an architecture calls its classifier, and the parts that we fill: of a layer, then of the head."""

    kind: str
    prefix: str
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
    head: Straight


_BERT = Names(
    kind="BertForSequenceClassification",
    prefix="bert",
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
_ROBERTA = replace(
    _BERT,
    kind="RobertaForSequenceClassification",
    prefix="roberta",
    before="classifier.dense",
    after="classifier.out_proj",
)
_DISTILBERT = Names(
    kind="DistilBertForSequenceClassification",
    prefix="distilbert",
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
    "xlm-roberta": replace(_ROBERTA, kind="XLMRobertaForSequenceClassification"),
    "camembert": replace(_ROBERTA, kind="CamembertForSequenceClassification"),
    "electra": replace(_ROBERTA, kind="ElectraForSequenceClassification", prefix="electra", head=RECTIFIER),
    "distilbert": _DISTILBERT,
}


def survives_plainly(body: Any) -> bool:
    """Whether `plain_classifier` knows this encoder.

    In its layers nothing but queries and keys may say where attention goes. MPNet's, for one, also ask how far apart
    two tokens are.
    """
    return body.config.model_type in NAMES and not getattr(body.config, "is_decoder", False)


def plain_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Saved:
    """Transformers' own classifier of this architecture, with logits (W f + b) / T; the body itself is left alone.

    f is the mean of what the body says of a text's tokens, normalised.

    >>> from hybridal.models.encoders.layers import Build
    >>> from hybridal.models.encoders.own_encoders import empty_encoder
    >>> shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    >>> body = empty_encoder({"model_type": "bert", "vocab_size": 10, **shape}, Build())
    >>> model = plain_classifier(body, torch.ones(3, 8), torch.zeros(3), 1.5, ["bad", "fair", "good"])
    >>> model.config["architectures"], model.config["num_hidden_layers"], model.config["id2label"]
    (['BertForSequenceClassification'], 3, {0: 'bad', 1: 'fair', 2: 'good'})
    """
    names, top = NAMES[body.config.model_type], body.config.num_hidden_layers
    weights = copies(body)
    for part in ("weight", "bias"):
        weights[f"{names.layers}.{top - 1}.{names.second_norm}.{part}"] /= SCALE
    layer = _averaging_layer(names, body.config)
    weights |= {f"{names.layers}.{top}.{name}": value for name, value in layer.items()}
    weights = {f"{names.prefix}.{name}": value for name, value in weights.items()}
    head = names.head.fill(*(value.detach().cpu().double() / temperature for value in (weight, bias)))
    weights |= _linear(names.before, head.before, head.before_bias) | _linear(names.after, head.after, head.after_bias)
    return Saved(_config(body.config, names, classes), weights)


def is_plain(model: Saved) -> bool:
    """Whether a classifier of transformers was made here: its last layer is the one that averages."""
    names = NAMES.get(model.config["model_type"])
    if names is None:
        return False
    last = model.config[_count(model.config)] - 1
    mixed = model.weights.get(f"{names.prefix}.{names.layers}.{last}.{names.mixed}.weight")
    return mixed is not None and torch.equal(mixed, SCALE * torch.eye(len(mixed)).to(mixed))


def taken_apart(model: Saved) -> tuple[Saved, Tensor, Tensor]:
    """The body, W / T and b / T of a plain classifier; the body is the one that it was made of."""
    names, weights, count = NAMES[model.config["model_type"]], model.weights, _count(model.config)
    parts = (f"{name}.{part}" for name in (names.before, names.after) for part in ("weight", "bias"))
    weight, bias = names.head.read(Head(*(weights[part].float() for part in parts)))
    layers = model.config[count] - 1
    body = {
        inner: value.float()
        for name, value in weights.items()
        if (inner := name.removeprefix(f"{names.prefix}.")) != name
        and not inner.startswith((f"{names.layers}.{layers}.", "pooler."))
    }
    for part in ("weight", "bias"):
        name = f"{names.layers}.{layers - 1}.{names.second_norm}.{part}"
        body[name] = body[name] * SCALE
    return Saved({**model.config, count: layers}, body), weight.clone(), bias.clone()


def copies(body: Any) -> Weights:
    """All its weights but those of a pooler, which reads the first token for nobody."""
    kept = {name: value for name, value in body.state_dict().items() if not name.startswith("pooler.")}
    return {name: value.detach().cpu().float().clone() for name, value in kept.items()}


def _config(body: Any, names: Names, classes: Sequence[str]) -> dict[str, Any]:
    """The body's, for one layer more and these classes; of how its attention is computed here it says nothing."""
    said = body.to_diff_dict()
    return {**said, _count(said): body.num_hidden_layers + 1, **about_classifier(names.kind, classes)}


def _count(config: dict[str, Any]) -> str:
    """What the number of layers is called."""
    return "n_layers" if config["model_type"] == "distilbert" else "num_hidden_layers"


def _averaging_layer(names: Names, config: Any) -> Weights:
    """Makes every token the normalised mean of all that the mask shows."""
    width = config.hidden_size
    wide = config.hidden_dim if config.model_type == "distilbert" else config.intermediate_size
    nothing, larger = torch.zeros(width, width), SCALE * torch.eye(width)
    # What the second norm reads is normalised already; it must not shrink for the little that is added to its variance.
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
