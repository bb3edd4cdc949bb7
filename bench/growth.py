"""How this engine's time and memory grow with the pool and with the labels, on the smallest backbone.

With `tiny` the model itself costs little, so that what grows besides it can be seen.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.contenders import peak_megabytes
from hybridal.backbones import load_backbone
from hybridal.core.pool import Pool
from hybridal.loop.loop import Experiment, State
from hybridal.models.token_arrays import tokenise
from hybridal.runs.assemble import build_experiment, build_model
from hybridal.runs.settings import Settings
from hybridal.system.cache import cache_dir
from hybridal.system.stopwatch import Stopwatch
from hybridal.tasks import Split, Task
from hybridal.updates import UPDATES

RULES = {"candidates": None, "max_epochs": 3, "stop_after": None}
SETTINGS = Settings("growth", backbone="tiny", protocol="paper", overrides=RULES, device="cpu")


def grow(texts: Sequence[str], pool: int, labels: Sequence[int], repeats: int) -> dict[str, Any]:
    """Seconds of a round for each number of labels; the rest of the pool are candidates."""
    turn(cell_of(many(texts, 200)), labelled=32)  # loads what is loaded late
    task, watch = many(texts, pool), Stopwatch()
    encoder = load_backbone(SETTINGS.backbone, task).encoder(SETTINGS.rules.max_length)
    with watch("tokenise"):
        tokenise(task.train.texts, encoder, cache_dir() / "tokens")
    cell = cell_of(task)
    turns = [[turn(cell, number) for _ in range(repeats)] for number in labels]
    return {"tokenise": watch.seconds["tokenise"], "turns": turns, "megabytes": peak_megabytes()}


def cell_of(task: Task) -> Experiment:
    return build_experiment(SETTINGS, task, build_model(SETTINGS, task, ()), ())


def turn(cell: Experiment, labelled: int) -> dict[str, float]:
    """The seconds of a round that begins with the first texts labelled."""
    start = time.perf_counter()
    state = State(0, "", Pool.unlabelled(len(cell.task.train)).choose(np.arange(labelled)))
    _, record = cell.advance(state, UPDATES.make("retrain"))
    return {**record.seconds, "round": time.perf_counter() - start}


def many(texts: Sequence[str], count: int) -> Task:
    """A task of as many different texts as asked for, each a given text with a number behind."""
    numbers = [str(number) for number in range(count)]
    different = [f"{texts[row % len(texts)]} {number}" for row, number in enumerate(numbers)]
    train = Split(numbers, different, np.arange(count) % 2)
    return Task("growth", ("even", "odd"), train, Split.empty(), Split.empty())


if __name__ == "__main__":
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps(grow(**asked)), encoding="utf-8")
