"""How often intervals of shares contain the truth, and how wide they are: `python -m bench.shares`.

It prints the tables of docs/findings.md from results/shares.parquet. With `--out FILE.parquet` it first simulates the
projects, in some five minutes on one thread: HYBRIDAL_DATA names the folder of texts, `--cache` a folder for the
features of the frozen encoder.

Of each task, up to 3,000 texts are the population, whose labels are known. Models of three accuracies are probes that
have learnt 24, 100 or 400 labels chosen by margin. A project then draws 100 or 300 random labels from the others, and
estimates the shares of all classes, those of four branches and of twelve months, their differences and the trend. The
branches have texts of other lengths, and classes are more frequent in some months than in others, so the model's errors
differ between them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.drawn_texts import drawn_texts
from bench.tables import table
from hybridal.acquisition.margin import margins
from hybridal.core.outputs import Floats, Ints
from hybridal.core.provenance import RandomDraw
from hybridal.measures.objective import Objective
from hybridal.measures.shares.estimators import Target, share_of, slope_on
from hybridal.measures.shares.groups import By, Groups, group_by
from hybridal.measures.shares.labelled_texts import Flags, LabelledTexts
from hybridal.measures.shares.share_table import Basis, Interval, Line, share_table
from hybridal.models.training.probe import ProbeFitter
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task

FILE = Path(__file__).resolve().parent.parent / "results" / "shares.parquet"
TASKS = ("sst2", "jigsaw", "tweeteval", "ag_news", "trec", "sms_spam", "goemotions")
POPULATION, MAX_LENGTH = 3000, 64
LEARNT, DRAWN = (24, 100, 400), (100, 300)
MODELS, PROJECTS = 5, 14  # models of each accuracy, projects with each model
RARE = 0.05
ESTIMATED = {"share": "all texts", "group": "groups", "difference": "differences", "trend": "trends"}


@dataclass(frozen=True)
class Population:
    """The texts of a task with their labels, features and columns."""

    name: str
    classes: tuple[str, ...]
    objective: Objective
    labels: Ints
    features: Floats
    branches: Groups
    months: Groups

    @property
    def truth(self) -> Floats:
        return self.objective.targets(self.labels)


def read(name: str, root: Path, cache: Path) -> Population:
    """Draw the population of a task, always the same."""
    rng = stream(0, f"shares, {name}")
    texts, classes, labels, objective = drawn_texts(name, root, rng, POPULATION)
    first = np.nan_to_num(objective.targets(labels)).argmax(axis=1)
    length = np.argsort(np.argsort([len(text) for text in texts])) / len(texts) + rng.normal(scale=0.2, size=len(texts))
    branch = np.digitize(length, np.quantile(length, [0.4, 0.7, 0.9]))
    month = np.clip(rng.beta(1.5 + first % 3, 1.5 + (first + 1) % 2, len(texts)) * 12, 0, 11).astype(int)
    return Population(
        name,
        classes,
        objective,
        labels,
        features_of(texts, cache / f"{name}.npy"),
        group_by([f"branch {one}" for one in branch], By("branch")),
        group_by([f"2024-{one + 1:02}-15" for one in month], By("sent", "month")),
    )


def features_of(texts: Sequence[str], file: Path) -> Floats:
    if not file.is_file():
        task = Task.from_texts(list(texts[:8]), ["a", "b"] * 4)
        model = build_model(
            Settings("shares", backbone="minilm", device="cpu", overrides={"max_length": MAX_LENGTH}), task, ()
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, model.embed(list(texts)))
    found: Floats = np.load(file)
    return found


def learn(population: Population, labels: int, seed: int) -> tuple[Ints, Floats, Flags]:
    """Choose labels in four rounds, the later ones by margin; return their rows, probabilities and answers of all."""
    rng, prober, objective = (
        stream(seed, f"shares, {population.name}, {labels}"),
        ProbeFitter(seed),
        population.objective,
    )
    everything = np.arange(len(population.labels))
    chosen = rng.permutation(everything)[: labels // 4]
    while True:
        probe = prober.best(population.features[chosen], population.labels[chosen], objective)
        logits = probe.logits(population.features)
        probabilities = objective.probabilities(logits)
        if len(chosen) >= labels:
            break
        free = rng.permutation(np.setdiff1d(everything, chosen))[:1000]
        some = probabilities[free]
        unsure = np.abs(some - 0.5).min(axis=1) if objective.multi_label else margins(some)
        chosen = np.concatenate([chosen, free[np.argsort(unsure)[: labels // 4]]])
    if objective.multi_label:
        return chosen, probabilities, probabilities >= np.array(objective.thresholds(logits, 1.0, "macro_f1"))
    return chosen, probabilities, np.eye(len(population.classes), dtype=bool)[probabilities.argmax(axis=1)]


def projects(population: Population, labels: int, model: int) -> Iterator[dict[str, Any]]:
    """Rows of the projects with one model: how many intervals held, by what was estimated."""
    chosen, probabilities, answers = learn(population, labels, model)
    truth = population.truth
    rest = np.ones(len(truth), dtype=bool)
    rest[chosen] = False
    right = (answers == (truth == 1)).all(axis=1)[rest].mean()
    for project in range(PROJECTS):
        rng = stream(model, f"shares, {population.name}, {labels}, {project}")
        drawn = rng.permutation(np.flatnonzero(rest))[: DRAWN[project % 2]]
        targets = np.full(truth.shape, np.nan)
        targets[chosen], targets[drawn] = truth[chosen], truth[drawn]
        texts = LabelledTexts(targets, answers, probabilities[None], [RandomDraw(rest, drawn)])
        about = {"task": population.name, "learnt": labels, "model": model, "accuracy": right, "drawn": len(drawn)}
        for groups in (population.branches, population.months):
            basis = Basis(len(truth), len(drawn), 1)
            found = share_table(texts, population.classes, basis, groups)
            # The shares of all texts are the same with both columns.
            lines = [
                line for line in found.lines if line.group or line.kind == "trend" or groups is population.branches
            ]
            yield from ({**about, "project": project, **row} for row in judged(lines, population, groups, answers))


def judged(lines: Sequence[Line], population: Population, groups: Groups, answers: Flags) -> Iterator[dict[str, Any]]:
    """Count which intervals contain the truth, for each kind of estimate, rare classes apart."""
    found = []
    for line in lines:
        if line.estimate is None or line.alone is None:
            continue
        column = population.classes.index(line.name)
        true, error = known(line, population, groups, answers, column)
        naive = Interval(line.count, line.count - 1.96 * error, line.count + 1.96 * error)
        kind = "group" if line.kind == "share" and line.group else line.kind
        row = {"kind": kind, "rare": population.truth[:, column].mean() < RARE, "intervals": 1}
        row |= {"width": line.estimate.half_width, "alone_width": line.alone.half_width}
        for name, interval in (("held", line.estimate), ("alone_held", line.alone), ("naive_held", naive)):
            row[name] = int(interval.low - 1e-12 <= true <= interval.high + 1e-12)
        found.append(row)
    frame = pd.DataFrame(found)
    sums = frame.groupby(["kind", "rare"], as_index=False).sum()
    yield from ({str(name): value for name, value in row.items()} for row in sums.to_dict("records"))


def known(line: Line, population: Population, groups: Groups, answers: Flags, column: int) -> tuple[float, float]:
    """The truth, and the standard error that follows if one takes the model's answers for labels."""
    labels = population.truth[:, column]

    def part(target: Target) -> tuple[float, float]:
        share = float(np.mean(answers[target.rows, column]))
        return float(target.weights @ labels), share * (1 - share) * float(np.sum(target.weights**2))

    if line.kind == "trend":
        assert groups.along is not None
        true, variance = part(slope_on(groups.along))
        return true, variance**0.5
    rows = groups.of == groups.names.index(line.group) if line.group else np.ones(len(labels), dtype=bool)
    true, variance = part(share_of(rows))
    if line.kind == "difference":
        others = groups.of == groups.names.index(line.other) if line.other else ~rows
        other, more = part(share_of(others))
        true, variance = true - other, variance + more
    return true, variance**0.5


def coverage(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    sums = frame.groupby(list(by), sort=False)[
        ["intervals", "held", "alone_held", "naive_held", "width", "alone_width"]
    ].sum()
    return sums.assign(
        coverage=sums["held"] / sums["intervals"],
        alone=sums["alone_held"] / sums["intervals"],
        naive=sums["naive_held"] / sums["intervals"],
        relative=sums["width"] / sums["alone_width"],
    )


def shown(row: Any) -> list[str]:
    return [f"{row.coverage:.1%}", f"{row.alone:.1%}", f"{row.naive:.1%}", f"{row.relative:.2f}"]


HEAD = ["95% intervals that hold", "random labels alone", "naive count", "width, relative to random labels alone"]


def tables(frame: pd.DataFrame | None = None) -> dict[str, str]:
    """All tables, by name."""
    found = pd.read_parquet(FILE) if frame is None else frame
    kinds = coverage(found, ["kind"]).loc[list(ESTIMATED)]
    tasks = coverage(found, ["task", "learnt"])
    accuracy = found.groupby(["task", "learnt"], sort=False)["accuracy"].mean()
    rows = [
        [f"`{task}`", str(learnt), f"{accuracy[task, learnt]:.0%}", *shown(row)]
        for (task, learnt), row in zip(tasks.index, tasks.itertuples(), strict=True)
    ]
    sizes = coverage(found, ["drawn", "rare"]).sort_index()
    named = [
        [str(drawn), "below 5%" if rare else "5% and more", f"{row.intervals:,}", *shown(row)]
        for (drawn, rare), row in zip(sizes.index, sizes.itertuples(), strict=True)
    ]
    return {
        "share_kinds": table(
            ["estimated", "intervals", *HEAD],
            [[ESTIMATED[str(row.Index)], f"{row.intervals:,}", *shown(row)] for row in kinds.itertuples()],
        ),
        "share_tasks": table(["task", "labels learnt", "answers right", *HEAD], rows),
        "share_sizes": table(["random labels", "share of the class", "intervals", *HEAD], named),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="simulate, and write the projects to this file")
    parser.add_argument("--cache", type=Path, default=Path("build/shares"))
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    asked = parser.parse_args()
    frame = None
    if asked.out is not None:
        root, found = Path(os.environ["HYBRIDAL_DATA"]), []
        for name in asked.tasks:
            population = read(name, root, asked.cache)
            for learnt in LEARNT:
                found += [row for model in range(MODELS) for row in projects(population, learnt, model)]
                print(f"{name}, {learnt} labels: {len(found)} rows", flush=True)
        frame = pd.DataFrame(found)
        frame.to_parquet(asked.out, compression="zstd")
    for name, text in tables(frame).items():
        print(f"\n{name}\n{text}")


if __name__ == "__main__":
    main()
