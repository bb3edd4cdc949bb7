"""AdamW as Triton kernels: over the arrays of a `FusedEncoder`, and lazily over word embeddings.

AdamW changes every row of a table in every step, also those of words that are not in the batch. Here these updates are
lazy: the missed steps are applied when the word occurs again, or when the table is read. The result is the same, and a
step touches some hundred rows of thirty thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hybridal.models.gpu.fused_encoder import FusedEncoder
from hybridal.models.gpu.graph_recorder import WARM_UPS
from hybridal.models.training.adamw import PARTS

# Elements that one program updates.
ELEMENTS = 1024
# Occurrences of a word whose gradients are summed at once.
OCCURRENCES = 8


class FusedEncoderAdamW:
    """An `Optimizer` (`graph_steps.py`) for all weights of a `FusedEncoder`."""

    def __init__(self, encoder: FusedEncoder, decay: float, most: int) -> None:
        self._encoder, self._decay, self._table = encoder, decay, encoder.embeddings.words.weight.detach()
        self._moments = [array.new_zeros((2, *array.shape)) for array in encoder.arrays]
        self._taken = self._table.new_zeros(())
        # The step before the first of this run, the rates of its steps from then on, and the last step of each word.
        self._before = self._table.new_zeros((), dtype=torch.int32)
        self._rates = self._table.new_zeros(1 + most + WARM_UPS)
        self._stepped = self._table.new_zeros(len(self._table), dtype=torch.int32)

    def state(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for part, number in zip(PARTS[1:], range(2), strict=True):
            pieces = self._encoder.named([moments[number] for moments in self._moments])
            found |= {f"{part}/{name}": piece for name, piece in pieces.items()}
            found |= {f"{PARTS[0]}/{name}": self._taken for name in pieces}
        return found

    def weights_changed(self) -> None:
        self._before.copy_(self._taken)
        self._stepped.copy_(self._taken.expand_as(self._stepped))
        self._encoder.refresh()

    def plan(self, rates: Sequence[float]) -> None:
        self._before.copy_(self._taken)
        self._rates[1 : 1 + len(rates)].copy_(torch.tensor(rates))

    def clear(self) -> None:
        self._encoder.clear()

    def step(self) -> None:
        self._taken.add_(1)
        encoder = self._encoder
        for weights, gradient, rounded, (first, second) in (
            (encoder.matrices, encoder.gradient, encoder.rounded, self._moments[0]),
            (encoder.vectors, encoder.vector_gradient, encoder.rounded_vectors, self._moments[1]),
            (encoder.rest, encoder.rest_gradient, encoder.rest, self._moments[2]),
        ):
            _step[(triton.cdiv(len(weights), ELEMENTS),)](
                weights,
                gradient,
                first,
                second,
                rounded,
                *self._clock(),
                len(weights),
                ELEMENTS,
                rounded is not weights,
            )
        ids, order, gradient = encoder.embeddings.word_gradients()
        _step_words[(len(order),)](
            ids, order, gradient, len(order), *self._rows(), OCCURRENCES, triton.next_power_of_2(self._table.shape[1])
        )

    def catch_up(self) -> None:
        _catch_up[(len(self._table),)](*self._rows(), triton.next_power_of_2(self._table.shape[1]))

    def _clock(self) -> tuple[Any, ...]:
        return self._taken, self._before, self._rates, self._decay

    def _rows(self) -> tuple[Any, ...]:
        first, second = self._moments[3]
        return self._table, first, second, self._stepped, *self._clock(), self._table.shape[1]


@triton.jit  # type: ignore[untyped-decorator]
def _adamw_step(
    w: tl.tensor, m: tl.tensor, v: tl.tensor, g: tl.tensor, step: tl.tensor, rate: tl.tensor, decay: tl.tensor
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """One step, with torch's own constants."""
    taken = tl.cast(step, tl.float64)
    # In double: the first steps differ from one by thousandths.
    first_share = (1.0 - tl.exp(taken * -0.10536051565782628)).to(tl.float32)  # 1 - 0.9ᵗ
    second_share = (1.0 - tl.exp(taken * -0.0010005003335835335)).to(tl.float32)  # 1 - 0.999ᵗ
    m += 0.1 * (g - m)
    v = 0.999 * v + 0.001 * g * g
    w *= 1.0 - rate * decay
    w -= rate / first_share * m / (tl.sqrt(v) / tl.sqrt(second_share) + 1e-8)
    return w, m, v


@triton.jit  # type: ignore[untyped-decorator]
def _lazy_steps(
    w: tl.tensor, m: tl.tensor, v: tl.tensor, last: tl.tensor, until: tl.tensor,
    before: tl.tensor, rates: tl.tensor, decay: tl.tensor,
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """The lazy steps without a gradient, from after `last` to `until`."""
    if tl.max(tl.abs(m)) + tl.max(v) == 0.0:  # a word that has never occurred is only decayed
        for step in range(last + 1, until + 1):
            w *= 1.0 - tl.load(rates + step - before) * decay
    else:
        for step in range(last + 1, until + 1):
            w, m, v = _adamw_step(w, m, v, m * 0.0, step, tl.load(rates + step - before), decay)
    return w, m, v


@triton.jit  # type: ignore[untyped-decorator]
def _step(
    weights: tl.tensor, gradient: tl.tensor, first: tl.tensor, second: tl.tensor, rounded: tl.tensor,
    taken: tl.tensor, before: tl.tensor, rates: tl.tensor, decay: tl.tensor, count: tl.tensor,
    ELEMENTS: tl.constexpr, ROUNDED: tl.constexpr,
) -> None:  # fmt: skip
    """`rounded` receives the weights in the products' precision."""
    place = tl.program_id(0) * ELEMENTS + tl.arange(0, ELEMENTS)
    there = place < count
    now = tl.load(taken).to(tl.int32)
    g = tl.load(gradient + place, mask=there, other=0.0).to(tl.float32)
    w = tl.load(weights + place, mask=there, other=0.0)
    m = tl.load(first + place, mask=there, other=0.0)
    v = tl.load(second + place, mask=there, other=0.0)
    w, m, v = _adamw_step(w, m, v, g, now, tl.load(rates + now - tl.load(before)), decay)
    tl.store(weights + place, w, mask=there)
    tl.store(first + place, m, mask=there)
    tl.store(second + place, v, mask=there)
    if ROUNDED:
        tl.store(rounded + place, w, mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _step_words(
    ids: tl.tensor, order: tl.tensor, gradient: tl.tensor, tokens: tl.tensor,
    weights: tl.tensor, first: tl.tensor, second: tl.tensor, stepped: tl.tensor,
    taken: tl.tensor, before: tl.tensor, rates: tl.tensor, decay: tl.tensor, width: tl.tensor,
    OCCURRENCES: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """One program per token, in the order of words; the first token of a word sums the gradients of all of them."""
    place, column = tl.program_id(0), tl.arange(0, WIDTH)
    word = tl.load(ids + tl.load(order + place))
    if (place > 0) & (tl.load(ids + tl.load(order + tl.maximum(place - 1, 0))) == word):
        return
    used = column < width
    total = tl.zeros((OCCURRENCES, WIDTH), tl.float32)
    more = True
    while more:
        index = place + tl.arange(0, OCCURRENCES)
        at = tl.load(order + index, mask=index < tokens, other=0)
        own = (index < tokens) & (tl.load(ids + at) == word)
        total += tl.load(gradient + at[:, None] * width + column[None, :], mask=own[:, None] & used[None, :], other=0.0)
        place += OCCURRENCES
        more = tl.sum(own.to(tl.int32)) == OCCURRENCES
    row = word * width + column
    w = tl.load(weights + row, mask=used, other=0.0)
    m = tl.load(first + row, mask=used, other=0.0)
    v = tl.load(second + row, mask=used, other=0.0)
    now, start = tl.load(taken).to(tl.int32), tl.load(before)
    w, m, v = _lazy_steps(w, m, v, tl.load(stepped + word), now - 1, start, rates, decay)
    w, m, v = _adamw_step(w, m, v, tl.sum(total, axis=0), now, tl.load(rates + now - start), decay)
    tl.store(weights + row, w, mask=used)
    tl.store(first + row, m, mask=used)
    tl.store(second + row, v, mask=used)
    tl.store(stepped + word, now)


@triton.jit  # type: ignore[untyped-decorator]
def _catch_up(
    weights: tl.tensor, first: tl.tensor, second: tl.tensor, stepped: tl.tensor,
    taken: tl.tensor, before: tl.tensor, rates: tl.tensor, decay: tl.tensor, width: tl.tensor,
    WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    word, column = tl.program_id(0), tl.arange(0, WIDTH)
    now, last = tl.load(taken).to(tl.int32), tl.load(stepped + word)
    if last >= now:
        return
    used = column < width
    row = word.to(tl.int64) * width + column
    w = tl.load(weights + row, mask=used, other=0.0)
    m = tl.load(first + row, mask=used, other=0.0)
    v = tl.load(second + row, mask=used, other=0.0)
    w, m, v = _lazy_steps(w, m, v, last, now, tl.load(before), rates, decay)
    tl.store(weights + row, w, mask=used)
    tl.store(first + row, m, mask=used)
    tl.store(second + row, v, mask=used)
    tl.store(stepped + word, now)
