"""Who should label at equal money: people, a model, or both: `python -m bench.annotators`.

It prints the tables of docs/findings.md from results/annotators.parquet. With `--out FILE.parquet` it first simulates
the projects, in some minutes on one thread: HYBRIDAL_DATA names the folder of texts, `--cache` one for the features of
the frozen encoder (those of `bench.promises`).

Of each task, 2,000 texts can be labelled and 1,000 are for testing. A label of a model costs a twentieth of one by
people; there are no more labels by a model than texts. The learner is the probe of the frozen encoder, which weighs a
model's labels by its errors in each class on texts that people labelled too. Together, half of the money is for people.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

from bench.promises import Population, read
from bench.tables import interval, table
from hybridal.acquisition.margin import margins
from hybridal.annotators.simulated import noisy_labels, word_probabilities
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.model_errors import label_weights
from hybridal.models.training.probe import ProbeFitter
from hybridal.randomness import stream

FILE = Path(__file__).resolve().parent.parent / "results" / "annotators.parquet"
TRAINED = FILE.with_name("annotators-trained.parquet")
TASKS, SEEDS = ("trec", "ag_news", "tweeteval"), (0, 1)
MODELS = ((0.1, "random"), (0.3, "random"), (0.3, "class"), (0.3, "difficulty"))
TRAINED_BUDGETS = (50, 101)  # the first two rounds of people
BUDGETS, RATIO = (50, 100, 200), 20  # money in labels by people, and labels by a model for one of them
POOL, BATCH = 2000, 25
ALONE = "model alone"


class Project:
    """The texts of a task for one seed, and the probe."""

    def __init__(self, population: Population, texts: list[str], seed: int) -> None:
        self.population, self.seed = population, seed
        order = stream(seed, f"annotators, {population.name}").permutation(len(population.labels))
        self.pool, self.test = order[:POOL], order[POOL:]
        self.objective, self.labels, self.features = population.objective, population.labels, population.features
        self.texts, self.prober = texts, ProbeFitter(seed)

    def logits(self, rows: Ints, labels: Ints, weights: Floats | None = None) -> Floats:
        """Fit the probe to labels of these rows; return the logits of all texts."""
        probe = self.prober.best(self.features[rows], labels, self.objective, weights=weights)
        found: Floats = probe.logits(self.features)
        return found

    def score(self, logits: Floats) -> dict[str, float]:
        answers, truth = logits[self.test].argmax(axis=1), self.labels[self.test]
        return {
            "accuracy": float((answers == truth).mean()),
            "f1": float(f1_score(truth, answers, average="macro", zero_division=0)),
        }

    def chosen(self, labels: Ints, acquisition: str, most: int, first: int, growth: int = 0) -> Ints:
        """Rows in the order in which they are labelled: by margin after each `growth` labels (0: they double)."""
        rng = stream(self.seed, f"chosen, {self.population.name}, {acquisition}")
        order = rng.permutation(self.pool)
        if acquisition == "random":
            return order[:most]
        rows = order[:first]
        while len(rows) < most:
            more = min(growth or len(rows), most - len(rows))
            free = np.setdiff1d(self.pool, rows)
            unsure = margins(self.objective.probabilities(self.logits(rows, labels[rows])[free]))
            rows = np.concatenate([rows, free[np.argsort(unsure)[:more]]])
        return rows


def projects(project: Project) -> Iterator[dict[str, Any]]:
    """The scores of all ways to spend the money."""
    truth, classes = project.labels, project.objective.classes
    about = {"task": project.population.name, "seed": project.seed}
    by_people = {one: project.chosen(truth, one, max(BUDGETS), BATCH, BATCH) for one in ("margin", "random")}
    for acquisition, rows in by_people.items():
        for budget in BUDGETS:
            some = rows[:budget]
            found = project.score(project.logits(some, truth[some]))
            yield {**about, "who": "people", "model": "", "acquisition": acquisition, "budget": budget, **found}
    pool = project.pool
    likely = word_probabilities([project.texts[row] for row in pool], truth[pool], classes)
    for error, structure in MODELS:
        given = truth.astype(np.int64).copy()
        given[pool] = noisy_labels(truth[pool], classes, error, structure, project.seed, likely)
        named = {**about, "model": f"{error:.0%} {structure}"}
        for acquisition in ("margin", "random"):
            order = project.chosen(given, acquisition, BUDGETS[1] * RATIO // 2, 250)
            for budget in BUDGETS if acquisition == "random" else BUDGETS[:1]:
                some = order[: budget * RATIO]
                if acquisition == "random":
                    some = stream(project.seed, f"chosen, {project.population.name}, random").permutation(pool)
                    some = some[: budget * RATIO]
                found = project.score(project.logits(some, given[some]))
                yield {**named, "who": ALONE, "acquisition": acquisition, "budget": budget, **found}
            for budget in BUDGETS:
                own = by_people[acquisition][: budget // 2]
                free = stream(project.seed, f"free, {project.population.name}").permutation(np.setdiff1d(pool, own))
                others = free[: budget // 2 * RATIO - len(own)]  # it labels the texts of people too
                rows = np.concatenate([own, others])
                labels = np.concatenate([truth[own], given[others]])
                weights = np.ones((len(rows), 1))
                weights[len(own) :] = label_weights(given[others], given[own], truth[own], project.objective)
                found = project.score(project.logits(rows, labels, weights))
                yield {**named, "who": "together", "acquisition": acquisition, "budget": budget, **found}


def simulate(root: Path, cache: Path, out: Path) -> None:
    rows: list[dict[str, Any]] = []
    for name in TASKS:
        population = read(name, root, cache)
        parts = pd.concat([pd.read_parquet(root / name / f"{split}.parquet") for split in ("train", "test")])
        parts = parts.drop_duplicates("text")
        chosen = stream(0, f"shares, {name}").permutation(len(parts))[: len(population.labels)]
        texts = parts.iloc[chosen]["text"].tolist()
        for seed in SEEDS:
            rows += projects(Project(population, texts, seed))
            pd.DataFrame(rows).to_parquet(out, index=False, compression="zstd")
            print(name, seed, len(rows), flush=True)


def tables(found: pd.DataFrame) -> str:
    """The tables of docs/findings.md: macro-F1 in points, and the gain of active learning with its interval."""
    rows = []
    kinds = found.drop_duplicates(["who", "model"]).sort_values(["who", "model"], ascending=[False, True])
    order = {"people": 0, ALONE: 1, "together": 2}
    for _, kind in kinds.sort_values("who", key=lambda who: who.map(order), kind="stable").iterrows():
        some = found[(found["who"] == kind["who"]) & (found["model"] == kind["model"])]
        cells = []
        for budget in BUDGETS:
            by = some[some["budget"] == budget].pivot_table(index=["task", "seed"], columns="acquisition", values="f1")
            random = f"{100 * by['random'].mean():.1f}"
            if "margin" not in by:
                cells.append(random)
                continue
            gain, low, high = interval(100 * (by["margin"] - by["random"]))
            cells.append(f"{random}, {gain:+.1f} [{low:+.1f}, {high:+.1f}]")
        rows.append([kind["who"], kind["model"], *cells])
    return table(["who labels", "errors of the model", *(f"money for {one} labels" for one in BUDGETS)], rows)


def trained_table(found: pd.DataFrame) -> str:
    """The same for runs of `auto`: the last round that the money is enough for."""
    runs = found.assign(cost=found["people"] + found["by_model"] / RATIO)
    rows = []
    for who, some in runs.groupby("who", observed=True):
        cells = []
        for budget in TRAINED_BUDGETS:
            last = (
                some[some["cost"] <= budget]
                .sort_values("round")
                .groupby(["task", "seed", "acquisition"], observed=True)
            )
            by = last.f1.last().unstack("acquisition").dropna()
            gain, low, high = interval(100 * (by["margin"] - by["random"]))
            cells.append(f"{100 * by['random'].mean():.1f}, {gain:+.1f} [{low:+.1f}, {high:+.1f}]")
        rows.append([f"`{who}`", str(len(by)), *cells])
    return table(["who labels", "runs", *(f"money for {one} labels" for one in TRAINED_BUDGETS)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="simulate, and write the projects there")
    parser.add_argument("--cache", type=Path, default=Path("build/features"))
    given = parser.parse_args()
    if given.out is not None:
        simulate(Path(os.environ["HYBRIDAL_DATA"]), given.cache, given.out)
    print(tables(pd.read_parquet(given.out or FILE)))
    print(trained_table(pd.read_parquet(TRAINED)))


if __name__ == "__main__":
    main()
