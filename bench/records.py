"""Check that a change of the code leaves all records as they were, to the last digit.

    PYTHONPATH=OLD/src python -m bench.records run old
    PYTHONPATH=src python -m bench.records run new
    python -m bench.records compare old new

`run` makes ten short runs on the processor (four protocols, two backbones; library, command line and study) into a
folder. `compare` compares the recorded rounds and the exported weights of two such folders. Wall-clock times,
versions and identifiers are ignored. A key that was renamed between the two versions goes into `RENAMED`. Metrics of
versions that did not record the texts per class are converted: their macro-F1 was a mean over all classes.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Differ between two runs of the same code.
IGNORED = {"seconds", "id", "key"}
# Old name -> new name of a recorded field.
RENAMED: dict[str, str] = {"word": "update_sequence", "news": "label_changes", "classes": "new_class_count"}

TOPICS = {
    "sport": ["ball", "goal", "team", "match", "score", "player", "league", "coach", "race", "win"],
    "food": ["bread", "soup", "salt", "butter", "cook", "oven", "taste", "sweet", "dish", "plate"],
    "space": ["star", "moon", "orbit", "rocket", "comet", "planet", "light", "galaxy", "probe", "launch"],
}
COMMON = ["the", "a", "of", "in", "and", "to", "is", "on", "with", "for", "it", "was", "at", "by", "this", "that"]
SMALL = ("--initial", "16", "--batch", "8", "--rounds", "3", "--set", "max_length=48", "--seed", "7", "--quiet")
# Protocols whose trainings are long get fewer epochs.
SHORT = ("--set", "max_epochs=3")
SIGNALS = ("--signals", "alpha,cka")
SCHEDULES = ("--schedules", "retrain,finetune,anchor:0.5")
RUNS: dict[str, Sequence[str]] = {
    "paper-tiny": ("run", "--protocol", "paper", "--backbone", "tiny", "--schedule", "hybrid:accuracy", *SHORT),
    "reference-tiny": ("run", "--protocol", "reference", "--backbone", "tiny", "--schedule", "fixed:2", *SHORT),
    "quick-tiny": ("run", "--protocol", "quick", "--backbone", "tiny", "--schedule", "retrain", *SIGNALS),
    "best-tiny": ("run", "--protocol", "best", "--backbone", "tiny", "--test-every-round"),
    "paper-minilm": ("run", "--protocol", "paper", "--backbone", "minilm", "--schedule", "finetune", *SHORT),
    "best-minilm": ("run", "--protocol", "best", "--backbone", "minilm", "--signals", "gradient-norm"),
    "layers-tiny": ("run", "--protocol", "paper", "--backbone", "tiny", "--train-layers", "1", *SHORT),
    "compare-tiny": ("compare", "--protocol", "paper", "--backbone", "tiny", *SCHEDULES, *SHORT),
}
STUDY = """
name: records
tasks: [{task: texts.csv, text: text, label: label, test_size: 30}]
schedules: [retrain, newonly]
backbones: [tiny]
protocol: paper
seeds: [1, 2]
overrides: {initial: 16, batch: 8, rounds: 3, max_length: 48, max_epochs: 3}
device: cpu
"""


def make_texts(path: Path, rows: int = 160) -> Path:
    """A CSV file with `text` and `label`: texts of 4 to 40 words, a third of which tell the class."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for row in range(rows):
            label = [*TOPICS][row % len(TOPICS)]
            length = int(rng.integers(4, 40))
            words = [*rng.choice(COMMON, length), *rng.choice(TOPICS[label], max(1, length // 3))]
            table.writerow([" ".join(rng.permutation(words)), label])
    return path


def make_records(folder: Path) -> None:
    """Make all ten runs, each into a folder of its own."""
    folder.mkdir(parents=True)
    make_texts(folder / "texts.csv")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")
    data = ("texts.csv", "--text", "text", "--label", "label", "--test-size", "30", "--device", "cpu")
    for name, (verb, *options) in RUNS.items():
        print(name, flush=True)
        _run(folder, "-m", "hybridal", verb, *data, *options, *SMALL, "--out", name)
    print("study", flush=True)
    _run(folder, "-m", "hybridal", "study", "run", "study.yaml", "--out", "study", "--quiet")
    print("library", flush=True)
    _run(folder, "-c", "from bench.records import teach_learner; teach_learner()")


def _run(folder: Path, *words: str) -> None:
    """Run Python in the folder. One thread: the last digits of a matrix product depend on the number of threads."""
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([*paths, str(Path.cwd())])}
    subprocess.run([sys.executable, "-W", "ignore", *words], check=True, cwd=folder, env=environment)


def teach_learner() -> None:
    """Query and teach a learner for three rounds, in the current folder."""
    from hybridal import ActiveLearner, load_task

    task = load_task("texts.csv", text="text", label="label", test_size=30)
    learner = ActiveLearner(
        task, backbone="tiny", device="cpu", seed=3, initial=16, batch=8, max_length=48, validation="share"
    )
    for _ in range(3):
        batch = learner.query(8)
        learner.teach(batch, [task.answers([id])[id] for id in batch.ids])
    learner.save("library")


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield one sentence for each difference between two folders of records."""
    for folder, other in ((old, new), (new, old)):
        if missing := sorted(_files(folder) - _files(other)):
            yield f"{other} lacks {', '.join(missing)}"
    for name in sorted(_files(old) & _files(new)):
        if name.endswith(".safetensors"):
            yield from _tensor_differences(name, old / name, new / name)
            continue
        before, after = (_lines(folder / name) for folder in (old, new))
        if len(before) != len(after):
            yield f"{name}: {len(before)} lines before, {len(after)} after"
        for number, (one, other) in enumerate(zip(before, after, strict=False), start=1):
            yield from (f"{name}, line {number}: {text}" for text in _value_differences("", renamed(one), other))


def renamed(value: Any) -> Any:
    """Apply `RENAMED` to the keys of a record.

    >>> renamed({"a": [{"b": 1}]})
    {'a': [{'b': 1}]}
    """
    if isinstance(value, Mapping):
        return {RENAMED.get(key, key): renamed(item) for key, item in value.items()}
    return [renamed(item) for item in value] if isinstance(value, list) else value


def with_support(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics that lack the texts per class with these, and with macro-F1 over the classes that have texts.

    >>> with_support({"f1": 0.25}, {"f1": 0.5, "support": [10, 0]})
    {'f1': 0.5, 'support': [10, 0]}
    """
    support = new["support"]
    f1 = old["f1"] * len(support) / sum(map(bool, support))
    return {**old, "f1": new["f1"] if math.isclose(f1, new["f1"], rel_tol=1e-14) else f1, "support": support}


def _files(folder: Path) -> set[str]:
    found = [*folder.rglob("rounds.jsonl"), *folder.rglob("model/model.safetensors")]
    return {path.relative_to(folder).as_posix() for path in found}


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _value_differences(where: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if "support" in new and "support" not in old:
            old = with_support(old, new)
        for key in sorted({*old, *new} - IGNORED):
            if key not in old or key not in new:
                yield f"{where}.{key} is only {'after' if key in new else 'before'}"
            else:
                yield from _value_differences(f"{where}.{key}", old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _value_differences(f"{where}[{place}]", one, other)
    elif old != new:
        yield f"{where} was {old!r:.60}, is {new!r:.60}"


def _tensor_differences(name: str, old: Path, new: Path) -> Iterator[str]:
    from safetensors.numpy import load_file

    before, after = load_file(old), load_file(new)
    for key in sorted(before.keys() | after.keys()):
        if key not in before or key not in after or not np.array_equal(before[key], after[key]):
            yield f"{name}: {key} differs"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.records", description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run", help="make the ten runs").add_argument("folder", type=Path)
    comparing = verbs.add_parser("compare", help="compare two folders of runs")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    given = parser.parse_args(words)
    if given.verb == "run":
        make_records(given.folder)
        return 0
    found = list(differences(given.old, given.new))
    print(*found or [f"{len(_files(given.old))} files are equal."], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
