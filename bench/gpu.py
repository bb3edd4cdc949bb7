"""How fast the engine is on a GPU: `python -m bench.gpu` writes bench/results/gpu.json.

A model of DistilBERT's size with random weights, batches of 16. With --tokenizer, a pool of texts is tokenised and
scored too.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import numpy as np
import torch

from hybridal.backbones import Backbone
from hybridal.core.rules import protocol
from hybridal.models.classifier import Classifier
from hybridal.models.device import Device, choose_device
from hybridal.models.token_arrays import Tokens
from hybridal.models.training.examples import Examples
from hybridal.models.training.forward_passes import predict
from hybridal.models.training.optimiser_steps import PlainSteps, Steps
from hybridal.signals._spectrum import singular_values

RULES = protocol("paper")
CLASSES = ("a", "b", "c", "d")
VOCABULARY = 30_522
STEPS_A_ROUND = 320  # of a run that retrains each round, by the paper's protocol, on average
PLAIN = Device("cuda", "fp32", fast=False)
PLAIN_MIXED = Device("cuda", "bf16", fast=False)
GRAPHS = Device("cuda", "bf16")


class Figures:
    """What was measured, printed as it comes."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, unit: str, values: list[float]) -> float:
        middle = statistics.median(values)
        self.rows.append({"name": name, "unit": unit, "value": middle, "low": min(values), "high": max(values)})
        print(f"{name:58s} {middle:12.2f} {unit}   ({min(values):.2f} to {max(values):.2f})", flush=True)
        return middle


def random_texts(sizes: Any, rng: np.random.Generator) -> Tokens:
    """Token ids without meaning, of these lengths."""
    flat = rng.integers(1000, VOCABULARY, int(sizes.sum()), dtype=np.int32)
    return Tokens(flat, np.concatenate([[0], np.cumsum(sizes)]), pad=0)


def of_length(count: int, length: int) -> Tokens:
    return random_texts(np.full(count, length), np.random.default_rng(0))


def short_texts(count: int) -> Tokens:
    """Lengths as of short messages: 40 tokens on average, up to 128."""
    rng = np.random.default_rng(0)
    return random_texts(np.clip(rng.gamma(3.0, 40 / 3.0, count), 4, 128).astype(int), rng)


@contextmanager
def distilbert() -> Iterator[Backbone]:
    """An encoder of DistilBERT's size, random."""
    from transformers import DistilBertConfig, DistilBertModel

    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        DistilBertModel(DistilBertConfig()).save_pretrained(folder)
        yield Backbone("distilbert-size", Path(folder))


def steps_of(classifier: Classifier) -> Steps:
    steps: Steps = PlainSteps(classifier, RULES) if classifier.graphs is None else classifier.graphs.steps(RULES)
    return steps


def examples_of(tokens: Tokens) -> Examples:
    labels = np.random.default_rng(1).integers(0, len(CLASSES), len(tokens))
    return Examples(tokens, np.arange(len(tokens)), labels)


def steps_per_second(backbone: Backbone, device: Device, tokens: Tokens, repeats: int = 5) -> list[float]:
    """One run's training, after a first epoch that records or warms up."""
    classifier = Classifier(backbone, CLASSES, 1, device)
    steps, examples = steps_of(classifier), examples_of(tokens)
    steps.begin(None)
    rates = []
    for repeat in range(repeats + 1):
        batches = examples.batches(16, np.random.default_rng(repeat))
        device.synchronise()
        start = time.perf_counter()
        with classifier.training(dropout=True):
            steps.run(examples, batches, [RULES.learning_rate] * len(batches), seed=repeat)
        device.synchronise()
        rates.append(len(batches) / (time.perf_counter() - start))
    return rates[1:]


def lanes_per_second(backbone: Backbone, lanes: int, tokens: Tokens, repeats: int = 4) -> list[float]:
    """Steps of all lanes together: as the study's engine runs them, a thread and a stream each."""
    examples = examples_of(tokens)
    ready = Barrier(lanes + 1)

    def lane(number: int) -> None:
        try:
            train(number)
        except Exception:
            ready.abort()  # the others would wait for ever
            raise

    def train(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            classifier = Classifier(backbone, CLASSES, number, GRAPHS)
            steps = steps_of(classifier)
            steps.begin(None)
            for repeat in range(repeats + 1):
                batches = examples.batches(16, np.random.default_rng(repeat))
                ready.wait()
                with classifier.training(dropout=True):
                    steps.run(examples, batches, [RULES.learning_rate] * len(batches), seed=repeat)
                GRAPHS.synchronise()
                ready.wait()

    rates = []
    with ThreadPoolExecutor(lanes) as pool:
        futures = [pool.submit(lane, number) for number in range(lanes)]
        try:
            for _ in range(repeats + 1):
                ready.wait()
                start = time.perf_counter()
                ready.wait()
                rates.append(lanes * -(-len(tokens) // 16) / (time.perf_counter() - start))
        except BrokenBarrierError:
            errors = (future.exception() for future in futures)
            raise next(error for error in errors if error and not isinstance(error, BrokenBarrierError)) from None
    return rates[1:]


def texts_per_second(backbone: Backbone, device: Device, tokens: Tokens, repeats: int = 3) -> list[float]:
    classifier = Classifier(backbone, CLASSES, 1, device)
    rows = np.arange(len(tokens))
    predict(classifier, tokens, rows[:4096])
    rates = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        predict(classifier, tokens, rows)
        rates.append(len(rows) / (time.perf_counter() - start))
    return rates[1:]


def million(figures: Figures, backbone: Backbone, tokenizer: str, count: int) -> None:
    """Real tokenising of many short texts into the array on disk, then scoring it."""
    from hybridal.models.token_arrays import tokenise

    words = [f"{a}{b}" for a in ("the ", "a ", "my ", "your ") for b in ("order", "card", "flight", "bill", "account")]
    rng = np.random.default_rng(0)
    texts = [
        " ".join(words[w] for w in rng.integers(0, len(words), n)) + f" {i}"
        for i, n in enumerate(rng.integers(3, 18, count))
    ]
    encoder = Backbone("tokenizer", Path(tokenizer)).encoder(128)
    with tempfile.TemporaryDirectory() as folder:
        before = _resident()
        start = time.perf_counter()
        tokens = tokenise(texts, encoder, Path(folder))
        figures.add(f"tokenising {count:,} texts", "texts/s", [count / (time.perf_counter() - start)])
        classifier = Classifier(backbone, CLASSES, 1, GRAPHS)
        predict(classifier, tokens, np.arange(4096))
        start = time.perf_counter()
        predict(classifier, tokens, np.arange(count))
        figures.add(f"scoring {count:,} texts", "texts/s", [count / (time.perf_counter() - start)])
        figures.add(
            "memory grown meanwhile, tokens on disk and answers included", "MiB", [(_resident() - before) / 2**20]
        )
        figures.add("mean length of those texts", "tokens", [float(tokens.offsets[-1]) / count])


def _resident() -> int:
    """The most memory this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="bench/results/gpu.json")
    parser.add_argument("--tokenizer", help="a folder with a tokenizer, for the pool of real texts")
    parser.add_argument("--pool", type=int, default=1_000_000)
    parser.add_argument("--lanes", default="1,2,4,8,12,16")
    asked = parser.parse_args()
    choose_device("cuda")
    figures = Figures()
    with distilbert() as backbone:
        at_64, at_128, natural = of_length(1600, 64), of_length(1600, 128), short_texts(1600)
        plain = figures.add("plain fp32, 64 tokens", "steps/s", steps_per_second(backbone, PLAIN, at_64))
        figures.add("plain fp32, 128 tokens", "steps/s", steps_per_second(backbone, PLAIN, at_128))
        mixed = figures.add("plain bf16, 64 tokens", "steps/s", steps_per_second(backbone, PLAIN_MIXED, at_64))
        graphs = figures.add("graphs, 64 tokens", "steps/s", steps_per_second(backbone, GRAPHS, at_64))
        figures.add("graphs, 128 tokens", "steps/s", steps_per_second(backbone, GRAPHS, at_128))
        figures.add("graphs, lengths of short messages", "steps/s", steps_per_second(backbone, GRAPHS, natural))
        lanes = {}
        for number in map(int, asked.lanes.split(",")):
            lanes[number] = figures.add(
                f"{number} lanes together, 64 tokens", "steps/s", lanes_per_second(backbone, number, at_64)
            )
        pool = short_texts(200_000)
        figures.add("plain scoring, 40 tokens", "texts/s", texts_per_second(backbone, PLAIN_MIXED, short_texts(20_000)))
        scored = figures.add("graphs scoring, 40 tokens", "texts/s", texts_per_second(backbone, GRAPHS, pool))
        matrices = Classifier(backbone, CLASSES, 1, GRAPHS).matrices()
        times = []
        for _ in range(6):
            start = time.perf_counter()
            singular_values(matrices)
            times.append(1000 * (time.perf_counter() - start))
        spectra = figures.add(f"spectra of {len(matrices)} matrices", "ms", times[1:])
        share = 100 * spectra / 1000 / (STEPS_A_ROUND / graphs)
        figures.add(f"spectra, share of a round of {STEPS_A_ROUND} steps", "%", [share])
        if asked.tokenizer:
            million(figures, backbone, asked.tokenizer, asked.pool)
    figures.add("GPU memory at its peak", "GiB", [torch.cuda.max_memory_allocated() / 2**30])
    ratios = {
        "steps_vs_plain": graphs / plain,
        "steps_vs_plain_bf16": graphs / mixed,
        "lanes_vs_plain": max(lanes.values()) / plain,
        "score_texts_per_s": scored,
    }
    machine = {"gpu": torch.cuda.get_device_name(), "python": platform.python_version(), "torch": torch.__version__}
    result = {"machine": machine, "ratios": ratios, "figures": figures.rows}
    path = Path(asked.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(ratios, indent=2))


if __name__ == "__main__":
    main()
