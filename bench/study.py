"""A study by the clock, from the first line of its command to its report: `python -m bench.study`.

Made-up texts and random weights of a given size, so that a bare machine will do. On a GPU cells go in lanes; with
--processes several studies run at once, each with seeds of its own, as under NVIDIA's multi-process service. Without a
GPU a small study shows that everything works.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.figures import figure
from hybridal.backbones import tiny
from hybridal.signals import SIGNALS
from hybridal.study.folder import StudyFolder
from hybridal.system.files import write_whole
from hybridal.tasks import Task

CLASSES = ("bill", "card", "flight", "order")
# Layers and width; feed-forward layers are four times as wide, and a head has 64 numbers or fewer.
SIZES = {"tiny": (2, 64), "minilm": (6, 384), "distilbert": (6, 768), "base": (12, 768)}
LIMIT = 3600.0  # seconds


@dataclass(frozen=True)
class Asked:
    """The study of one process."""

    seeds: Sequence[int]
    rounds: int
    size: str
    device: str
    lanes: int | None
    signals: Sequence[str]


def write_texts(folder: Path) -> dict[str, str]:
    """Short texts whose words tell their class more often than not."""
    rng = np.random.default_rng(0)
    for name, count in (("train", 4000), ("validation", 500), ("test", 1000)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["text", "label"])
            for number in range(count):
                label = CLASSES[number % len(CLASSES)]
                words = [label if rng.random() < 0.1 else f"w{rng.integers(1500)}" for _ in range(rng.integers(6, 40))]
                rows.writerow([" ".join(words), label])
    held_out = {name: str(folder / f"{name}.csv") for name in ("validation", "test")}
    return {"task": str(folder / "train.csv"), "text": "text", "label": "label", **held_out}


def write_backbone(size: str, task: Task, folder: Path) -> None:
    """An encoder of this size with random weights, whose tokenizer knows the task's words."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    layers, width = SIZES[size]
    shape = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": max(2, width // 64)}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=tiny.VOCABULARY, intermediate_size=4 * width, **shape)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny.folder(task)).save_pretrained(folder)


def start(asked: Asked, texts: dict[str, str], backbone: Path, home: Path) -> subprocess.Popen[bytes]:
    """The command of one study, begun."""
    study = {
        "name": home.name,
        "tasks": [texts],
        "schedules": ["retrain"],
        "backbones": [str(backbone)],
        "seeds": list(asked.seeds),
        "signals": list(asked.signals),
        "overrides": {"rounds": asked.rounds},
    }
    file = home.with_suffix(".yaml")
    file.write_text(json.dumps(study), encoding="utf-8")  # JSON is YAML
    workers = [] if asked.lanes is None else ["--workers", str(asked.lanes)]
    command = [sys.executable, "-m", "hybridal", "study", "run", str(file), "--out", str(home), "--quiet"]
    return subprocess.Popen([*command, "--device", asked.device, *workers])


def measure(studies: Sequence[Asked], folder: Path) -> dict[str, float]:
    """Runs these studies at once; what they took together."""
    from hybridal.tasks import load_task

    texts = write_texts(folder)
    task = load_task(texts["task"], text="text", label="label")
    write_backbone(studies[0].size, task, folder / "encoder")
    homes = [folder / f"study-{number}" for number in range(len(studies))]
    began = time.perf_counter()
    running = [start(asked, texts, folder / "encoder", home) for asked, home in zip(studies, homes, strict=True)]
    try:
        for process in running:
            process.wait(LIMIT)
    finally:
        for process in running:
            process.kill()
    seconds = time.perf_counter() - began
    opened = [StudyFolder.open(home) for home in homes]
    cells = [(one, cell) for one in opened for cell in one.cells]
    facts = [fact for one, cell in cells for fact in one.facts(cell).values()]
    trained = sum(fact.seconds.get("train", 0.0) for fact in facts)
    return {
        "seconds": seconds,
        "steps": float(sum(fact.cost.steps for fact in facts)),
        "cells": float(len(cells)),
        "failed": float(sum(not one.complete(cell) for one, cell in cells)),
        "training": trained,
    }


def main(words: Sequence[str] | None = None) -> int:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="minilm" if gpu else "tiny")
    parser.add_argument("--seeds", type=int, default=8 if gpu else 2, help="of each process")
    parser.add_argument("--rounds", type=int, default=25 if gpu else 3)
    parser.add_argument("--lanes", type=int, help="cells at once in a process")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--all-signals", action="store_true", help="watch every signal")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    asked = parser.parse_args(words)
    signals = SIGNALS.names() if asked.all_signals else ()
    studies = [
        Asked(
            range(asked.seeds * number, asked.seeds * (number + 1)),
            asked.rounds,
            asked.size,
            "cuda" if gpu else "cpu",
            asked.lanes,
            signals,
        )
        for number in range(asked.processes)
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(studies, Path(folder))
    name = f"{asked.processes} studies of {asked.seeds} cells, {asked.rounds} rounds, {asked.size} size"
    figures = [
        figure(f"{name}: by the clock", "s", [found["seconds"]]),
        figure(f"{name}: steps", "steps", [found["steps"]]),
        figure(f"{name}: all in", "steps/s", [found["steps"] / found["seconds"]]),
        figure(f"{name}: training, all cells together", "s", [found["training"]]),
    ]
    for one in figures:
        print(f"{one['name']:75s} {one['value']:12.2f} {one['unit']}")
    print(f"{found['failed']:.0f} of {found['cells']:.0f} cells failed")
    if asked.out:
        device = torch.cuda.get_device_name() if gpu else platform.machine()
        about: dict[str, Any] = {"device": device, "torch": torch.__version__}
        write_whole(asked.out, json.dumps({"machine": about, "figures": figures}, indent=2) + "\n")
    return int(found["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
