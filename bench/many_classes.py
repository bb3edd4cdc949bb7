"""CPU seconds that many classes per text cost, 90 and 1,000 of them: `OMP_NUM_THREADS=1 python -m bench.many_classes`.

Features and sets of classes are made up: about three classes per text, of which some are far more frequent than others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.machine import describe
from bench.tables import table
from hybridal.acquisition.cardinality import Cardinality
from hybridal.acquisition.margin import Margin
from hybridal.acquisition.mmc import Mmc
from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.objective import MultiLabel
from hybridal.models.training.probe import ProbeFitter
from hybridal.testing import FakeCandidates

CLASSES, WIDTH = (90, 1000), 384
LABELLED, CANDIDATES, TESTED = 1000, 1000, 5000
REPEATS = 3


def made_up(classes: int, texts: int, seed: int) -> tuple[Floats, Ints, MultiLabel]:
    """Features of texts, and their sets: class number c has a frequency of about 1 / (c + 1)."""
    rng, sets = np.random.default_rng(seed), LabelSets(classes)
    rates = 1 / np.arange(1, classes + 1)
    present = rng.random((texts, classes)) < np.minimum(0.5, 3 * rates / rates.sum())
    directions = np.random.default_rng(0).normal(size=(classes, WIDTH)) / np.sqrt(WIDTH)
    features = present @ directions + rng.normal(scale=0.05, size=(texts, WIDTH))
    labels = [sets.number(np.flatnonzero(row).tolist()) for row in present]
    return features.astype(np.float32), np.array(labels, dtype=np.int64), MultiLabel(sets)


def seconds(what: Callable[[], object]) -> float:
    """The shortest of some times; of the CPU, so that other work on the machine matters little."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        what()
        times.append(time.process_time() - start)
    return min(times)


def measure(classes: int) -> dict[str, float]:
    """Seconds per round of each part that depends on the number of classes."""
    features, labels, objective = made_up(classes, LABELLED, 1)
    tested, truth, truth_of = made_up(classes, TESTED, 2)
    probe = ProbeFitter(0).best(features, labels, objective)
    logits = probe.logits(tested)
    thresholds = objective.thresholds(logits[:CANDIDATES], 1.0, "macro_f1")
    candidates = FakeCandidates(
        [*map(str, range(CANDIDATES))], objective.probabilities(logits[:CANDIDATES]).tolist(), thresholds=thresholds
    )
    rng = np.random.default_rng(0)
    return {
        f"probe of {LABELLED:,} labels, penalty chosen": seconds(
            lambda: ProbeFitter(0).best(features, labels, objective)
        ),
        f"thresholds from {CANDIDATES:,} texts": seconds(
            partial(objective.thresholds, logits[:CANDIDATES], 1.0, "macro_f1")
        ),
        **{
            f"{by.name}, 50 of {CANDIDATES:,}": seconds(partial(by.select, candidates, 50, rng))
            for by in (Margin(), Cardinality(), Mmc())
        },
        f"all metrics of {TESTED:,} texts": seconds(partial(truth_of.measure, logits, truth, 1.0, thresholds)),
    }


def main() -> None:
    found = {classes: measure(classes) for classes in CLASSES}
    print(json.dumps(describe()))
    rows = [[part, *(f"{found[classes][part]:.2f}" for classes in CLASSES)] for part in found[CLASSES[0]]]
    print(table(["CPU seconds", *(f"{classes:,} classes" for classes in CLASSES)], rows))


if __name__ == "__main__":
    main()
