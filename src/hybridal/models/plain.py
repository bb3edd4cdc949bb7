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

from hybridal.models.straight import RECTIFIER, TANH, Head, Straight

Weights = dict[str, Tensor]

# To the mean that its attention finds, a layer adds the token itself, which we do not want. The token is made this much
# smaller first, and the mean this much larger twice, so that 2⁻²² of the token is left. Powers of two cost no digits,
# and even float16 can hold the numbers in between.
SCALE = 2.0**11


@dataclass(frozen=True)
class Names:
    """What an architecture calls the parts that we fill: those of a layer, then those of the head."""

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


def survives_plainly(body: Any) -> bool:
    """Whether `plain_classifier` knows this encoder.

    In its layers nothing but queries and keys may say where attention goes. MPNet's, for one, also ask how far apart
    two tokens are.
    """
    return body.config.model_type in NAMES and not getattr(body.config, "is_decoder", False)


def plain_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Any:
    """Transformers' own classifier of this architecture, with logits (W f + b) / T; the body itself is left alone.

    f is the mean of what the body says of a text's tokens, normalised.

    >>> from transformers import BertConfig, BertModel
    >>> shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    >>> body = BertModel(BertConfig(vocab_size=10, **shape))
    >>> model = plain_classifier(body, torch.ones(3, 8), torch.zeros(3), 1.5, ["bad", "fair", "good"])
    >>> type(model).__name__, model.config.num_hidden_layers, model.config.id2label
    ('BertForSequenceClassification', 3, {0: 'bad', 1: 'fair', 2: 'good'})
    """
    from transformers import AutoModelForSequenceClassification

    names, config = NAMES[body.config.model_type], _config(body.config, classes)
    kind = AutoModelForSequenceClassification._model_mapping[type(config)]
    weights = copies(body)
    top = body.config.num_hidden_layers
    for part in ("weight", "bias"):
        weights[f"{names.layers}.{top - 1}.{names.second_norm}.{part}"] /= SCALE
    layer = _averaging_layer(names, config)
    weights |= {f"{names.layers}.{top}.{name}": value for name, value in layer.items()}
    weights = {f"{kind.base_model_prefix}.{name}": value for name, value in weights.items()}
    head = names.head.fill(*(value.detach().cpu().double() / temperature for value in (weight, bias)))
    weights |= _linear(names.before, head.before, head.before_bias) | _linear(names.after, head.after, head.after_bias)
    return built(kind, config, weights)


def built(kind: Any, config: Any, weights: Weights) -> Any:
    """A model of these weights: none is drawn at random, and a progress bar for what takes a moment is noise."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    return kind.from_pretrained(None, config=config, state_dict=weights, dtype=torch.float32).eval()


def is_plain(model: Any) -> bool:
    """Whether a classifier of transformers was made here: its last layer is the one that averages."""
    names = NAMES.get(model.config.model_type)
    if names is None:
        return False
    layer = model.base_model.get_submodule(names.layers)[-1]
    mixed = layer.get_submodule(names.mixed).weight
    return bool(torch.equal(mixed, SCALE * torch.eye(len(mixed)).to(mixed)))


@torch.no_grad()  # type: ignore[untyped-decorator]
def taken_apart(model: Any) -> tuple[Any, Tensor, Tensor]:
    """The body, W / T and b / T of a plain classifier, which is used up; the body is the one that it was made of."""
    names = NAMES[model.config.model_type]
    before, after = model.get_submodule(names.before), model.get_submodule(names.after)
    weight, bias = names.head.read(Head(before.weight, before.bias, after.weight, after.bias))
    body = model.base_model
    layers = body.get_submodule(names.layers)
    del layers[-1]
    body.config.num_hidden_layers -= 1
    for part in layers[-1].get_submodule(names.second_norm).parameters():
        part *= SCALE
    if hasattr(body, "pooler"):
        body.pooler = None
    return body, weight.clone(), bias.clone()


def copies(body: Any) -> Weights:
    """All its weights but those of a pooler, which reads the first token for nobody."""
    kept = {name: value for name, value in body.state_dict().items() if not name.startswith("pooler.")}
    return {name: value.detach().cpu().float().clone() for name, value in kept.items()}


def _config(body: Any, classes: Sequence[str]) -> Any:
    """The body's, for one layer more and these classes; of how its attention is computed here it says nothing."""
    config = type(body).from_dict(body.to_dict())
    config.num_hidden_layers += 1
    config.id2label, config.label2id = dict(enumerate(classes)), {name: i for i, name in enumerate(classes)}
    config.problem_type = "single_label_classification"
    return config


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
