"""hybridal next to what people would pick instead: `make compare`, or `python -m bench.peers`.

The same texts, numbers of labels and seeds for all; `HYBRIDAL_DATA` is the folder of texts. Finished cells are saved
in build/comparison.parquet, and the same command goes on after it was stopped. By default a part that takes half an
hour on two cores; `ARGS=--full` takes all. ARGS="--learners tfidf frozen --tasks trec" limits it.
On a machine with a GPU: --device cuda --workers 12, with --python where one environment has everything.
The page's tables: --tables --out results/comparison.parquet --page docs/comparison.md
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

from bench.contenders.curves import Question, dump
from bench.machine import describe
from bench.page import between
from bench.peer_tables import LEARNERS, tables
from bench.process import ROOT, run
from hybridal.backbones import load_backbone
from hybridal.errors import RunError, UserError
from hybridal.measures.calibration import ece
from hybridal.randomness import stream
from hybridal.system.files import file_made_whole, write_whole
from hybridal.tasks import Task, load_task

PEERS = ROOT / ".venv-peers" / "bin" / "python"
RESULT = ROOT / "build" / "comparison.parquet"
BACKBONES = {
    "hybridal": "minilm",
    "hybridal, gte-small": "gte-small",
    "hybridal, backbone auto": "auto:gte-small,minilm",
}
ENCODERS = ("minilm", "gte-small")
TASKS = ["trec", "sms_spam", "sst2", "agnews", "tweeteval", "imdb", "jigsaw", "banking77", "clinc150"]
SEEDS = [51, 52, 53]
LABELS = [50, 101, 203]
# Half an hour on two cores.
SLOW = ("hybridal, gte-small", "small-text, setfit")
SHORT: dict[str, list[Any]] = {
    "tasks": TASKS[:2],
    "seeds": SEEDS[:1],
    "learners": [name for name in LEARNERS if name not in SLOW],
}
FULL: dict[str, list[Any]] = {"tasks": TASKS, "seeds": SEEDS, "learners": [*LEARNERS]}
POOL, TEST, LENGTH = 1500, 1000, 128
CELL = ["task", "learner", "seed"]
SMALLEST = 1e-4  # probabilities count as at least this in the log loss, so that one certain error does not decide
# What the hub has with either encoder: mean pooling, and embeddings of unit length.
MODULES = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}


def place_encoders(folder: Path, task: Task) -> None:
    """Make a folder of encoders that hybridal and sentence-transformers find everything in."""
    for name in ENCODERS:
        try:
            source = load_backbone(name, task).folder
        except UserError:
            continue  # what needs it reports that
        for path in source.iterdir():
            if path.is_file() and path.name != "modules.json":
                (folder / name).mkdir(exist_ok=True)
                (folder / name / path.name).symlink_to(path.resolve())
        for part in filter(None, MODULES):
            (folder / name / part).mkdir()
        size = json.loads((source / "config.json").read_text(encoding="utf-8"))["hidden_size"]
        pooling = {"word_embedding_dimension": size, "pooling_mode_mean_tokens": True}
        (folder / name / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
        modules = [
            {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for at, (path, kind) in enumerate(MODULES.items())
        ]
        (folder / name / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def cells(task: Task, learner: str, seeds: Sequence[int], models: Path, asked: argparse.Namespace) -> pd.DataFrame:
    """The measures of one learner after each number of labels; a single row with the reason if it failed."""
    ours = learner in BACKBONES
    questions, answers = [], []
    for seed in seeds:
        rng = stream(seed, f"peers, {task.name}")
        pool = task.train.take(rng.permutation(len(task.train))[: asked.pool])
        test = task.test.take(rng.permutation(len(task.test))[: asked.test])
        answers.append(test.labels)
        questions.append(
            Question(
                learner="auto" if ours else learner,
                classes=[*task.classes],
                pool=[*pool.texts],
                labels=pool.labels.tolist(),
                test=[*test.texts],
                counts=asked.labels,
                backbone=BACKBONES[learner] if ours else str(models / "minilm"),
                length=LENGTH,
                pairs=asked.pairs,
                seed=seed,
                device=asked.device,
            )
        )
    python, module = (Path(sys.executable), "our_curve") if ours else (asked.python, "peer_curves")
    named = {"task": task.name, "learner": learner}
    try:
        variables = {"HYBRIDAL_MODELS": str(models)}
        found = run(python, f"bench.contenders.{module}", dump(questions), variables, asked.limit)
    except RunError as error:
        return pd.DataFrame([{**named, "seed": seed, "failed": str(error)} for seed in seeds])
    rows = [
        {**named, "seed": seed, "megabytes": found["megabytes"]}
        | {name: point[name] for name in ("labels", "seconds", "wall")}
        | measures(np.array(point["probabilities"]), labels)
        for seed, labels, curve in zip(seeds, answers, found["curves"], strict=True)
        for point in curve
    ]
    return pd.DataFrame(rows)


def measures(probabilities: Any, labels: Any) -> dict[str, float]:
    """Accuracy, macro-F1 over the classes that occur, log loss and calibration error.

    >>> found = measures(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))
    >>> {name: round(value, 2) for name, value in found.items()}
    {'accuracy': 0.5, 'f1': 0.67, 'nll': 0.51, 'ece': 0.35}
    """
    predicted = probabilities.argmax(axis=1)
    clipped = np.maximum(probabilities, SMALLEST)
    clipped /= clipped.sum(axis=1, keepdims=True)
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1": float(f1_score(labels, predicted, labels=np.unique(labels), average="macro", zero_division=0)),
        "nll": float(-np.log(clipped[np.arange(len(labels)), labels]).mean()),
        "ece": float(ece(clipped, labels)),
    }


def missing(
    found: pd.DataFrame, tasks: Sequence[str], asked: argparse.Namespace
) -> Iterator[tuple[str, str, list[int]]]:
    """Learners and tasks with the seeds that are not in the file, or failed.

    With several workers one process plays all seeds of a task: starting it takes as long as a short cell.
    """
    done = {tuple(cell) for cell in found[found.failed.isna()][CELL].to_numpy()} if len(found) else set()
    for seeds in [asked.seeds] if asked.workers > 1 else [[seed] for seed in asked.seeds]:
        for learner in asked.learners:
            for task in tasks:
                if left := [seed for seed in seeds if (task, learner, seed) not in done]:
                    yield learner, task, left


def compute(found: pd.DataFrame, asked: argparse.Namespace) -> pd.DataFrame:
    """Add what is missing to the file, a learner and task at a time."""
    tasks = {task.name: task for task in map(load_task, asked.tasks)}
    machine = {name: told for name, told in describe().items() if name in ("processor", "threads", "torch", "hybridal")}
    with tempfile.TemporaryDirectory(prefix="encoders-") as scratch, ThreadPoolExecutor(asked.workers) as pool:
        models = Path(scratch)
        place_encoders(models, next(iter(tasks.values())))
        jobs = [
            pool.submit(cells, tasks[task], learner, seeds, models, asked)
            for learner, task, seeds in missing(found, [*tasks], asked)
        ]
        for job in as_completed(jobs):
            fresh = job.result().assign(pairs=asked.pairs, device=asked.device, **machine)
            shown = [name for name in (*CELL, "labels", "f1", "nll", "seconds", "wall", "failed") if name in fresh]
            print(fresh[shown].to_string(index=False, header=False), flush=True)
            found = joined(found, fresh)
            asked.out.parent.mkdir(exist_ok=True)
            with file_made_whole(asked.out) as file:
                found.to_parquet(file, index=False, compression="zstd")
    return found


def joined(found: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    """Add rows; they replace those of the same cells, which failed before.

    >>> cell = {"task": "trec", "learner": "setfit", "seed": 51}
    >>> failed, done = pd.DataFrame([cell | {"failed": "no memory"}]), pd.DataFrame([cell | {"f1": 0.9}])
    >>> both = joined(failed, done)
    >>> both.f1.tolist(), both.failed.isna().tolist()
    ([0.9], [True])
    """
    again = pd.MultiIndex.from_frame(fresh[CELL])
    kept = found[~pd.MultiIndex.from_frame(found[CELL]).isin(again)] if len(found) else found
    both = pd.concat([kept, fresh], ignore_index=True)
    return both if "failed" in both else both.assign(failed=None)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--full", action="store_true", help="nine tasks, three seeds, all learners")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--learners", nargs="+", choices=[*LEARNERS])
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS)
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--pool", type=int, default=POOL)
    parser.add_argument("--test", type=int, default=TEST)
    parser.add_argument("--pairs", type=int, default=20, help="of SetFit, a text; 20 was its default before 1.0")
    parser.add_argument("--device", default="cpu", help="where encoders compute, as in torch.device")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds that a process may take")
    parser.add_argument("--python", type=Path, default=PEERS, help="interpreter that has the other tools")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--page", type=Path, help="a page that gets the tables")
    parser.add_argument("--tables", action="store_true", help="compute nothing, only write the tables")
    asked = parser.parse_args(words)
    for name, usual in (FULL if asked.full else SHORT).items():
        if getattr(asked, name) is None:
            setattr(asked, name, usual)
    return asked


def main(words: Sequence[str] | None = None) -> None:
    asked = arguments(words)
    found = pd.read_parquet(asked.out) if asked.out.exists() else pd.DataFrame()
    if "failed" not in found:
        found = found.assign(failed=None)
    if not asked.tables:
        found = compute(found, asked)
    told = tables(found)
    if asked.page:
        write_whole(asked.page, between(asked.page.read_text(encoding="utf-8"), told))
    print(told)


if __name__ == "__main__":
    main()
