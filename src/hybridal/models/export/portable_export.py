"""The classifier as others load it: with transformers alone where that can be, else with one file of code beside it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hybridal.errors import UserError
from hybridal.models.encoders.saved_model import WEIGHTS, Saved, Weights, about_classifier
from hybridal.models.export.native_export import copies, is_plain, plain_classifier, survives_plainly, taken_apart

CODE = Path(__file__).with_name("pooled_modeling.py")


def save_portable(
    body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str], folder: Path
) -> None:
    """Writes all that transformers needs to load a model with logits (W f + b) / T.

    f is the mean of what the body says of a text's tokens, normalised. Where `survives_plainly(body)` does not hold,
    whoever loads the model must say `trust_remote_code=True`.
    """
    parts = (body, weight, bias, temperature, classes)
    if survives_plainly(body):
        plain_classifier(*parts).write(folder)
    else:
        _pooled(*parts).write(folder)
        shutil.copy(CODE, folder)


def pooled_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Any:
    """A model of transformers with these logits, for every encoder."""
    from hybridal.models.export.pooled_modeling import PooledConfig, PooledForSequenceClassification

    saved = _pooled(body, weight, bias, temperature, classes)
    return _filled(PooledForSequenceClassification(PooledConfig.from_dict(saved.config)), saved.weights)


def _pooled(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Saved:
    """As `plain_classifier`, for every encoder: what transformers cannot do goes along as a file of code."""
    kind = "PooledForSequenceClassification"
    config = {
        "model_type": "hybridal-pooled",
        "auto_map": {
            "AutoConfig": f"{CODE.stem}.PooledConfig",
            "AutoModelForSequenceClassification": f"{CODE.stem}.{kind}",
        },
        "body": body.config.to_diff_dict(),
        **about_classifier(kind, classes),
    }
    weights = {f"body.{name}": value for name, value in copies(body).items()}
    for name, value in (("weight", weight), ("bias", bias)):
        weights[f"classifier.{name}"] = (value.detach().cpu().double() / temperature).float()
    return Saved(config, weights)


def read_portable(folder: Path) -> tuple[Saved, Tensor, Tensor]:
    """Take an exported model apart; no code in the folder is run.

    Returns:
        The encoder, W / T and b / T.

    Raises:
        UserError: If the folder holds anything else.
    """
    saved = Saved.read(folder)
    if saved is None:
        raise UserError(f"{folder} has no {WEIGHTS} that can be read; export the model again.")
    if saved.config["model_type"] == "hybridal-pooled":
        weights = {name: value.float() for name, value in saved.weights.items()}
        know_pooled()  # for the tokenizer
        inner = {name.removeprefix("body."): value for name, value in weights.items() if name.startswith("body.")}
        return Saved(saved.config["body"], inner), weights["classifier.weight"], weights["classifier.bias"]
    if not is_plain(saved):
        raise UserError(f"{folder} holds a classifier that was not exported by this edition of hybridal.")
    return taken_apart(saved)


def know_pooled() -> None:
    """Lets transformers load our own kind of model, and what lies beside it, without asking whether code may be run."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    from hybridal.models.export.pooled_modeling import PooledConfig, PooledForSequenceClassification

    AutoConfig.register(PooledConfig.model_type, PooledConfig, exist_ok=True)
    AutoModelForSequenceClassification.register(PooledConfig, PooledForSequenceClassification, exist_ok=True)


def load_model(saved: Saved) -> Any:
    """The encoder of transformers for this configuration, with these weights."""
    from transformers import AutoConfig, AutoModel

    model = AutoModel.from_config(AutoConfig.for_model(**saved.config), dtype=torch.float32)
    return _filled(model, saved.weights)


def _filled(model: Any, weights: Weights) -> Any:
    """With these weights in place of those that were drawn; poolers have none."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    model.load_state_dict(weights, assign=True)
    return model.eval()
