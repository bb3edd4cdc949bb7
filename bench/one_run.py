"""The wall-clock time of one run, from the start of its command to its report and model: `python -m bench.one_run`.

Made-up texts and random weights, as in `bench.study`. The first of several runs finds cold caches. Its rounds compute,
a report and a model come after the last one; the rest is the start: imports, loading, recording.
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
    words = [sequence for pair in options.items() for sequence in pair]
    return [sys.executable, "-m", "hybridal", "run", texts["task"], *words, "--quiet"]


def measure(words: Sequence[str], home: Path) -> tuple[dict[str, float], int]:
    """The seconds of the command and of its parts, and the steps of its rounds."""
    began = time.time()
    subprocess.run(words, check=True)
    ended = time.time()
    folder = RunFolder.open(home)
    history = folder.history()
    computing = sum(sum(record.seconds.values()) for record in history)
    after = ended - folder.rounds.path.stat().st_mtime
    seconds = {
        "by the clock": ended - began,
        "start": ended - began - computing - after,
        "computing": computing,
        "after the last round": after,
    }
    return seconds, sum(record.cost.steps for record in history)


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
    what = f"{asked.size} size, {asked.rounds} rounds, {found[0][1]:,} steps"
    for part in found[0][0]:
        one = figure(f"{what}: {part}", "s", [seconds[part] for seconds, _ in found])
        print(f"{one['name']:60s} {one['value']:8.2f} ({one['low']:.2f} to {one['high']:.2f}) {one['unit']}")


if __name__ == "__main__":
    main()
