"""A backbone with a head: weights θ that can be loaded, read and asked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.backbones.backbone import LOADING
from hybridal.cache import cache_dir
from hybridal.errors import UserError
from hybridal.model.cuda.recorder import GENERATOR_IN_USE, Recorder
from hybridal.model.device import Device
from hybridal.model.memory import keep_freed
from hybridal.model.packing import familiar, pack, packed_logits, teach_packing
from hybridal.model.source import Source
from hybridal.model.trunk import States, Trunk
from hybridal.outputs import Ints
from hybridal.randomness import key
from hybridal.tokens import Tokens


class Classifier:
    """The workspace in which a round trains. `pretrained` is θ₀: the backbone's weights and a random head.

    The head's numbers come from the seed alone, so that every RETRAIN starts from the same point on any machine.
    `train_layers` leaves all but the top layers as they are.
    """

    def __init__(
        self, backbone: Backbone, classes: Sequence[str], seed: int, device: Device, train_layers: int | None = None
    ) -> None:
        self.device, on_gpu = device, device.torch.type == "cuda"
        with LOADING:
            self.module = _load_module(backbone, classes, seed).to(device.torch)
        if not on_gpu:
            _own_memory(self.module)
        self.module.eval()
        self._head = _last_linear(self.module, len(classes))
        self._trunk = None if train_layers is None else Trunk(self.module, train_layers)
        records = device.fast and on_gpu and self._trunk is None and familiar(self.module)
        self.recorder = Recorder(device.torch) if records else None
        self.packs = device.fast and not on_gpu and teach_packing(self.module)
        if self.packs:
            keep_freed()
        self.pretrained = self.weights()

    @property
    def positions(self) -> int:
        """The longest row that the encoder has positions for."""
        return int(self.module.config.max_position_embeddings)

    def trainable(self) -> dict[str, Any]:
        """The parameters that training changes, by name."""
        return dict(self.module.named_parameters())

    def weights(self) -> dict[str, Tensor]:
        """A copy of the trainable parameters."""
        return {name: parameter.detach().clone() for name, parameter in self.trainable().items()}

    def copy_to(self, weights: Mapping[str, Tensor]) -> None:
        """Overwrites an earlier copy."""
        for name, parameter in self.trainable().items():
            weights[name].copy_(parameter.detach())

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Takes these weights over, in place."""
        with torch.no_grad():
            for name, parameter in self.trainable().items():
                parameter.copy_(weights[name])

    def save(self, folder: Path) -> None:
        """Writes what `from_pretrained` reads."""
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        with self._trunk.put_back() if self._trunk else nullcontext():
            self.module.save_pretrained(folder)

    def source(self, tokens: Tokens) -> Source:
        """What this classifier reads for these texts: their tokens, or what its frozen layers make of them."""
        if self._trunk is None:
            return tokens
        width = self.module.config.hidden_size
        return States(self._trunk, tokens, width, self.device.torch, cache_dir() / "states")

    def matrices(self) -> dict[str, Tensor]:
        """The weight matrices of all linear layers."""
        layers = self.module.named_modules()
        return {name: layer.weight.detach() for name, layer in layers if isinstance(layer, nn.Linear)}

    def batch(self, source: Source, rows: Ints) -> tuple[Tensor, Tensor]:
        values, mask = source.batch(rows)
        return torch.from_numpy(values).to(self.device.torch), torch.from_numpy(mask).to(self.device.torch)

    def logits(self, values: Tensor, mask: Tensor) -> Tensor:
        given = "inputs_embeds" if values.is_floating_point() else "input_ids"
        with self.device.autocast():
            return self.module(**{given: values}, attention_mask=mask).logits.float()

    def logits_of(self, source: Source, rows: Ints) -> Tensor:
        """As `logits` of `batch`, by the fastest way for texts of different lengths."""
        if self.packs:
            return packed_logits(self.module, pack(source, rows))
        return self.logits(*self.batch(source, rows))

    @contextmanager
    def listening(self) -> Iterator[dict[str, Tensor]]:
        """Inside, each call of `logits` leaves its `hidden` and `embedding` in the dictionary."""
        heard: dict[str, Tensor] = {}

        def hear_body(_module: Any, _inputs: Any, output: Any) -> None:
            heard["hidden"] = output[0][:, 0].float()

        def hear_head(_module: Any, inputs: Any) -> None:
            heard["embedding"] = inputs[0].float()

        hooks = [
            self.module.base_model.register_forward_hook(hear_body),
            self._head.register_forward_pre_hook(hear_head),
        ]
        try:
            yield heard
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def training(self, dropout: bool) -> Iterator[None]:
        """Dropout on or off inside, and always off outside."""
        self.module.train(dropout)
        try:
            yield
        finally:
            self.module.eval()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Dropout can only draw from torch's global generators: they are lent to one purpose and put back after."""
    with GENERATOR_IN_USE, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


def _load_module(backbone: Backbone, classes: Sequence[str], seed: int) -> nn.Module:
    from transformers import AutoModelForSequenceClassification

    try:
        # The library draws what is missing from the global generator, before we draw it anew.
        with seeded(key(seed, "head")), _silence():
            module, loaded = AutoModelForSequenceClassification.from_pretrained(
                Path(backbone.folder),
                num_labels=len(classes),
                id2label=dict(enumerate(classes)),
                label2id={name: i for i, name in enumerate(classes)},
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
            )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"Backbone '{backbone.name}' cannot be loaded as a text classifier: {reason}") from error
    if loaded["mismatched_keys"]:
        name = sorted(str(mismatch[0]) for mismatch in loaded["mismatched_keys"])[0]
        raise UserError(
            f"Backbone '{backbone.name}' cannot be loaded as a text classifier of {len(classes)} classes: its "
            f"`{name}` has another shape; use an encoder without a head, or one with a head of as many classes."
        )
    _draw_head(module, loaded["missing_keys"], seed)
    return module


def _own_memory(module: nn.Module) -> None:
    """Loaded weights are pages of a file: it may be written over, and their first change costs more than a copy."""
    for parameter in module.parameters():
        parameter.data = parameter.data.clone()


@contextmanager
def _silence() -> Iterator[None]:
    """The missing head is no news here, and a progress bar per load is noise."""
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)


def _draw_head(module: nn.Module, missing: Sequence[str], seed: int) -> None:
    """Fills what the backbone did not bring: matrices from a normal distribution, the rest with zeros."""
    generator = torch.Generator().manual_seed(key(seed, "head"))
    spread = float(getattr(module.config, "initializer_range", 0.02))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name not in missing:
                continue
            if not name.endswith(("weight", "bias")) or (parameter.ndim == 1 and name.endswith("weight")):
                logging.getLogger(__name__).warning("The backbone has no weights for %s; they stay as drawn.", name)
            elif parameter.ndim == 1:
                parameter.zero_()
            else:
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, spread, generator=generator))


def _last_linear(module: nn.Module, classes: int) -> nn.Module:
    layers = [m for m in module.modules() if isinstance(m, nn.Linear) and m.out_features == classes]
    return layers[-1]
