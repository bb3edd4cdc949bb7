"""An encoder's layers over one row of tokens, computed by our own kernels from weights in few large arrays.

Products use rounded copies of the weights, gradients are written to where the optimiser reads them, and one kernel
updates all weights. Torch's autocast would cast every weight in every step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hybridal.models.encoders.classifier_module import ClassifierOutput
from hybridal.models.gpu import layer_kernels as kernels
from hybridal.models.gpu import matmul_kernels as products
from hybridal.models.gpu.attention_kernels import Attention, max_block_size, shared_memory_bytes
from hybridal.models.gpu.distance_bias import by_distance, sums_by_distance
from hybridal.models.gpu.layer_kernels import Dropout
from hybridal.models.gpu.row_embeddings import RowEmbeddings
from hybridal.models.gpu.token_row import TokenRow
from hybridal.models.gpu.weight_layout import Vectors, flatten_parameters, parts_of, vector_slices, views_like

# Dropouts per layer; each has its own number.
SITES = 3


class FusedEncoder:
    """Computes rows of texts with a classifier's own weights.

    The classifier's parameters become views of few arrays, so that padded batches through its own modules use the same
    weights.

    Args:
        module: A classifier over one of our own encoders. Products are computed in its `build.matmul_dtype`, sums in
            float32.
    """

    def __init__(self, module: Any) -> None:
        self.module, self.encoder, self.dtype = module, module.body, module.build.matmul_dtype
        config = module.config
        self.embeddings = RowEmbeddings(self.encoder.embeddings)
        self.parts = [parts_of(layer) for layer in self.encoder.layers]
        self.heads = int(config.num_attention_heads)
        distil = config.model_type == "distilbert"  # it has no dropout after attention
        self.rates = (
            float(config.attention_dropout if distil else config.attention_probs_dropout_prob),
            0.0 if distil else float(config.hidden_dropout_prob),
            float(config.dropout if distil else config.hidden_dropout_prob),
        )
        self.width = int(self.parts[0].out.weight.shape[0])
        names = self._group()
        self.matrices, self.vectors, self.rest = (flatten_parameters(module, group) for group in names[:3])
        self._owners = [[module.get_parameter(name) for name in group] for group in names]
        self._names = names
        exact = self.dtype == torch.float32
        self.rounded = self.matrices if exact else torch.empty_like(self.matrices, dtype=self.dtype)
        self.rounded_vectors = self.vectors if exact else torch.empty_like(self.vectors, dtype=self.dtype)
        self.gradient = torch.zeros_like(self.rounded)
        self.vector_gradient, self.rest_gradient = torch.zeros_like(self.vectors), torch.zeros_like(self.rest)
        norms = [vector for part in self.parts for vector in part.norms]
        self.norm_parts = self.vectors.new_zeros((kernels.PARTS, sum(map(len, norms))))
        self.shared_memory = shared_memory_bytes(self.rounded.device)
        self.refresh()
        self.at = vector_slices(self.parts)
        self._weights = list(self._matrices_of(self.rounded))
        self._gradients = list(self._matrices_of(self.gradient))

    def _group(self) -> list[list[str]]:
        """The names of all parameters: matrices and vectors of layers, the rest, and the table of words."""
        words = self.embeddings.words.weight
        matrices = [layer.weight for part in self.parts for layer in part.matrices]
        # Norms first: their gradients are added up from parts.
        norms = [vector for part in self.parts for vector in part.norms]
        vectors = [*norms, *(bias for part in self.parts for bias in part.biases)]
        stacked = {id(parameter) for parameter in (*matrices, *vectors, words)}
        rest = [parameter for parameter in self.module.parameters() if id(parameter) not in stacked]
        names = {id(parameter): name for name, parameter in self.module.named_parameters()}
        return [[names[id(parameter)] for parameter in group] for group in (matrices, vectors, rest, [words])]

    @property
    def arrays(self) -> tuple[Tensor, ...]:
        """All weights: matrices and vectors of layers, the rest, and the table of words."""
        return self.matrices, self.vectors, self.rest, self.embeddings.words.weight.detach()

    def refresh(self) -> None:
        """Must be called after the weights were written from elsewhere."""
        if self.rounded is not self.matrices:
            self.rounded.copy_(self.matrices)
            self.rounded_vectors.copy_(self.vectors)

    def run(self, row: TokenRow) -> ClassifierOutput:
        """What the classifier computes for the texts of a row, in the module's precision."""
        with self.module.build.autocast(row.values.device):
            states = self.states(self.encoder.project(self.embeddings(row))[0], row, self.module.training)[None]
            if self.encoder.build.first_token_only:
                states = row.means(states)[:, None]
            output: ClassifierOutput = self.module.classify(states, row)
        return output._replace(logits=output.logits.float())

    def states(self, embedded: Tensor, row: TokenRow, training: bool) -> Tensor:
        """The last layer's state of each token, in float32."""
        with torch.autocast(embedded.device.type, enabled=False):
            bias = by_distance(self.encoder, row.longest)
            found: Tensor = _Layers.apply(embedded.float(), bias, self, row, training)
        return found

    def clear(self) -> None:
        """Clear gradients before a step: those of the rest are accumulated in place, others are overwritten."""
        self.rest_gradient.zero_()
        for parameter, piece in zip(self._owners[2], views_like(self.rest_gradient, self._owners[2]), strict=True):
            parameter.grad = piece

    def named(self, arrays: Sequence[Tensor]) -> dict[str, Tensor]:
        """Pieces of arrays with the layout of `arrays`, by the module's parameter names."""
        return {
            name: piece
            for array, names, owners in zip(arrays, self._names, self._owners, strict=True)
            for name, piece in zip(names, views_like(array.flatten(), owners), strict=True)
        }

    def _matrices_of(self, array: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        at = 0
        for part in self.parts:
            found = []
            for rows, columns in ((3 * self.width, self.width), part.out.weight.shape, part.up.weight.shape,
                                  part.down.weight.shape):  # fmt: skip
                found.append(array[at : at + rows * columns].view(rows, columns))
                at += rows * columns
            yield tuple(found)

    def _vectors_of(self, array: Tensor, layer: int) -> Vectors:
        return Vectors(*(array[where] for where in vars(self.at[layer]).values()))

    def _dropouts(self, layer: int, row: TokenRow, training: bool) -> list[Dropout]:
        rates = self.rates if training else (0.0,) * SITES
        return [Dropout(rate, row.seed, layer * SITES + site) for site, rate in enumerate(rates)]

    def _attention(self, bias: Tensor | None, row: TokenRow) -> Attention:
        most = max_block_size(
            self.width // self.heads, self.rounded.element_size(), bias is not None, self.shared_memory
        )
        return Attention(self.heads, row.lengths, row.longest, bias, most)

    def forward(
        self, states: Tensor, bias: Tensor | None, row: TokenRow, training: bool, keep: list[Any] | None
    ) -> Tensor:
        attention = self._attention(bias, row)
        rounded = states.to(self.dtype)
        # Rows of a forward pass fill a GPU, for which torch's own products are fastest.
        with_gradient = keep is not None
        linear, linear_gelu = (
            (products.forward, products.forward_gelu) if with_gradient else (nn.functional.linear, _linear_gelu)
        )
        for number, part in enumerate(self.parts):
            weights, added = self._weights[number], self._vectors_of(self.rounded_vectors, number)
            norms = self._vectors_of(self.vectors, number)
            dropped, after_attention, after_down = self._dropouts(number, row, training)
            qkv = linear(rounded, weights[0], added.qkv)
            attended, log_sums = attention.forward(qkv, dropped)
            out = linear(attended, weights[1], added.out)
            middle, rounded_middle, middle_moments = kernels.add_norm(
                states, out, norms.middle_gain, norms.middle_bias, part.middle_norm.eps, after_attention, self.dtype
            )
            up, active = linear_gelu(rounded_middle, weights[2], added.up)
            down = linear(active, weights[3], added.down)
            last, rounded_last, last_moments = kernels.add_norm(
                middle, down, norms.last_gain, norms.last_bias, part.last_norm.eps, after_down, self.dtype
            )
            if keep is not None:
                keep.append((states, rounded, qkv, attended, log_sums, out, middle, rounded_middle, middle_moments, up,
                             active, down, last_moments))  # fmt: skip
            states, rounded = last, rounded_last
        return states

    def backward(
        self, grad_output: Tensor, bias: Tensor | None, row: TokenRow, training: bool, kept: list[Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of the input and of the bias; those of the weights are written to their arrays."""
        attention = self._attention(bias, row)
        skip: Tensor | None = None
        grad_biases: list[Tensor] = []
        for number in reversed(range(len(self.parts))):
            (states, rounded, qkv, attended, log_sums, out, middle, rounded_middle, middle_moments, up,
             active, down, last_moments) = kept.pop()  # fmt: skip
            weights, gradients, at = self._weights[number], self._gradients[number], self.at[number]
            norms, biases = (self._vectors_of(array, number) for array in (self.vectors, self.vector_gradient))
            dropped, after_attention, after_down = self._dropouts(number, row, training)
            grad_middle, grad_down = kernels.add_norm_backward(
                grad_output, skip, middle, down, norms.last_gain, last_moments, after_down, self.norm_parts,
                (at.last_gain.start, at.last_bias.start),
            )  # fmt: skip
            products.weight_gradients(grad_down, active, gradients[3], biases.down)
            grad_up = products.input_gradient_gelu(grad_down, weights[3], up)
            products.weight_gradients(grad_up, rounded_middle, gradients[2], biases.up)
            grad_output, grad_out = kernels.add_norm_backward(
                grad_middle, products.input_gradient(grad_up, weights[2]), states, out, norms.middle_gain,
                middle_moments, after_attention, self.norm_parts, (at.middle_gain.start, at.middle_bias.start),
            )  # fmt: skip
            products.weight_gradients(grad_out, attended, gradients[1], biases.out)
            grad_attended = products.input_gradient(grad_out, weights[1])
            grad_qkv, pair_gradients = attention.backward(grad_attended, qkv, attended, log_sums, dropped)
            if pair_gradients is not None:
                grad_biases.append(sums_by_distance(pair_gradients, row.positions))
            products.weight_gradients(grad_qkv, rounded, gradients[0], biases.qkv)
            skip = products.input_gradient(grad_qkv, weights[0])
        kernels.add_parts(self.norm_parts, self.vector_gradient)
        grad_bias = sum(grad_biases[1:], grad_biases[0]) if grad_biases else None
        return grad_output if skip is None else grad_output + skip, grad_bias


def _linear_gelu(values: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    found = nn.functional.linear(values, weight, bias)
    return found, kernels.gelu(found)


class _Layers(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, embedded: Tensor, bias: Tensor | None, encoder: FusedEncoder, row: TokenRow, training: bool
    ) -> Tensor:
        ctx.encoder, ctx.row, ctx.training = encoder, row, training
        ctx.bias = None if bias is None else bias.detach()
        ctx.kept = [] if embedded.requires_grad else None
        return encoder.forward(embedded, bias, row, training, ctx.kept)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.encoder.backward(grad_output.contiguous(), ctx.bias, ctx.row, ctx.training, ctx.kept)
        return *found, None, None, None
