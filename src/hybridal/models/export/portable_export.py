"""Export a classifier over the mean: in transformers' own format if possible, else with one file of code."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hybridal.errors import UserError
from hybridal.models.encoders.saved_model import WEIGHTS, SavedModel, Weights, classifier_fields
from hybridal.models.export.native_export import (
    copies,
    is_native_export,
    is_native_exportable,
    native_classifier,
    split_native_export,
)

CODE = Path(__file__).with_name("pooled_modeling.py")


def save_portable(
    body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str], folder: Path
) -> None:
    """Write all that transformers needs to load a model with logits (W f + b) / T.

    f is the normalised mean of the body's states. If `is_native_exportable(body)` does not hold, the folder contains
    code and must be loaded with `trust_remote_code=True`.

    Args:
        body: The encoder.
        weight: W, (classes, width).
        bias: b, (classes).
        temperature: T.
        classes: Names of the classes.
        folder: Where to write.
    """
    parts = (body, weight, bias, temperature, classes)
    if is_native_exportable(body):
        native_classifier(*parts).write(folder)
    else:
        _pooled(*parts).write(folder)
        shutil.copy(CODE, folder)


def pooled_classifier(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> Any:
    """A model of transformers with these logits, for any encoder; see `save_portable`."""
    from hybridal.models.export.pooled_modeling import PooledConfig, PooledForSequenceClassification

    saved = _pooled(body, weight, bias, temperature, classes)
    return _filled(PooledForSequenceClassification(PooledConfig.from_dict(saved.config)), saved.weights)


def _pooled(body: Any, weight: Tensor, bias: Tensor, temperature: float, classes: Sequence[str]) -> SavedModel:
    """As `native_classifier`, for any encoder: the head over the mean is code of ours."""
    kind = "PooledForSequenceClassification"
    config = {
        "model_type": "hybridal-pooled",
        "auto_map": {
            "AutoConfig": f"{CODE.stem}.PooledConfig",
            "AutoModelForSequenceClassification": f"{CODE.stem}.{kind}",
        },
        "body": body.config.to_diff_dict(),
        **classifier_fields(kind, classes),
    }
    weights = {f"body.{name}": value for name, value in copies(body).items()}
    for name, value in (("weight", weight), ("bias", bias)):
        weights[f"classifier.{name}"] = (value.detach().cpu().double() / temperature).float()
    return SavedModel(config, weights)


def read_portable(folder: Path) -> tuple[SavedModel, Tensor, Tensor]:
    """Take an exported model apart; no code in the folder is run.

    Returns:
        The encoder, W / T and b / T.

    Raises:
        UserError: If the folder holds anything else.
    """
    saved = SavedModel.read(folder)
    if saved is None:
        raise UserError(f"{folder} has no {WEIGHTS} that can be read; export the model again.")
    try:
        if saved.config["model_type"] == "hybridal-pooled":
            weights = {name: value.float() for name, value in saved.weights.items()}
            inner = {name.removeprefix("body."): value for name, value in weights.items() if name.startswith("body.")}
            return SavedModel(saved.config["body"], inner), weights["classifier.weight"], weights["classifier.bias"]
        if is_native_export(saved):
            return split_native_export(saved)
    except KeyError as error:
        raise UserError(f"{folder} is damaged: it lacks {error}; copy it or export the model again.") from error
    raise UserError(f"{folder} holds a classifier that hybridal did not export; export its run again.")


def load_model(saved: SavedModel) -> Any:
    """The encoder of transformers for this configuration, with these weights."""
    from transformers import AutoConfig, AutoModel

    model = AutoModel.from_config(AutoConfig.for_model(**saved.config), dtype=torch.float32)
    return _filled(model, saved.weights)


def _filled(model: Any, weights: Weights) -> Any:
    """With these weights in place of those that were drawn; poolers have none."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    for name, value in weights.items():
        if value.shape != shapes.get(name, value.shape):
            raise wrong_shape(name)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def wrong_shape(name: str) -> ValueError:
    """The error for a weight that does not fit its configuration; `load_module` adds which folder it is."""
    return ValueError(f"its `{name}` has another shape than its config.json says; copy or download the folder again")
