"""Class names and descriptions as training examples: `python -m bench.names [TASK …]`, by default those of `learners`.

Probes of the frozen encoder on labels drawn at random: without names, with names, and with a line of description too
where there is one below. A few minutes on two cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score

from bench.tables import interval, table
from hybridal.core.outputs import Floats, Ints
from hybridal.lab.study.study_presets import preset
from hybridal.measures.calibration import nll
from hybridal.measures.objective import SingleLabel
from hybridal.models.training.class_descriptions import class_descriptions, readable_names
from hybridal.models.training.description_probe import shrunk
from hybridal.models.training.probe import LabelledFeatures, ProbeFitter
from hybridal.models.transformer import TransformerModel
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task, load_task

LABELS = (10, 50, 100, 200, 400)
DRAWS = 5
PROBE_UNTIL = 30  # of the protocol `best`
POOL, TESTED = 2000, 1000  # texts of a task at most
# Written once, from the documentation of the classes, before any text was read.
DESCRIPTIONS: Mapping[str, Mapping[str, str]] = {
    "trec": {
        "ABBR": "what an abbreviation stands for",
        "DESC": "definitions, descriptions, reasons, and how something is done",
        "ENTY": "things such as animals, food, products, sports or words",
        "HUM": "a person or a group of people",
        "LOC": "a place such as a city, a country or a mountain",
        "NUM": "a number such as a date, a count, a price or a distance",
    },
    "sst2": {"negative": "the critic finds the film bad", "positive": "the critic likes the film"},
    "tweeteval": {
        "negative": "a tweet by somebody who is unhappy, angry or disappointed",
        "neutral": "a tweet that states records without feeling",
        "positive": "a tweet by somebody who is happy or enthusiastic",
    },
    "agnews": {
        "World": "politics, wars and disasters in other countries",
        "Sports": "games, players and teams",
        "Business": "companies, markets and the economy",
        "Sci/Tech": "science, computers, software and space",
    },
    "imdb": {
        "negative": "a review by somebody who did not like the movie",
        "positive": "a review by somebody who loved the movie",
    },
    "jigsaw": {
        "non-toxic": "a polite comment about an article",
        "toxic": "a rude, insulting, hateful or threatening comment",
    },
    "sms_spam": {
        "ham": "a personal message to a friend",
        "spam": "unwanted advertising, prizes to claim and premium services",
    },
}


@dataclass(frozen=True)
class Read:
    """Pretrained features of some texts of a task, and of its class descriptions in growing detail."""

    features: Floats
    labels: Ints
    tested: Floats
    truth: Ints
    described: Sequence[LabelledFeatures | None]


def read(task: Task, model: TransformerModel) -> Read:
    """Of as many texts as are looked at, drawn at random."""
    rng = stream(0, "names")
    train, test = (
        split.take(rng.permutation(len(split))[:most]) for split, most in ((task.train, POOL), (task.test, TESTED))
    )
    described: list[LabelledFeatures | None] = [None]
    for descriptions in [{}, task.descriptions] if task.descriptions else [{}]:
        texts, of = class_descriptions(task.classes, descriptions)
        described.append((model.embed(texts), of))
    return Read(model.embed(train.texts), train.labels, model.embed(test.texts), test.labels, described)


def scores(known: Read, classes: int) -> Iterator[tuple[int, int, float, float]]:
    """Number of labels, level of detail of the class descriptions, macro-F1 and NLL, for each draw."""
    for draw in range(DRAWS):
        rows = stream(draw, "labels").permutation(len(known.labels))
        prober = ProbeFitter(draw)
        for labels in LABELS:
            some = rows[:labels]
            for level, described in enumerate(known.described):
                examples, one = (known.features[some], known.labels[some]), SingleLabel(classes)
                probe = prober.best(*examples, one, described)
                if labels < PROBE_UNTIL:  # as the model does
                    probe = shrunk(probe, examples, one, described)
                logits = probe.logits(known.tested)
                right = f1_score(known.truth, logits.argmax(axis=1), average="macro", zero_division=0)
                yield labels, level, float(right), nll(logits, known.truth)


def row(task: Task, found: Sequence[tuple[int, int, float, float]], level: int) -> list[str]:
    """F1 with the level below and with this level of descriptions, and the gain in points with its interval."""
    cells = []
    for labels in LABELS:
        f1 = [np.array([f1 for n, used, f1, _ in found if (n, used) == (labels, at)]) for at in (level - 1, level)]
        gain, low, high = interval(100 * (f1[1] - f1[0]))
        cells.append(f"{f1[0].mean():.3f} → {f1[1].mean():.3f} ({gain:+.1f} [{low:+.1f}, {high:+.1f}])")
    losses = [np.mean([loss for n, used, _, loss in found if (n, used) == (100, at)]) for at in (level - 1, level)]
    return [f"`{task.name}`", str(len(task.classes)), *cells, f"{losses[0]:.2f} → {losses[1]:.2f}"]


def main(tasks: Sequence[str]) -> None:
    rows: dict[int, list[list[str]]] = {1: [], 2: []}
    for name in tasks or map(str, preset("learners").tasks):
        task = load_task(name).with_descriptions(DESCRIPTIONS.get(name, {}))
        if not readable_names(task.classes):
            print(f"{name}: the names of its classes say nothing.")
            continue
        model = build_model(Settings(name, backbone="minilm", device="cpu"), task, ())
        known = read(task, model)
        found = list(scores(known, len(task.classes)))
        for level in range(1, len(known.described)):
            rows[level].append(row(task, found, level))
            print("|", " | ".join(rows[level][-1]), "|", flush=True)
    for level, change in ((1, "without names → with names"), (2, "with names → with a line of description too")):
        if rows[level]:
            head = ["task", "classes", *(f"{labels} labels" for labels in LABELS), "NLL at 100"]
            print(f"\n{change}\n\n{table(head, rows[level])}")


if __name__ == "__main__":
    main(sys.argv[1:])
