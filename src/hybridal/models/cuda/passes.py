"""Passes over texts as graphs: one launch a batch, and one transfer for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.models.classifier import Classifier
from hybridal.models.cuda.recorder import Recorder
from hybridal.models.cuda.rows import bucket, pack, unpack
from hybridal.models.tokens import Progress, Tokens

# Steps of length: short enough that little is padded, few enough graphs that recording them pays.
STEP = 16
# A batch has so many texts, and fewer where they are long: so that its memory is bounded.
TEXTS, TOKENS = 512, 2**15
# What a GPU keeps before it is brought over: enough batches that the transfer does not count.
WAITING = 32


@dataclass(frozen=True)
class Pass:
    """A recorded pass: fill `inputs`, replay, read `outputs`."""

    inputs: Tensor
    outputs: dict[str, Tensor]
    replay: Callable[[], None]


def predict(
    classifier: Classifier,
    recorder: Recorder,
    tokens: Tokens,
    rows: Ints,
    features: bool,
    progress: Progress,
    alone: bool = False,
) -> Outputs:
    """As `evaluation.predict`. A row of a recorded pass does not see the others, but for the length of the batch."""
    done = 0
    found: dict[str, Floats] = {}
    waiting: list[tuple[Ints, dict[str, Tensor]]] = []

    def bring() -> None:
        nonlocal done
        for batch, outputs in waiting:
            done += len(batch)
            for name, values in outputs.items():
                if name not in found:
                    found[name] = np.empty((len(rows), values.shape[1]), dtype=np.float32)
                found[name][batch] = values.cpu().numpy()[: len(batch)]
        waiting.clear()
        progress(done, len(rows))

    for batch, length in batches(tokens.lengths(rows), classifier.positions, TOKENS, alone):
        one = recorder.once(("pass", length), lambda: _record(classifier, recorder, length))  # noqa: B023
        # Pinned, so that the next batch is packed here while this one is computed there.
        packed = torch.from_numpy(pack(tokens, rows[batch], None, len(one.inputs), length)).pin_memory()
        one.inputs.copy_(packed, non_blocking=True)
        one.replay()
        wanted = one.outputs if features else ("logits",)
        waiting.append((batch, {name: one.outputs[name].clone() for name in wanted}))
        if len(waiting) == WAITING:
            bring()
    bring()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


def batches(lengths: Ints, most: int, at_once: int, alone: bool = False) -> Iterator[tuple[Ints, int]]:
    """The rows of each batch of so many tokens, longest first, and the length that they are padded to.

    With `alone`, each is padded to its own.
    """
    order = np.argsort(-lengths, kind="stable")
    while len(order):
        length = bucket(int(lengths[order[0]]), STEP, most)
        size = texts_of(length, at_once)
        if alone:
            size = min(size, int(np.count_nonzero(lengths[order] > (length - 1) // STEP * STEP)))
        yield order[:size], length
        order = order[size:]


def texts_of(length: int, at_once: int) -> int:
    """How many texts of this length a batch of so many tokens has."""
    return max(1, min(TEXTS, at_once // length))


def _record(classifier: Classifier, recorder: Recorder, length: int) -> Pass:
    inputs = torch.ones((texts_of(length, TOKENS), 2 + length), dtype=torch.int32, device=recorder.device)
    outputs: dict[str, Tensor] = {}

    def work() -> None:
        _, ids, mask = unpack(inputs)
        outputs["logits"] = classifier.logits(ids, mask)
        outputs.update(heard)

    with classifier.listening() as heard:
        replay = recorder.record(work, inference=True)
    return Pass(inputs, outputs, replay)
