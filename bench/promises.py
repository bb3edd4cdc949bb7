"""How often promises are broken, and what they allow: `python -m bench.promises`.

It prints the tables of docs/findings.md from results/promises.parquet. With `--out FILE.parquet` it first simulates the
projects, in some minutes on one thread: HYBRIDAL_DATA names the folder of texts, `--cache` a folder for the features of
the frozen encoder.

Of each task, up to 3,000 texts are the population, whose labels are known. Models of three accuracies are probes that
have learnt 24, 100 or 400 labels chosen by margin. A project draws 200 or 400 random labels from the other texts, with
replacement, as if these were the share of each kind of text in the long run. The labels also choose the temperature, as
in a real project. A promise is broken if its limit is exceeded over all texts that the model has not learnt.
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
from hybridal.measures.evidence import Evidence, answer_confidence
from hybridal.measures.objective import Objective
from hybridal.measures.prediction_sets import lowest_true
from hybridal.measures.recall_certificate import allowed_missing, most_missing
from hybridal.models.training.probe import ProbeFitter
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task

FILE = Path(__file__).resolve().parent.parent / "results" / "promises.parquet"
TASKS = ("sst2", "jigsaw", "tweeteval", "ag_news", "trec", "sms_spam", "goemotions")
POPULATION, MAX_LENGTH = 3000, 64
LEARNT, DRAWN = (24, 100, 400), (200, 400)
MODELS, PROJECTS = 5, 10  # models of each accuracy, projects with each model
LIMITS, COVERAGES, RECALLS = (0.02, 0.05, 0.1), (0.9, 0.95), (0.8, 0.95)
LOOKS = 10  # labels from one look at a certificate to the next
FEWEST_FOUND = 20  # texts of a class, to ask for a certificate


@dataclass(frozen=True)
class Population:
    """The texts of a task with their labels and features."""

    name: str
    objective: Objective
    labels: Ints
    features: Floats


@dataclass(frozen=True)
class Model:
    """What a model says of all texts, and which it has learnt."""

    learnt: Ints
    logits: Floats
    thresholds: tuple[float, ...]


def read(name: str, root: Path, cache: Path) -> Population:
    """Draw the population of a task, always the same."""
    texts, _, labels, objective = drawn_texts(name, root, stream(0, f"shares, {name}"), POPULATION)
    return Population(name, objective, labels, features_of(texts, cache / f"{name}.npy"))


def features_of(texts: Sequence[str], file: Path) -> Floats:
    if not file.is_file():
        task = Task.from_texts(list(texts[:8]), ["a", "b"] * 4)
        model = build_model(
            Settings("promises", backbone="minilm", device="cpu", overrides={"max_length": MAX_LENGTH}), task, ()
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, model.embed(list(texts)))
    found: Floats = np.load(file)
    return found


def learn(population: Population, labels: int, seed: int) -> Model:
    """Choose labels in four rounds, the later ones by margin."""
    rng, prober, objective = (
        stream(seed, f"promises, {population.name}, {labels}"),
        ProbeFitter(seed),
        population.objective,
    )
    everything = np.arange(len(population.labels))
    chosen = rng.permutation(everything)[: labels // 4]
    while True:
        logits = prober.best(population.features[chosen], population.labels[chosen], objective).logits(
            population.features
        )
        if len(chosen) >= labels:
            break
        free = rng.permutation(np.setdiff1d(everything, chosen))[:1000]
        some = objective.probabilities(logits)[free]
        unsure = np.abs(some - 0.5).min(axis=1) if objective.multi_label else margins(some)
        chosen = np.concatenate([chosen, free[np.argsort(unsure)[: labels // 4]]])
    return Model(chosen, logits, objective.thresholds(logits, 1.0, "macro_f1") if objective.multi_label else ())


def projects(population: Population, model: Model, seed: int) -> Iterator[dict[str, Any]]:
    """The promises of one project about answers and sets, and whether they were kept."""
    rng, objective = stream(seed, f"project, {population.name}, {len(model.learnt)}"), population.objective
    rest = np.setdiff1d(np.arange(len(population.labels)), model.learnt)
    unlabelled = rng.permutation(rest)[:512]
    for drawn in DRAWN:
        random = rng.choice(rest, drawn)
        temperature = objective.fit_temperature(model.logits[random], population.labels[random])
        probabilities = objective.probabilities(model.logits[rest], temperature)
        confidences = answer_confidence(probabilities, model.thresholds)
        targets = objective.targets(population.labels[rest])
        if objective.multi_label:
            wrong = ((probabilities >= np.array(model.thresholds)) != (targets == 1)).any(axis=1)
            lowest = lowest_true(probabilities, targets)
        else:
            wrong = probabilities.argmax(axis=1) != population.labels[rest]
            lowest = lowest_true(probabilities, population.labels[rest])
        evidence = Evidence.of(
            objective,
            model.logits[random],
            population.labels[random],
            model.logits[unlabelled],
            temperature,
            model.thresholds,
        )
        about = {"task": population.name, "learnt": len(model.learnt), "drawn": drawn, "accuracy": 1 - wrong.mean()}
        for limit in LIMITS:
            found = evidence.promise(limit)
            answered = found.answers(confidences.round(6))
            yield {**about, "promise": "error", "limit": limit, **_kept(wrong, answered, limit)}
            trusted = _trusted(confidences, limit)
            yield {**about, "promise": "trusted error", "limit": limit, **_kept(wrong, trusted, limit)}
        for coverage in COVERAGES:
            rule = evidence.set_rule(coverage)
            plain = float(np.quantile(evidence.lowest, 1 - coverage, method="lower"))
            for name, threshold in (("set", rule.threshold), ("average set", plain)):
                missed = np.zeros(len(rest)) if threshold is None else lowest.round(6) < threshold
                sizes = (
                    targets.shape[1]
                    if threshold is None
                    else np.maximum(1, (probabilities >= threshold).sum(axis=1)).mean()
                )
                yield {
                    **about,
                    "promise": name,
                    "limit": coverage,
                    "made": threshold is not None,
                    "broken": bool(missed.mean() > 1 - coverage),
                    "size": float(sizes),
                }


def _kept(wrong: Any, answered: Any, limit: float) -> dict[str, Any]:
    share = float(answered.mean())
    return {"made": share > 0, "broken": bool(share and wrong[answered].mean() > limit), "size": share}


def _trusted(confidences: Floats, limit: float) -> Any:
    """Answer as many texts as the calibrated probabilities allow, without a test."""
    order = np.argsort(-confidences)
    expected = np.cumsum(1 - confidences[order]) / np.arange(1, len(order) + 1)
    answered = np.zeros(len(order), dtype=bool)
    answered[order[: int((expected <= limit).sum())]] = True
    return answered


def certificates(population: Population, model: Model, seed: int) -> Iterator[dict[str, Any]]:
    """One certificate per class and recall: people look every ten labels, and stop when it holds."""
    objective = population.objective
    targets, probabilities = objective.targets(population.labels) == 1, objective.probabilities(model.logits)
    if objective.multi_label:
        given = probabilities >= np.array(model.thresholds)
    else:
        given = np.eye(probabilities.shape[1], dtype=bool)[probabilities.argmax(axis=1)]
    for number in range(targets.shape[1]):
        rng = stream(seed, f"certificate, {population.name}, {len(model.learnt)}", number)
        labelled = given[:, number].copy()  # people label all texts to which the model gives the class
        labelled[model.learnt] = True
        found = int(targets[labelled, number].sum())
        order = rng.permutation(np.flatnonzero(~labelled))
        if found < FEWEST_FOUND or len(order) < FEWEST_FOUND:
            continue
        seen = np.concatenate([[0], np.cumsum(targets[order, number])])
        for recall in RECALLS:
            looks = [*range(0, len(order), LOOKS), len(order)]
            sampled = next(
                n
                for n in looks
                if most_missing(len(order), n, int(seen[n]), many_looks=True)
                <= allowed_missing(found + int(seen[n]), recall)
            )
            yield {
                "task": population.name,
                "learnt": len(model.learnt),
                "drawn": sampled,
                "accuracy": found / (found + int(seen[-1])),
                "promise": "recall",
                "limit": recall,
                "made": sampled < len(order),
                "broken": bool((found + seen[sampled]) / (found + seen[-1]) < recall),
                "size": sampled / len(order),
            }


def simulate(root: Path, cache: Path) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for name in TASKS:
        population = read(name, root, cache)
        for labels in LEARNT:
            for number in range(MODELS):
                model = learn(population, labels, number)
                for project in range(PROJECTS):
                    rows += projects(population, model, PROJECTS * number + project)
                rows += certificates(population, model, number)
        print(name, len(rows), flush=True)
    return pd.DataFrame(rows)


def tables(found: pd.DataFrame) -> str:
    """The tables of docs/findings.md."""
    errors, sets, recalls = [], [], []
    for (limit, drawn), some in found[found["promise"] == "error"].groupby(["limit", "drawn"]):
        same = found[(found["limit"] == limit) & (found["drawn"] == drawn)]
        trusted = same[same["promise"] == "trusted error"]
        errors.append(
            [
                f"{limit:.0%}",
                str(drawn),
                f"{len(some):,}",
                f"{some['made'].mean():.0%}",
                f"{some['broken'].mean():.1%}",
                f"{some['broken'].sum() / max(1, some['made'].sum()):.1%}",
                f"{some['size'].mean():.0%}",
                f"{trusted['broken'].mean():.0%}",
                f"{trusted['size'].mean():.0%}",
            ]
        )
    for (coverage, drawn), some in found[found["promise"] == "set"].groupby(["limit", "drawn"]):
        same = found[(found["limit"] == coverage) & (found["drawn"] == drawn)]
        plain = same[same["promise"] == "average set"]
        sets.append(
            [
                f"{coverage:.0%}",
                str(drawn),
                f"{len(some):,}",
                f"{some['broken'].mean():.1%}",
                f"{some['size'].mean():.2f}",
                f"{plain['broken'].mean():.0%}",
                f"{plain['size'].mean():.2f}",
            ]
        )
    for (recall, enough), some in (
        found[found["promise"] == "recall"]
        .assign(enough=lambda rows: rows["accuracy"] >= rows["limit"])
        .groupby(["limit", "enough"])
    ):
        recalls.append(
            [
                f"{recall:.0%}",
                "yes" if enough else "no",
                f"{len(some):,}",
                f"{some['accuracy'].median():.0%}",
                f"{some['made'].mean():.0%}",
                f"{some['broken'].mean():.1%}",
                f"{some['drawn'].median():,.0f}",
                f"{some['size'].median():.0%}",
            ]
        )
    return "\n\n".join(
        [
            table(
                [
                    "at most wrong",
                    "random labels",
                    "projects",
                    "with a promise",
                    "broken",
                    "broken of those made",
                    "answered",
                    "broken if probabilities are trusted",
                    "answered then",
                ],
                errors,
            ),
            table(
                [
                    "sets of",
                    "random labels",
                    "projects",
                    "broken",
                    "classes per set",
                    "broken by plain conformal prediction",
                    "classes per set then",
                ],
                sets,
            ),
            table(
                [
                    "recall",
                    "found already",
                    "certificates",
                    "found before (median)",
                    "before all texts were labelled",
                    "broken",
                    "labels (median)",
                    "share of the list (median)",
                ],
                recalls,
            ),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="simulate, and write the projects there")
    parser.add_argument("--cache", type=Path, default=Path("build/features"))
    given = parser.parse_args()
    if given.out is not None:
        simulate(Path(os.environ["HYBRIDAL_DATA"]), given.cache).to_parquet(given.out, index=False, compression="zstd")
    print(tables(pd.read_parquet(given.out or FILE)))


if __name__ == "__main__":
    main()
