"""The classifier as others load it: with transformers alone where that can be, else with one file of code beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hybridal.errors import UserError
from hybridal.models.plain import built, copies, is_plain, plain_classifier, survives_plainly, taken_apart


def portable_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Any:
    """A model of transformers with logits (W f + b) / T; its `save_pretrained` writes all that loading it takes.

    f is the mean of what the body says of a text's tokens, normalised. Where `survives_plainly(body)` does not hold,
    whoever loads the model must say `trust_remote_code=True`.
    """
    build = plain_classifier if survives_plainly(body) else pooled_classifier
    return build(body, weight, bias, temperature, classes)


def pooled_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Any:
    """As `plain_classifier`, for every encoder: what transformers cannot do goes along as a file of code."""
    from hybridal.models.pooled_modeling import PooledConfig, PooledForSequenceClassification

    config = PooledConfig(
        body=body.config.to_dict(),
        id2label=dict(enumerate(classes)),
        label2id={name: i for i, name in enumerate(classes)},
        problem_type="single_label_classification",
    )
    weights = {f"body.{name}": value for name, value in copies(body).items()}
    for name, value in (("weight", weight), ("bias", bias)):
        weights[f"classifier.{name}"] = (value.detach().cpu().double() / temperature).float()
    return built(PooledForSequenceClassification, config, weights)


def load_portable(folder: Path) -> tuple[Any, Tensor, Tensor]:
    """The body, W / T and b / T of a model that was saved in either way; no code in the folder is run."""
    from transformers import AutoModelForSequenceClassification

    know_pooled()
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    if model.config.model_type == "hybridal-pooled":
        return model.body.eval(), model.classifier.weight.detach(), model.classifier.bias.detach()
    if not is_plain(model):
        raise UserError(f"{folder} holds a classifier that was not exported by this edition of hybridal.")
    parts: tuple[Any, Tensor, Tensor] = taken_apart(model)
    return parts


def know_pooled() -> None:
    """Lets transformers load our own kind of model, and its tokenizer, without asking whether code may be run."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from hybridal.models.pooled_modeling import PooledConfig, PooledForSequenceClassification

    AutoConfig.register(PooledConfig.model_type, PooledConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(PooledConfig, PooledForSequenceClassification, exist_ok=True)
