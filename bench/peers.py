"""hybridal next to what people would pick instead: `make compare`, or `python -m bench.peers`.

The same texts, numbers of labels and seeds for all; `HYBRIDAL_DATA` is the folder of texts. Each cell is saved when it
is complete, and the same command goes on after it was stopped. Writes results/comparison.parquet and the tables of
docs/comparison.md. ARGS="--learners tfidf frozen --tasks trec" limits it; `--tables` only writes the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

from bench.contenders.curves import Question
from bench.machine import describe
from bench.page import between
from bench.process import ROOT, run
from bench.tables import interval, table
from hybridal.backbones import load_backbone
from hybridal.measures.calibration import ece
from hybridal.randomness import stream
from hybridal.system.files import write_whole
from hybridal.tasks import Task, load_task

PEERS, OURS = ROOT / ".venv-peers" / "bin" / "python", ROOT / ".venv" / "bin" / "python"
RESULT, PAGE = ROOT / "results" / "comparison.parquet", ROOT / "docs" / "comparison.md"
# The cheap ones first, so that a comparison that is stopped has all of these.
LEARNERS: Mapping[str, str] = {
    "tfidf": "TF-IDF + logistic regression",
    "frozen": "sentence-transformers + logistic regression",
    "frozen, C=30": "the same, a weaker penalty (C = 30)",
    "frozen, balanced weights": "the same, balanced class weights",
    "frozen, names": "the same, class names as examples",
    "scikit-activeml": "scikit-activeml, margin, same embeddings",
    "hybridal": "**hybridal**, `auto`, `minilm`",
    "hybridal, backbone auto": "**hybridal**, `auto`, `backbone: auto`",
    "setfit": "SetFit, random labels",
    "setfit, balanced labels": "SetFit, as many labels of each class",
    "small-text": "small-text, transformer, breaking ties",
    "hybridal, recorded: minilm": "**hybridal**, `minilm`, recorded",
    "hybridal, recorded: gte-small": "**hybridal**, `gte-small`, recorded",
    "hybridal, recorded: auto": "**hybridal**, `backbone: auto` of then, recorded",
}
RECORDED, ROUNDS = ROOT / "results" / "encoders.parquet", {1: 50, 2: 101, 4: 203}
FIGURES = {"accuracy": 3, "nll": 2, "ece": 3, "seconds": 0, "megabytes": 0}
OUR_NAME = "hybridal"
COMPUTED = [name for name in LEARNERS if "recorded" not in name]
POOL, TEST, LENGTH = 2000, 1000, 128
SMALLEST = 1e-4  # probabilities count as at least this in the log loss, so that one certain error does not decide


def cell(task: Task, learner: str, asked: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """The measures of one learner after each number of labels."""
    rng = stream(seed, f"peers, {task.name}")
    pool = task.train.take(rng.permutation(len(task.train))[: asked.pool])
    test = task.test.take(rng.permutation(len(task.test))[: asked.test])
    ours = learner.startswith("hybridal")
    backbone = "auto" if learner.endswith("auto") else str(load_backbone("minilm", task).folder)
    question = Question(
        "auto" if ours else learner,
        [*task.classes],
        [*pool.texts],
        pool.labels.tolist(),
        [*test.texts],
        asked.labels,
        backbone,
        LENGTH,
        asked.pairs,
        seed,
    )
    module = "our_curve" if ours else "peer_curves"
    answer = run(OURS if ours else PEERS, f"bench.contenders.{module}", question.dump())
    named = {"task": task.name, "learner": learner, "seed": seed, "megabytes": answer["megabytes"]}
    return [
        {**named, "labels": point["labels"], "seconds": point["seconds"]}
        | measures(np.array(point["probabilities"]), test.labels)
        for point in answer["curve"]
    ]


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


def recorded() -> pd.DataFrame:
    """Runs of hybridal on a GPU with the same numbers of labels, from results/encoders.parquet."""
    found = pd.read_parquet(RECORDED)
    found = found[found["round"].isin(ROUNDS)]
    return pd.DataFrame(
        {
            "task": found.task,
            "learner": "hybridal, recorded: " + found.backbone,
            "seed": found.seed,
            "labels": found["round"].map(ROUNDS),
            "f1": found.test_f1,
            "accuracy": found.test_accuracy,
            "nll": found.test_nll_scaled,
        }
    )


def tables(found: pd.DataFrame) -> str:
    """A table for each number of labels, then macro-F1 by task."""
    counts = sorted(found["labels"].unique().tolist())
    return "\n".join([*(of_labels(n, found[found["labels"] == n]) for n in counts), by_task(found)])


def of_labels(labels: int, found: pd.DataFrame) -> str:
    """Means over tasks; the spread is that over seeds. The lead is over the tasks that both have, with its interval."""
    ours = OUR_NAME if (found.learner == OUR_NAME).any() else f"{OUR_NAME}, recorded: minilm"
    by_task = found.pivot_table(index="task", columns="learner", values="f1")
    rows = []
    for learner, words in LEARNERS.items():
        some = found[found.learner == learner]
        if not len(some):
            continue
        seeds = some.groupby("seed").f1.mean()
        spread = f" ± {seeds.std():.3f}" if len(seeds) > 1 else ""
        ahead = (100 * (by_task[ours] - by_task[learner])).dropna().tolist() if ours in by_task else []
        lead = f"{np.mean(ahead):+.1f}" if learner != ours and len(ahead) else ""
        if lead and len(ahead) > 2:
            _, low, high = interval(ahead)
            lead += f" [{low:+.1f}, {high:+.1f}]"
        others = [_figure(some, name, digits) for name, digits in FIGURES.items()]
        rows.append([words, f"{some.task.nunique()}, {len(some)}", f"{some.f1.mean():.3f}{spread}", lead, *others])
    head = ["learner", "tasks, runs", "macro-F1", "hybridal ahead", "accuracy", "log loss", "ECE", "CPU s", "MB"]
    return f"### {labels} labels\n\n{table(head, rows)}\n"


def _figure(some: pd.DataFrame, name: str, digits: int) -> str:
    """The mean, if all runs have it."""
    values = some.get(name, pd.Series([np.nan]))
    return "" if values.isna().any() else f"{values.mean():.{digits}f}"


def by_task(found: pd.DataFrame) -> str:
    """Macro-F1 of each task with the most labels."""
    last = found[found.labels == found.labels.max()]
    means = last.pivot_table(index="learner", columns="task", values="f1")
    rows = [
        [words, *("" if np.isnan(value) else f"{value:.3f}" for value in means.loc[learner])]
        for learner, words in LEARNERS.items()
        if learner in means.index
    ]
    head = ["macro-F1", *(f"`{task}`" for task in means)]
    return f"### Each task, {last.labels.max()} labels\n\n{table(head, rows)}\n"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=["trec", "sst2", "agnews", "sms_spam"])
    parser.add_argument("--learners", nargs="+", choices=COMPUTED, default=COMPUTED)
    parser.add_argument("--labels", nargs="+", type=int, default=[*ROUNDS.values()])
    parser.add_argument("--seeds", nargs="+", type=int, default=[51, 52, 53])
    parser.add_argument("--pool", type=int, default=POOL)
    parser.add_argument("--test", type=int, default=TEST)
    parser.add_argument("--pairs", type=int, default=20, help="of SetFit, a text; 20 was its default before 1.0")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--tables", action="store_true", help="compute nothing, only write the tables")
    asked = parser.parse_args(words)
    found = pd.read_parquet(asked.out) if asked.out.exists() else pd.DataFrame()
    for seed in [] if asked.tables else asked.seeds:
        for learner in asked.learners:
            for task in map(load_task, asked.tasks):
                if len(found) and ((found.task == task.name) & (found.learner == learner) & (found.seed == seed)).any():
                    continue
                fresh = pd.DataFrame(cell(task, learner, asked, seed)).assign(pairs=asked.pairs, **_machine())
                print(
                    fresh[["task", "learner", "seed", "labels", "f1", "nll", "seconds"]].to_string(index=False),
                    flush=True,
                )
                found = pd.concat([found, fresh], ignore_index=True)
                found.to_parquet(asked.out, index=False, compression="zstd")
    told = tables(pd.concat([found, recorded()], ignore_index=True))
    if asked.page.exists():
        write_whole(asked.page, between(asked.page.read_text(encoding="utf-8"), told))
    print(told)


def _machine() -> dict[str, Any]:
    told = describe()
    return {name: told[name] for name in ("processor", "threads", "torch", "hybridal")}


if __name__ == "__main__":
    main()
