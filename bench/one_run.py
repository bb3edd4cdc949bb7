"""One run by the clock, from the first line of its command to its report and model: `python -m bench.one_run`.

Made-up texts and random weights, as in `bench.study`. The first of several runs finds cold caches. What is not
computing (imports, loading, recording, states, report, export) is the difference of the two figures.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from bench.figures import figure
from bench.study import SIZES, write_backbone, write_texts
from hybridal.runs.record import RunFolder
from hybridal.tasks import load_task


def command(texts: dict[str, str], backbone: Path, rounds: int, device: str, home: Path) -> list[str]:
    options = {f"--{name}": value for name, value in texts.items() if name != "task"}
    options |= {"--backbone": str(backbone), "--protocol": "paper", "--schedule": "retrain", "--rounds": str(rounds)}
    options |= {"--device": device, "--out": str(home)}
    words = [word for pair in options.items() for word in pair]
    return [sys.executable, "-m", "hybridal", "run", texts["task"], *words, "--quiet"]


def measure(words: Sequence[str], home: Path) -> tuple[float, float, int]:
    """The seconds of the command, those that its rounds computed, and their steps."""
    began = time.perf_counter()
    subprocess.run(words, check=True)
    seconds = time.perf_counter() - began
    history = RunFolder.open(home).history()
    return seconds, sum(sum(fact.seconds.values()) for fact in history), sum(fact.cost.steps for fact in history)


def main(words: Sequence[str] | None = None) -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="minilm" if gpu else "tiny")
    parser.add_argument("--rounds", type=int, default=8 if gpu else 2)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = write_texts(folder)
        write_backbone(asked.size, load_task(texts["task"], text="text", label="label"), folder / "encoder")
        found = []
        for number in range(asked.times):
            home = folder / f"run-{number}"
            run = command(texts, folder / "encoder", asked.rounds, "cuda" if gpu else "cpu", home)
            found.append(measure(run, home))
    clock, computing, steps = zip(*found, strict=True)
    what = f"{asked.size} size, {asked.rounds} rounds, {steps[0]:,} steps"
    for one in (figure(f"{what}: by the clock", "s", clock), figure(f"{what}: computing", "s", computing)):
        print(f"{one['name']:60s} {one['value']:8.2f} ({one['low']:.2f} to {one['high']:.2f}) {one['unit']}")


if __name__ == "__main__":
    main()
