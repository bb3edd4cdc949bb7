"""A backbone under a head. What the backbone does not bring is drawn from the seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.backbones.references import check_references
from hybridal.backbones.weights import check_weights
from hybridal.errors import UserError, reason
from hybridal.models.encoders.cls_token_classifier import load_first
from hybridal.models.encoders.mean_classifier import load_pooled
from hybridal.models.gpu.recorder import GENERATOR_IN_USE
from hybridal.randomness import key


def load_module(backbone: Backbone, classes: Sequence[str], seed: int, pooling: str) -> tuple[nn.Module, list[str]]:
    """The classifier, and the names of what was drawn."""
    check_weights(Path(backbone.folder))
    check_references(Path(backbone.folder))
    try:
        # What is missing is drawn from the global generator, before we draw it anew.
        with seeded(key(seed, "head")):
            if pooling == "mean":
                module, missing = load_pooled(Path(backbone.folder), classes)
            else:
                module, missing = load_first(backbone, classes)
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
    inside = {id(parameter) for parameter in module.base_model.parameters() if parameter.ndim > 1}
    named = dict(module.named_parameters())
    absent = [name for name in missing if name in named and id(named[name]) in inside and "pooler." not in name]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise UserError(
            f"Backbone '{backbone.name}' has no weights for `{absent[0]}`{more}, which its config.json asks for; copy "
            "or download its files again."
        )


def draw_head(module: nn.Module, missing: Sequence[str], seed: int) -> None:
    """Fills what the backbone did not bring: matrices from a normal distribution, the rest with zeros."""
    generator = torch.Generator().manual_seed(key(seed, "head"))
    spread = float(getattr(module.config, "initializer_range", 0.02))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name not in missing:
                continue
            if not _drawable(name, parameter):
                logging.getLogger(__name__).warning("The backbone has no weights for %s; they stay as drawn.", name)
            elif parameter.ndim == 1:
                parameter.zero_()
            else:
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, spread, generator=generator))


def can_draw(module: nn.Module, missing: Sequence[str]) -> bool:
    """Whether `draw_head` fills all of it; what it does not know stays as the backbone's own code drew it."""
    named = dict(module.named_parameters())
    return all(name in named and _drawable(name, named[name]) for name in missing)


def _drawable(name: str, parameter: Tensor) -> bool:
    return name.endswith("bias") or (name.endswith("weight") and parameter.ndim > 1)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Dropout can only draw from torch's global generators: they are lent to one purpose and put back after."""
    gpus = torch.cuda.device_count()
    with GENERATOR_IN_USE, torch.random.fork_rng(devices=range(gpus)), _mps_state_kept():
        # Those of devices that are there: `torch.manual_seed` notes for each kind that is not from where it was called.
        torch.default_generator.manual_seed(seed)
        torch.mps.manual_seed(seed)
        if gpus:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def _mps_state_kept() -> Iterator[None]:
    """Restore the generator of Apple's GPU, which `fork_rng` leaves alone."""
    if not torch.backends.mps.is_available():
        yield
        return
    state = torch.mps.get_rng_state()
    try:
        yield
    finally:
        torch.mps.set_rng_state(state)
