"""Passes over texts as graphs: one launch a batch, and one transfer for many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hybridal.model.classifier import Classifier
from hybridal.model.cuda.recorder import Recorder, bucket
from hybridal.model.cuda.rows import pack, unpack
from hybridal.outputs import Floats, Ints, Outputs
from hybridal.tokens import Tokens, length_sorted

BATCH = 256
# What a GPU keeps before it is brought over: enough batches that the transfer does not count.
WAITING = 64


@dataclass(frozen=True)
class Pass:
    """A recorded pass: fill `inputs`, replay, read `outputs`."""

    inputs: Tensor
    outputs: dict[str, Tensor]
    replay: Callable[[], None]


def predict(classifier: Classifier, recorder: Recorder, tokens: Tokens, rows: Ints, features: bool) -> Outputs:
    """As `evaluation.predict`."""
    found: dict[str, Floats] = {}
    waiting: list[tuple[Ints, dict[str, Tensor]]] = []

    def bring() -> None:
        for batch, outputs in waiting:
            for name, values in outputs.items():
                if name not in found:
                    found[name] = np.empty((len(rows), values.shape[1]), dtype=np.float32)
                found[name][batch] = values.cpu().numpy()[: len(batch)]
        waiting.clear()

    for batch in length_sorted(tokens.lengths(rows), BATCH):
        length = bucket(int(tokens.lengths(rows[batch]).max()), classifier.positions)
        one = recorder.once(("pass", length, features), lambda: _record(classifier, recorder, length, features))  # noqa: B023
        # Pinned, so that the next batch is packed here while this one is computed there.
        packed = torch.from_numpy(pack(tokens, rows[batch], None, BATCH, length)).pin_memory()
        one.inputs.copy_(packed, non_blocking=True)
        one.replay()
        waiting.append((batch, {name: values.clone() for name, values in one.outputs.items()}))
        if len(waiting) == WAITING:
            bring()
    bring()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


def _record(classifier: Classifier, recorder: Recorder, length: int, features: bool) -> Pass:
    inputs = torch.ones((BATCH, 2 + length), dtype=torch.int32, device=recorder.device)
    outputs: dict[str, Tensor] = {}

    def work() -> None:
        _, ids, mask = unpack(inputs)
        outputs["logits"] = classifier.logits(ids, mask)
        if features:
            outputs.update(heard)

    with classifier.listening() as heard:
        replay = recorder.record(work, inference=True)
    return Pass(inputs, outputs, replay)
