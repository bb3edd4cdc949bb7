"""Build the classifier of a backbone folder. What the folder lacks is drawn from the seed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.backbones.exported import was_exported
from hybridal.backbones.references import check_references
from hybridal.backbones.weights import check_weights
from hybridal.errors import UserError, reason
from hybridal.models.encoders.cls_token_classifier import cls_token_classifier
from hybridal.models.encoders.foreign_encoder import ForeignClassifier, ForeignEncoder
from hybridal.models.encoders.layers import PLAIN, Build, not_separable
from hybridal.models.encoders.mean_classifier import MeanClassifier
from hybridal.models.encoders.own_encoders import encoder_of
from hybridal.models.encoders.saved_model import SavedModel, class_fields
from hybridal.models.export.portable_export import load_model, read_portable, wrong_shape
from hybridal.models.process_settings import quiet_transformers
from hybridal.models.torch_generators import seeded
from hybridal.randomness import key

Loaded = tuple[Any, list[str]]
"""A module, and the names of the parameters that are still to be drawn."""


def load_module(backbone: Backbone, classes: Sequence[str], seed: int, pooling: str, build: Build = PLAIN) -> Loaded:
    """Build a classifier with the initial weights of a seed.

    Args:
        backbone: Folder of an encoder, or of a classifier.
        classes: Names of the classes.
        seed: Decides the weights that the folder lacks.
        pooling: "mean" for a head over the mean of all tokens, "first" for one over the first token.
        build: How the modules are built; `first_token_only` follows from `pooling`.

    Returns:
        The classifier, and the names of the parameters that were drawn.

    Raises:
        UserError: If the folder is not an encoder, is damaged, or holds a head for other classes.
    """
    check_weights(Path(backbone.folder))
    check_references(Path(backbone.folder))
    try:
        # Transformers draws what is missing from the global generator, before `draw_head` draws it again.
        with seeded(key(seed, "head")):
            build = replace(build, first_token_only=pooling == "first")
            load = load_mean_classifier if pooling == "mean" else load_cls_token_classifier
            module, missing = load(backbone, classes, build)
    except (UserError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # a damaged folder fails in whichever library meets the damage
        why = reason(error) if str(error).strip() else type(error).__name__
        raise UserError(f"Backbone '{backbone.name}' cannot be loaded as a text classifier: {why}.") from error
    _refuse_untrained_layers(backbone, module, missing)
    draw_head(module, missing, seed)
    return module, missing


def _refuse_untrained_layers(backbone: Backbone, module: nn.Module, missing: Sequence[str]) -> None:
    """Only the head may be missing: a random layer in the middle of an encoder makes its features worthless."""
    body = module.model.base_model if isinstance(module, ForeignClassifier) else module.body
    inside = {id(parameter) for parameter in body.parameters() if parameter.ndim > 1}
    named = dict(module.named_parameters())
    absent = [name for name in missing if name in named and id(named[name]) in inside and "pooler." not in name]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise UserError(
            f"Backbone '{backbone.name}' has no weights for `{absent[0]}`{more}, which its config.json asks for; copy "
            "or download its files again."
        )


def load_mean_classifier(backbone: Backbone, classes: Sequence[str], build: Build) -> Loaded:
    """The encoder of a folder under a head over the mean of all tokens.

    A model that hybridal exported is taken apart again; its head is reused if it has as many classes.
    """
    folder, weight, bias = Path(backbone.folder), None, None
    if was_exported(folder):
        saved, weight, bias = read_portable(folder)
        body, missing = encoder_of(saved, build) or ForeignEncoder(load_model(saved)), list[str]()
    else:
        body, missing = _load_encoder(folder, build)
    _check_separable(body, build)
    module = MeanClassifier(body, len(classes), build)
    if weight is None or bias is None or len(weight) != len(classes):
        return module, [*(f"body.{name}" for name in missing), "classifier.weight", "classifier.bias"]
    module.classifier.load_state_dict({"weight": weight, "bias": bias})
    return module, []


def _load_encoder(folder: Path, build: Build) -> Loaded:
    """Our own encoder, read directly or through transformers; else the encoder of transformers."""
    saved = SavedModel.read(folder)
    if saved is not None and (own := encoder_of(saved, build)) is not None:
        return own, []
    from transformers import AutoModel

    options = {"dtype": torch.float32, "use_safetensors": True, "trust_remote_code": False}
    with quiet_transformers():
        # Refused below: the error of transformers advises an option that our users cannot set.
        model, found = AutoModel.from_pretrained(
            folder, output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    if found["mismatched_keys"]:
        raise wrong_shape(min(str(mismatch[0]) for mismatch in found["mismatched_keys"]))
    missing = [name for name in found["missing_keys"] if not name.startswith("pooler.")]
    if (own := encoder_of(SavedModel.of(model), build)) is not None:
        return own, missing
    return ForeignEncoder(model), [f"model.{name}" for name in missing]


def load_cls_token_classifier(backbone: Backbone, classes: Sequence[str], build: Build) -> Loaded:
    """The classifier of a folder over the first token: our own, or that of transformers."""
    saved = SavedModel.read(backbone.folder)
    if saved is not None and (own := cls_token_classifier(saved, len(classes), build)) is not None:
        return own
    model, missing = _load_foreign_classifier(backbone, classes)
    if (own := cls_token_classifier(SavedModel.of(model), len(classes), build)) is not None:
        return own[0], missing
    module = ForeignClassifier(model, classes, build)
    _check_separable(module, build)
    return module, [f"model.{name}" for name in missing]


def _load_foreign_classifier(backbone: Backbone, classes: Sequence[str]) -> Loaded:
    from transformers import AutoModelForSequenceClassification

    options = {
        "num_labels": len(classes),
        **class_fields(classes),
        "problem_type": "single_label_classification",
        "dtype": torch.float32,
        "use_safetensors": True,
        "trust_remote_code": False,
    }
    with quiet_transformers():
        model, loaded = AutoModelForSequenceClassification.from_pretrained(
            Path(backbone.folder), output_loading_info=True, ignore_mismatched_sizes=True, **options
        )
    if loaded["mismatched_keys"]:
        name = min(str(mismatch[0]) for mismatch in loaded["mismatched_keys"])
        if name.startswith(f"{model.base_model_prefix}."):
            raise wrong_shape(name)
        raise UserError(
            f"Backbone '{backbone.name}' cannot be loaded as a text classifier of {len(classes)} classes: its "
            f"`{name}` has another shape; choose `pooling=mean`, which replaces its head, or an encoder without one.",
            field="protocol.pooling",
        )
    return model, list(loaded["missing_keys"])


def _check_separable(module: nn.Module, build: Build) -> None:
    """Refuse to train only the top layers of an encoder of transformers; our own check it themselves."""
    if build.trained_layers is not None and isinstance(module, ForeignEncoder | ForeignClassifier):
        raise not_separable()


def draw_head(module: nn.Module, missing: Sequence[str], seed: int) -> None:
    """Draw the missing parameters: matrices from a normal distribution, biases are zero.

    They depend on nothing but the seed, so that every retraining starts from the same point on any machine.
    """
    generator = torch.Generator().manual_seed(key(seed, "head"))
    spread = float(getattr(module.config, "initializer_range", 0.02))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name not in missing:
                continue
            if not _drawable(name, parameter):
                logging.getLogger(__name__).warning(
                    "The backbone has no weights for %s; they are randomly initialised.", name
                )
            elif parameter.ndim == 1:
                parameter.zero_()
            else:
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, spread, generator=generator))


def can_draw(module: nn.Module, missing: Sequence[str]) -> bool:
    """Whether `draw_head` sets all missing parameters; it leaves others as transformers initialised them."""
    named = dict(module.named_parameters())
    return all(name in named and _drawable(name, named[name]) for name in missing)


def _drawable(name: str, parameter: Tensor) -> bool:
    return name.endswith("bias") or (name.endswith("weight") and parameter.ndim > 1)
