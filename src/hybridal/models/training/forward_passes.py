"""Asking a classifier: passes over texts, sorted by length so that little is padded."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.models.classifier import Classifier
from hybridal.models.gpu import graph_gradients as gradients
from hybridal.models.gpu import graph_passes as passes
from hybridal.models.loading import seeded
from hybridal.models.memory import give_back
from hybridal.models.text_source import Source
from hybridal.models.token_arrays import Progress, Tokens, length_sorted, unheard

# Tokens of a batch. Large ones feed a GPU; on a processor they cost cache misses, and small ones time between them.
TOKENS = {"cuda": 2**15, "mps": 2**15, "cpu": 3 * 2**10}
# A pass over so many texts is long: memory counts more than the moment that it takes to tidy up after it.
LONG = 512


def predict(
    classifier: Classifier,
    source: Source,
    rows: Ints,
    features: bool = False,
    progress: Progress = unheard,
    alone: bool = False,
) -> Outputs:
    """One pass over these rows, dropout off; with `features`, what the layers before the logits said too.

    With `alone` a text's outputs do not depend on the others, to the last digit.
    """
    if classifier.recorder is not None and isinstance(source, Tokens) and len(rows):
        return passes.predict(classifier, classifier.recorder, source, rows, features, progress, alone)
    done = 0
    found: dict[str, Floats] = {}

    def keep(name: str, batch: Ints, values: torch.Tensor) -> None:
        if name not in found:
            found[name] = np.empty((len(rows), values.shape[1]), dtype=np.float32)
        found[name][batch] = values.cpu().numpy()

    with torch.inference_mode(), classifier.listening() as heard:
        batches = np.arange(len(rows))[:, None] if alone else _batches(classifier, source, rows)
        for batch in batches:
            keep("logits", batch, classifier.logits_of(source, rows[batch]))
            if features:
                keep("hidden", batch, heard["hidden"])
                keep("embedding", batch, heard["embedding"])
            done += len(batch)
            progress(done, len(rows))
    if done >= LONG:
        give_back()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


def sampled_logits(classifier: Classifier, source: Source, rows: Ints, passes: int, seed: int) -> Floats:
    """(passes, N, C): each pass with dropout on and masks of its own."""
    samples = np.empty((passes, len(rows), len(classifier.classes)), dtype=np.float32)
    with torch.inference_mode(), classifier.training(dropout=True), seeded(seed):
        for number in range(passes):
            for batch in _batches(classifier, source, rows):
                logits = classifier.logits_of(source, rows[batch])
                samples[number, batch] = logits.cpu().numpy()
    return samples


def gradient_norm(classifier: Classifier, source: Source, rows: Ints, labels: Ints) -> float:
    """The L2 norm of the gradient of the mean loss over these rows, dropout off."""
    if classifier.recorder is not None and isinstance(source, Tokens) and len(rows):
        return gradients.gradient_norm(classifier, classifier.recorder, source, rows, labels)
    parameters = list(classifier.trainable().values())
    classifier.module.zero_grad(set_to_none=True)  # training leaves the gradients of its last batch
    for batch in _batches(classifier, source, rows):
        logits = classifier.logits_of(source, rows[batch])
        target = torch.from_numpy(labels[batch]).to(logits.device)
        loss = nn.functional.cross_entropy(logits, target, reduction="sum") / len(rows)
        loss.backward()
    grads = [p.grad.cpu() if p.grad.is_mps else p.grad for p in parameters if p.grad is not None]  # it has no doubles
    squares = torch.stack([grad.double().square().sum() for grad in grads])
    classifier.module.zero_grad(set_to_none=True)
    return math.sqrt(sum(squares.tolist()))


def _batches(classifier: Classifier, source: Source, rows: Ints) -> list[Ints]:
    return list(length_sorted(source.lengths(rows), TOKENS[classifier.device.torch.type]))
