"""The wall-clock time of a study, from the start of its command to its report: `python -m bench.study`.

Made-up texts and random weights of a given size, so that a bare machine will do. On a GPU cells go in lanes, with
--processes in several processes that share it, as under NVIDIA's multi-process service. Without a GPU a small study
shows that everything works.
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
from hybridal.core.rounds import PHASES
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.signals import SIGNALS
from hybridal.system.files import write_whole
from hybridal.tasks import Task

CLASSES = ("bill", "card", "flight", "order")
# Layers and width; feed-forward layers are four times as wide, and a head has 64 numbers or fewer.
SIZES = {"tiny": (2, 64), "minilm": (6, 384), "distilbert": (6, 768), "base": (12, 768), "mpnet": (12, 768)}
LIMIT = 3600.0  # seconds


@dataclass(frozen=True)
class Asked:
    """The study, and how it is spread."""

    seeds: int
    rounds: int
    size: str
    device: str
    lanes: int | None = None
    processes: int | None = None
    signals: Sequence[str] = ()


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
    from transformers import AutoTokenizer, BertConfig, BertModel, MPNetConfig, MPNetModel

    kind, config = (MPNetModel, MPNetConfig) if size == "mpnet" else (BertModel, BertConfig)
    layers, width = SIZES[size]
    shape = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": max(2, width // 64)}
    torch.manual_seed(0)
    kind(config(vocab_size=tiny.VOCABULARY, intermediate_size=4 * width, **shape)).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny.folder(task)).save_pretrained(folder)


def command(asked: Asked, texts: dict[str, str], backbone: Path, home: Path) -> list[str]:
    """That of the study, whose file is written."""
    study = {
        "name": home.name,
        "tasks": [texts],
        "schedules": ["retrain"],
        "backbones": [str(backbone)],
        "seeds": list(range(asked.seeds)),
        "signals": list(asked.signals),
        "protocol": "paper",
        "overrides": {"rounds": asked.rounds},
    }
    file = home.with_suffix(".yaml")
    file.write_text(json.dumps(study), encoding="utf-8")  # JSON is YAML
    options = {"--workers": asked.lanes, "--processes-per-gpu": asked.processes}
    spread = [word for name, count in options.items() if count is not None for word in (name, str(count))]
    words = ["study", "run", str(file), "--out", str(home), "--quiet", "--device", asked.device, *spread]
    return [sys.executable, "-m", "hybridal", *words]


def measure(asked: Asked, folder: Path) -> dict[str, float]:
    """Run the study and return its measurements."""
    from hybridal.tasks import load_task

    texts = write_texts(folder)
    task = load_task(texts["task"], text="text", label="label")
    write_backbone(asked.size, task, folder / "encoder")
    words = command(asked, texts, folder / "encoder", folder / "study")
    began, first = time.time(), None
    with subprocess.Popen(words) as process:
        while process.poll() is None and time.time() < began + LIMIT:
            first = first or next((time.time() for _ in folder.glob("study/cells/*/rounds.jsonl")), None)
            time.sleep(0.05)
        process.kill()
    ended = time.time()
    study = StudyFolder.open(folder / "study")
    last = max(path.stat().st_mtime for path in folder.glob("study/cells/*/rounds.jsonl"))
    records = [record for cell in study.cells for record in study.rounds_by_sequence(cell).values()]
    return {
        "seconds": ended - began,
        "start": (first or ended) - began,
        "end": ended - last,
        "steps": float(sum(record.cost.steps for record in records)),
        "cells": float(len(study.cells)),
        "failed": float(sum(not study.complete(cell) for cell in study.cells)),
        **{phase: sum(record.seconds.get(phase, 0.0) for record in records) for phase in PHASES},
    }


def main(words: Sequence[str] | None = None) -> int:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="minilm" if gpu else "tiny")
    parser.add_argument("--seeds", type=int, default=8 if gpu else 2)
    parser.add_argument("--rounds", type=int, default=25 if gpu else 3)
    parser.add_argument("--lanes", type=int, help="cells at once, in all processes")
    parser.add_argument("--processes", type=int, help="that share the GPU")
    parser.add_argument("--all-signals", action="store_true", help="watch every signal")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    given = parser.parse_args(words)
    signals = SIGNALS.names() if given.all_signals else ()
    device = "cuda" if gpu else "cpu"
    asked = Asked(given.seeds, given.rounds, given.size, device, given.lanes, given.processes, signals)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked, Path(folder))
    name = f"{asked.seeds} cells, {asked.rounds} rounds, {asked.size} size"
    figures = [
        figure(f"{name}: by the clock", "s", [found["seconds"]]),
        figure(f"{name}: steps", "steps", [found["steps"]]),
        figure(f"{name}: all in", "steps/s", [found["steps"] / found["seconds"]]),
        figure(f"{name}: until the first round was done", "s", [found["start"]]),
        figure(f"{name}: after the last one", "s", [found["end"]]),
        *(figure(f"{name}: {phase}, all cells together", "s", [found[phase]]) for phase in PHASES),
    ]
    for one in figures:
        print(f"{one['name']:75s} {one['value']:12.2f} {one['unit']}")
    print(f"{found['failed']:.0f} of {found['cells']:.0f} cells failed")
    if given.out:
        name = torch.cuda.get_device_name() if gpu else platform.machine()
        about: dict[str, Any] = {"device": name, "torch": torch.__version__}
        write_whole(given.out, json.dumps({"machine": about, "figures": figures}, indent=2) + "\n")
    return int(found["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
