"""An encoder with a head: its weights θ, its outputs for texts, and its export."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.backbones import Backbone
from hybridal.backbones.text_encoder import LOADING
from hybridal.core.outputs import Ints
from hybridal.models.acceleration import Graphs, graphs_of
from hybridal.models.classifier_input import Source
from hybridal.models.device import Device
from hybridal.models.encoders.batches import PackedBatch, PaddedBatch
from hybridal.models.encoders.classifier_module import ClassifierOutput
from hybridal.models.encoders.dropout import MaskDropout
from hybridal.models.encoders.foreign_encoder import ForeignClassifier, ForeignEncoder
from hybridal.models.encoders.frozen_layers import FrozenStates
from hybridal.models.encoders.layers import Build, Embedding, Encoder, Linear
from hybridal.models.encoders.mean_classifier import MeanClassifier
from hybridal.models.encoders.rounded_linear import RoundedLinear
from hybridal.models.encoders.word_embedding import RowGradientEmbedding
from hybridal.models.export.native_export import is_native_exportable
from hybridal.models.export.portable_export import pooled_classifier, save_portable
from hybridal.models.loading import can_draw, draw_head, load_module
from hybridal.models.process_settings import keep_freed_memory, quiet_transformers
from hybridal.models.token_arrays import Tokenizer, Tokens
from hybridal.models.training.probe import Probe
from hybridal.system.cache import cache_dir


class Classifier:
    """The workspace in which a round trains.

    Args:
        backbone: Folder of the encoder.
        classes: Names of the classes.
        seed: Decides the head's initial weights, and nothing else.
        device: Where it computes, and in which precision.
        train_layers: Train only this many top layers; None trains everything.
        pooling: What the head reads: the "mean" of all tokens, or the "first" as transformers' own classes do.

    Attributes:
        pretrained: θ₀: the backbone's weights and a random head. Every retraining starts from them.
        graphs: Recorded CUDA graphs; None on other devices and for encoders that are not our own.
        packs: Whether texts are packed without padding.
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
        self._config = (backbone, classes, seed, device, train_layers, pooling)
        self.classes, self.pooling = tuple(classes), pooling
        with LOADING:
            module, self._drawn = load_module(backbone, classes, seed, pooling, _build(device, train_layers))
            # A copy also on a processor: the file that the weights are mapped from may be overwritten, and changing
            # mapped memory costs more than a copy.
            self.module = deepcopy(module) if device.torch.type == "cpu" else module.to(device.torch)
        self.module.eval()
        fast = self.has_own_encoder and device.fast
        self.packs = fast and not on_gpu
        self.graphs: Graphs | None = graphs_of(self) if fast and on_gpu else None
        if self.packs:
            keep_freed_memory()
        self.pretrained = self.weights()

    @property
    def has_own_encoder(self) -> bool:
        """Whether the encoder is a module of our own; else it is transformers', and always padded."""
        return isinstance(self._body, Encoder)

    @property
    def encoder(self) -> Encoder:
        """The encoder, if it is our own."""
        assert isinstance(self._body, Encoder)
        return self._body

    @property
    def _body(self) -> nn.Module:
        return self.module.model if isinstance(self.module, ForeignClassifier) else self.module.body

    def with_class_names(self, classes: Sequence[str]) -> Classifier:
        """A view of this classifier for an export under other class names; the module is shared."""
        view = copy(self)
        view.classes = tuple(classes)
        return view

    def clone(self) -> Classifier:
        """A second classifier with the same configuration and its own weights."""
        return Classifier(*self._config)

    @property
    def missing_weights(self) -> tuple[str, ...]:
        """The parameters that the folder has no weights for; they were drawn from the seed."""
        named = dict(self.module.named_parameters())
        return tuple(name for name in self._drawn if name in named)

    @property
    def can_reseed(self) -> bool:
        """Whether classifiers of other seeds differ in the drawn head only."""
        return can_draw(self.module, self._drawn)

    def reseed(self, seed: int) -> None:
        """Become the classifier of another seed; recorded graphs stay valid."""
        self._config = (*self._config[:2], seed, *self._config[3:])
        self.load(self.pretrained)
        draw_head(self.module, self._drawn, seed)
        self._weights_changed()
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
        """Overwrite an earlier copy with the trainable parameters."""
        named = self.trainable()
        with torch.no_grad():
            torch._foreach_copy_([weights[name] for name in named], list(named.values()))

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Copy these weights into the trainable parameters."""
        with torch.no_grad():
            named = self.trainable()
            torch._foreach_copy_(list(named.values()), [weights[name] for name in named])
        self._weights_changed()

    def _weights_changed(self) -> None:
        if self.graphs is not None:
            self.graphs.weights_changed()

    @contextmanager
    def using_weights(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Use these weights inside."""
        before = self.weights()
        self.load(weights)
        try:
            yield
        finally:
            self.load(before)

    def same_encoder(self, one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
        """Whether two sets of weights differ in the last layer at most."""
        last = self.module.output_layer
        head = {id(part) for part in (last.weight, last.bias)}
        names = [name for name, parameter in self.trainable().items() if id(parameter) not in head]
        return all(one[name] is other[name] or torch.equal(one[name], other[name]) for name in names)

    def head(self) -> Probe:
        """The last layer as a probe."""
        last = self.module.output_layer
        bias = torch.zeros(len(self.classes)) if last.bias is None else last.bias
        weight, added = (part.detach().cpu().double().numpy() for part in (last.weight, bias))
        return Probe(weight, added)

    def with_head(self, weights: Mapping[str, Tensor], probe: Probe) -> dict[str, Tensor]:
        """These weights with a probe as their last layer."""
        last = self.module.output_layer
        names = {id(parameter): name for name, parameter in self.trainable().items()}
        head = {names[id(last.weight)]: probe.weight, names[id(last.bias)]: probe.bias}
        placed = {name: torch.from_numpy(values).float().to(self.device.torch) for name, values in head.items()}
        return {**weights, **placed}

    def save(self, folder: Path, temperature: float = 1.0) -> None:
        """Write what `from_pretrained` reads; its probabilities are those at this temperature."""
        if isinstance(self.module, MeanClassifier):
            save_portable(*self._exported_parts(temperature), folder)
            return
        self.module.save(folder, self.classes, temperature)

    def save_onnx(
        self, tokenizer: Tokenizer, folder: Path, temperature: float = 1.0, thresholds: Sequence[float] = ()
    ) -> Path:
        """Write `model.onnx`, for applications without torch; with thresholds, a text may have several classes."""
        from hybridal.models.export.onnx_export import Probabilities, export_onnx

        parts = tokenizer, self.classes, folder, thresholds
        if isinstance(self.module, MeanClassifier):
            model = pooled_classifier(*self._exported_parts(temperature))
            return export_onnx(Probabilities(model, bool(thresholds)), *parts)
        with tempfile.TemporaryDirectory() as scratch:
            # The exporter knows transformers' modules, not ours.
            self.save(Path(scratch), temperature)
            return export_onnx(Probabilities(_load_saved(Path(scratch)), bool(thresholds)), *parts)

    @property
    def is_native_exportable(self) -> bool:
        """Whether transformers loads what `save` writes without additional code."""
        return not isinstance(self.module, MeanClassifier) or is_native_exportable(self._exported_body)

    @property
    def _exported_body(self) -> Any:
        """The encoder under transformers' names."""
        return self._body.model if isinstance(self._body, ForeignEncoder) else self._body

    def _exported_parts(self, temperature: float) -> tuple[Any, Tensor, Tensor, float, Sequence[str]]:
        """Encoder, W, b, T and classes of a classifier over the mean."""
        head = self.module.output_layer
        return self._exported_body, head.weight, head.bias, temperature, self.classes

    def source(self, tokens: Tokens) -> Source:
        """What this classifier reads for these texts: token ids, or the outputs of its frozen layers."""
        if self.graphs is not None or not self.has_own_encoder or not self.encoder.frozen_modules:
            return tokens
        return FrozenStates(self.encoder, tokens, self.device.torch, cache_dir() / "states")

    def matrices(self) -> dict[str, Tensor]:
        """The weight matrices of all linear layers that are trained."""
        layers = ((name, layer) for name, layer in self.module.named_modules() if isinstance(layer, nn.Linear))
        return {name: layer.weight.detach() for name, layer in layers if layer.weight.requires_grad}

    def run(self, batch: PaddedBatch | PackedBatch) -> ClassifierOutput:
        """The outputs for a batch, as `self.module` computes them."""
        output: ClassifierOutput = self.module(batch)
        return output

    def run_texts(self, source: Source, rows: Ints) -> ClassifierOutput:
        """As `run` for rows of a source, packed if this classifier packs."""
        return self.run(PackedBatch.of(source, rows) if self.packs else self.padded(source, rows))

    def logits_of(self, source: Source, rows: Ints) -> Tensor:
        """The logits of these rows."""
        return self.run_texts(source, rows).logits

    def padded(self, source: Source, rows: Ints) -> PaddedBatch:
        """These rows as a padded batch on the device."""
        values, mask = source.batch(rows)
        device = self.device.torch
        return PaddedBatch(torch.from_numpy(values).to(device), torch.from_numpy(mask).to(device))

    @contextmanager
    def training(self, dropout: bool) -> Iterator[None]:
        """Switch dropout on or off inside; it is always off outside."""
        self.module.train(dropout)
        try:
            yield
        finally:
            self.module.eval()


def _build(device: Device, train_layers: int | None) -> Build:
    """The fastest modules for a device; with `arithmetic=plain`, torch's own."""
    fast = device.fast and device.torch.type == "cpu"
    return Build(
        dropout=MaskDropout if fast else nn.Dropout,
        linear=RoundedLinear if device.rounds_operands else Linear,
        word_embedding=RowGradientEmbedding if fast else Embedding,
        trained_layers=train_layers,
        product_bias=device.fast,
        matmul_dtype=device.matmul_dtype,
    )


def _load_saved(folder: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    with quiet_transformers():
        return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)
