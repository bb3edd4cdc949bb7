"""A backbone with a head: weights θ that can be loaded, read and asked."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.backbones.backbone import LOADING
from hybridal.core.outputs import Ints
from hybridal.models.device import Device
from hybridal.models.encoders.cls_token_classifier import save_first
from hybridal.models.encoders.frozen_layers import States, Trunk, freeze
from hybridal.models.encoders.mean_classifier import PooledClassifier
from hybridal.models.encoders.packing import familiar, pack, packed_logits, teach_masks, teach_packing
from hybridal.models.encoders.quiet_transformers import quiet
from hybridal.models.export.native_export import survives_plainly
from hybridal.models.export.portable_export import pooled_classifier, save_portable
from hybridal.models.gpu.recorder import Recorder
from hybridal.models.loading import can_draw, draw_head, load_module
from hybridal.models.memory import keep_freed
from hybridal.models.text_source import Source
from hybridal.models.token_arrays import Encoder, Tokens
from hybridal.models.training.probe import Probe
from hybridal.system.cache import cache_dir

if TYPE_CHECKING:
    from hybridal.models.gpu.stack import Stack


class Classifier:
    """The workspace in which a round trains. `pretrained` is θ₀: the backbone's weights and a random head.

    The head's numbers come from the seed alone, so that every RETRAIN starts from the same point on any machine.
    `train_layers` leaves all but the top layers as they are; `pooling` says what the head reads: the "mean" of all
    tokens, or the "first" as transformers' own classes do.
    """

    def __init__(
        self,
        backbone: Backbone,
        classes: Sequence[str],
        seed: int,
        device: Device,
        train_layers: int | None = None,
        pooling: str = "first",
    ) -> None:
        self.device, on_gpu = device, device.torch.type == "cuda"
        self._parts = (backbone, classes, seed, device, train_layers, pooling)
        self.classes, self.pooling = tuple(classes), pooling
        with LOADING:
            module, self._drawn = load_module(backbone, classes, seed, pooling)
            self.module = module.to(device.torch)
        if not on_gpu:
            _own_memory(self.module)
        self.module.eval()
        self._head = _last_linear(self.module, len(classes))
        records = device.fast and on_gpu and familiar(self.module)
        self._trunk: Trunk | None = None
        self._frozen: list[Any] = []
        if train_layers is not None and records:
            self._frozen = freeze(self.module, train_layers)
        elif train_layers is not None:
            self._trunk = Trunk(self.module, train_layers)
        self.recorder = Recorder(device.torch) if records else None
        self.stack: Stack | None = None
        if records:
            teach_masks(self.module)
        if records and not self._frozen:
            self.stack = _teach_stack(self.module, device, first_tokens=pooling == "first")
        self.packs = device.fast and not on_gpu and teach_packing(self.module, first_tokens=pooling == "first")
        if self.packs:
            keep_freed()
        self.pretrained = self.weights()

    def twin(self) -> Classifier:
        """Another one of the same make, with weights of its own."""
        return Classifier(*self._parts)

    @property
    def renewable(self) -> bool:
        """Whether another seed differs in nothing but the head that is drawn."""
        return can_draw(self.module, self._drawn)

    def renew(self, seed: int) -> None:
        """θ₀ becomes that of another seed. All that was recorded stays of use."""
        self._parts = (*self._parts[:2], seed, *self._parts[3:])
        self.load(self.pretrained)
        draw_head(self.module, self._drawn, seed)
        if self.stack is not None:
            self.stack.refresh()
        self.pretrained = self.weights()

    @property
    def positions(self) -> int:
        """The longest row that the encoder has positions for."""
        return int(self.module.config.max_position_embeddings)

    def trainable(self) -> dict[str, Any]:
        """The parameters that training changes, by name."""
        return {name: parameter for name, parameter in self.module.named_parameters() if parameter.requires_grad}

    def weights(self) -> dict[str, Tensor]:
        """A copy of the trainable parameters."""
        return {name: parameter.detach().clone() for name, parameter in self.trainable().items()}

    def copy_to(self, weights: Mapping[str, Tensor]) -> None:
        """Overwrites an earlier copy."""
        named = self.trainable()
        with torch.no_grad():
            torch._foreach_copy_([weights[name] for name in named], list(named.values()))

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Takes these weights over, in place."""
        with torch.no_grad():
            named = self.trainable()
            torch._foreach_copy_(list(named.values()), [weights[name] for name in named])
        if self.stack is not None:
            self.stack.refresh()

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Inside, it answers by these weights."""
        now = self.weights()
        self.load(weights)
        try:
            yield
        finally:
            self.load(now)

    def same_encoder(self, one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
        """Whether two weights differ in their last layer at most."""
        head = {id(part) for part in (self._head.weight, self._head.bias)}
        names = [name for name, parameter in self.trainable().items() if id(parameter) not in head]
        return all(one[name] is other[name] or torch.equal(one[name], other[name]) for name in names)

    def head(self) -> Probe:
        """The last layer, as it is now."""
        bias = torch.zeros(len(self.classes)) if self._head.bias is None else self._head.bias
        weight, added = (part.detach().cpu().double().numpy() for part in (self._head.weight, bias))
        return Probe(weight, added)

    def with_head(self, weights: Mapping[str, Tensor], probe: Probe) -> dict[str, Tensor]:
        """These weights with another last layer."""
        names = {id(parameter): name for name, parameter in self.trainable().items()}
        head = {names[id(self._head.weight)]: probe.weight, names[id(self._head.bias)]: probe.bias}
        placed = {name: torch.from_numpy(values).float().to(self.device.torch) for name, values in head.items()}
        return {**weights, **placed}

    def save(self, folder: Path, temperature: float = 1.0) -> None:
        """Writes what `from_pretrained` reads; its probabilities are those at this temperature."""
        with self._whole():
            if isinstance(self.module, PooledClassifier):
                save_portable(*self._parted(temperature), folder)
                return
            with self._cooled(temperature):
                save_first(self.module, folder)

    def save_onnx(self, encoder: Encoder, folder: Path, temperature: float = 1.0) -> Path:
        """Writes `model.onnx`, for those who serve without torch."""
        from hybridal.models.export.onnx_export import Probabilities, export_onnx

        with self._whole():
            if isinstance(self.module, PooledClassifier):
                pooled = pooled_classifier(*self._parted(temperature))
                return export_onnx(Probabilities(pooled), encoder, self.classes, folder)
            with tempfile.TemporaryDirectory() as scratch, self._cooled(temperature):
                # Taught to pack texts, the module is no longer what the exporter knows.
                save_first(self.module, Path(scratch))
                return export_onnx(Probabilities(_as_saved(Path(scratch))), encoder, self.classes, folder)

    @property
    def loads_plainly(self) -> bool:
        """Whether transformers loads what `save` writes with no code beside it."""
        return not isinstance(self.module, PooledClassifier) or survives_plainly(self.module.body)

    def _parted(self, temperature: float) -> tuple[Any, Tensor, Tensor, float, Sequence[str]]:
        """The body, W, b, T and the classes of one that reads the mean."""
        head = self.module.classifier
        return self.module.body, head.weight, head.bias, temperature, self.classes

    def _whole(self) -> AbstractContextManager[None]:
        return self._trunk.put_back() if self._trunk else nullcontext()

    @contextmanager
    def _cooled(self, temperature: float) -> Iterator[None]:
        """Inside, the last layer divides by the temperature."""
        parts = [part for part in (self._head.weight, self._head.bias) if part is not None]
        kept = [part.detach().clone() for part in parts]
        with torch.no_grad():
            for part in parts:
                part.div_(temperature)
        try:
            yield
        finally:
            with torch.no_grad():
                for part, before in zip(parts, kept, strict=True):
                    part.copy_(before)

    def source(self, tokens: Tokens) -> Source:
        """What this classifier reads for these texts: their tokens, or what its frozen layers make of them."""
        if self._trunk is None:
            return tokens
        width = self.module.config.hidden_size
        return States(self._trunk, tokens, width, self.device.torch, cache_dir() / "states")

    def matrices(self) -> dict[str, Tensor]:
        """The weight matrices of all linear layers that learn."""
        layers = ((name, layer) for name, layer in self.module.named_modules() if isinstance(layer, nn.Linear))
        return {name: layer.weight.detach() for name, layer in layers if layer.weight.requires_grad}

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

    def logits_of_row(self, inputs: Tensor, texts: int, longest: int) -> Tensor:
        """As `logits` of texts that stand one after the other, for a classifier with a stack."""
        from hybridal.models.gpu.token_row import Row

        assert self.stack is not None
        row = Row.of(inputs, texts, longest, first_tokens=self.pooling == "first")
        with self.device.autocast(), self.stack.lookups.reading(row):
            return packed_logits(self.module, row).float()

    @contextmanager
    def listening(self) -> Iterator[dict[str, Tensor]]:
        """Inside, each call of `logits` leaves its `hidden` and `embedding` in the dictionary."""
        heard: dict[str, Tensor] = {}
        pooled = isinstance(self.module, PooledClassifier)
        body = self.module.mean if pooled else self.module.base_model

        def hear_body(_module: Any, _inputs: Any, output: Any) -> None:
            heard["hidden"] = output.float() if pooled else output[0][:, 0].float()

        def hear_head(_module: Any, inputs: Any) -> None:
            heard["embedding"] = inputs[0].float()

        hooks = [
            body.register_forward_hook(hear_body),
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
        for part in self._frozen:
            part.eval()
        try:
            yield
        finally:
            self.module.eval()


def _teach_stack(module: nn.Module, device: Device, first_tokens: bool) -> Stack | None:
    """Kernels of our own for layers that we know, where Triton is there: it comes with torch's builds for CUDA."""
    if importlib.util.find_spec("triton") is None:
        return None
    from hybridal.models.gpu.stack import stackable, teach_stack

    dtype = torch.float32 if device.precision == "fp32" else torch.bfloat16
    return teach_stack(module, dtype, first_tokens) if stackable(module) else None


def _as_saved(folder: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    with quiet():
        return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)


def _own_memory(module: nn.Module) -> None:
    """Loaded weights are pages of a file: it may be written over, and their first change costs more than a copy."""
    for parameter in module.parameters():
        parameter.data = parameter.data.clone()


def _last_linear(module: nn.Module, classes: int) -> nn.Module:
    layers = [m for m in module.modules() if isinstance(m, nn.Linear) and m.out_features == classes]
    return layers[-1]
