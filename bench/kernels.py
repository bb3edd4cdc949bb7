"""The time of a training step on a GPU, by kernel: `python -m bench.kernels --size minilm`.

One lane alone, texts without meaning and random weights, as in `bench.study`: what a kernel takes here it takes of all
lanes together, where they fill the GPU.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.gpu import CLASSES, GRAPHS, RULES, examples_of, random_texts, steps_of
from bench.study import SIZES, write_backbone, write_texts
from hybridal.backbones import Backbone
from hybridal.models.classifier import Classifier
from hybridal.models.device import choose_device
from hybridal.models.token_arrays import Tokens
from hybridal.tasks import load_task

VOCABULARY = 1000  # of the random encoders, and less


def texts(count: int, mean: int) -> Tokens:
    """`count` texts of `mean` tokens on average."""
    rng = np.random.default_rng(0)
    found = random_texts(np.clip(rng.gamma(3.0, mean / 3.0, count), 4, 128).astype(int), rng)
    return Tokens(found.flat % VOCABULARY, found.offsets, pad=0)


def by_kernel(events: Iterable[Any], steps: int) -> list[tuple[str, float, float]]:
    """Kernel names, launches per step and time per step in µs; the longest first."""
    taken: dict[str, list[float]] = defaultdict(list)
    for event in events:
        taken[event.name].append(event.device_time_total)
    rows = [(name, len(times) / steps, sum(times) / steps) for name, times in taken.items()]
    return sorted(rows, key=lambda row: -row[2])


def measure(size: str, length: int) -> tuple[list[tuple[str, float, float]], float]:
    """The kernels of a step, and its wall-clock time without profiling, in µs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = load_task(write_texts(folder)["task"], text="text", label="label")
        write_backbone(size, task, folder / "encoder")
        classifier = Classifier(Backbone(size, folder / "encoder"), CLASSES, 1, GRAPHS)
        steps, examples = steps_of(classifier), examples_of(texts(1600, length))
        steps.begin(None)
        batches = examples.batches(16, np.random.default_rng(0))

        def epoch() -> None:
            with classifier.training(dropout=True):
                steps.run(examples, batches, [RULES.learning_rate] * len(batches), seed=1)
            GRAPHS.synchronise()

        epoch()
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        epoch()
        ended.record()
        ended.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            epoch()
    found = by_kernel((event for event in profile.events() if event.device_time_total), len(batches))
    return found, 1000 * began.elapsed_time(ended) / len(batches)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="minilm")
    parser.add_argument("--length", type=int, default=26, help="tokens of a text, on average")
    asked = parser.parse_args(words)
    choose_device("cuda")
    found, clock = measure(asked.size, asked.length)
    busy = sum(taken for *_, taken in found)
    print(f"{asked.size}, {asked.length} tokens: {clock:.0f} µs a step by the clock, {busy:.0f} µs of it in kernels")
    for name, count, taken in found:
        print(f"{taken:9.1f} µs {count:8.1f} times  {name[:100]}")


if __name__ == "__main__":
    main()
