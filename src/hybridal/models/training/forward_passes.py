"""Forward passes over texts, sorted by length so that little is padded."""

from __future__ import annotations

import math

import numpy as np
import torch

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.models.classifier import Classifier
from hybridal.models.classifier_input import Source
from hybridal.models.process_settings import return_freed_memory
from hybridal.models.token_arrays import Progress, Tokens, length_sorted, no_progress
from hybridal.models.torch_generators import seeded
from hybridal.models.training.losses import CROSS_ENTROPY, Loss

# Tokens of a batch. Large batches keep a GPU busy; on a processor they cost cache misses, and small ones overhead.
TOKENS = {"cuda": 2**15, "mps": 2**15, "cpu": 3 * 2**10}
# After a pass over this many texts, free memory is returned to the system.
LONG_PASS = 512


def predict(
    classifier: Classifier,
    source: Source,
    rows: Ints,
    features: bool = False,
    progress: Progress = no_progress,
    batch_invariant: bool = False,
) -> Outputs:
    """One pass over these rows, without dropout.

    Args:
        classifier: Asked as it is now.
        source: The texts.
        rows: Which of them; outputs have the same order.
        features: Also return `hidden` and `embedding`.
        progress: Called with the number of finished texts and of all.
        batch_invariant: Compute each text so that its outputs do not depend on the other texts, to the last digit.
    """
    if classifier.graphs is not None and isinstance(source, Tokens) and len(rows):
        return classifier.graphs.predict(source, rows, features, progress, batch_invariant)
    done = 0
    found: dict[str, Floats] = {}

    def keep(name: str, batch: Ints, values: torch.Tensor) -> None:
        if name not in found:
            found[name] = np.empty((len(rows), values.shape[1]), dtype=np.float32)
        found[name][batch] = values.cpu().numpy()

    with torch.inference_mode():
        batches = np.arange(len(rows))[:, None] if batch_invariant else _batches(classifier, source, rows)
        for batch in batches:
            output = classifier.run_texts(source, rows[batch])
            keep("logits", batch, output.logits)
            if features:
                keep("hidden", batch, output.hidden.float())
                keep("embedding", batch, output.embedding.float())
            done += len(batch)
            progress(done, len(rows))
    if done >= LONG_PASS:
        return_freed_memory()
    return Outputs(found["logits"], found.get("hidden"), found.get("embedding"))


def sampled_logits(classifier: Classifier, source: Source, rows: Ints, passes: int, seed: int) -> Floats:
    """Logits with dropout on, (passes, N, classes); each pass draws its own masks."""
    samples = np.empty((passes, len(rows), len(classifier.classes)), dtype=np.float32)
    with torch.inference_mode(), classifier.training(dropout=True), seeded(seed):
        for number in range(passes):
            for batch in _batches(classifier, source, rows):
                logits = classifier.logits_of(source, rows[batch])
                samples[number, batch] = logits.cpu().numpy()
    return samples


def gradient_norm(
    classifier: Classifier, source: Source, rows: Ints, labels: Ints, loss: Loss = CROSS_ENTROPY
) -> float:
    """The L2 norm of the gradient of the mean loss over these rows, without dropout."""
    loss.prepare(classifier.device.torch)
    if classifier.graphs is not None and isinstance(source, Tokens) and len(rows):
        return classifier.graphs.gradient_norm(source, rows, labels, loss)
    parameters = list(classifier.trainable().values())
    classifier.module.zero_grad(set_to_none=True)  # gradients of the last training batch are still there
    for batch in _batches(classifier, source, rows):
        logits = classifier.logits_of(source, rows[batch])
        target = torch.from_numpy(labels[batch]).to(logits.device)
        (loss(logits, target, reduction="sum") / len(rows)).backward()
    grads = [p.grad.cpu() if p.grad.is_mps else p.grad for p in parameters if p.grad is not None]  # MPS has no float64
    squares = torch.stack([grad.double().square().sum() for grad in grads])
    classifier.module.zero_grad(set_to_none=True)
    return math.sqrt(sum(squares.tolist()))


def _batches(classifier: Classifier, source: Source, rows: Ints) -> list[Ints]:
    return list(length_sorted(source.lengths(rows), TOKENS[classifier.device.torch.type]))
