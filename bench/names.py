"""What the names of classes are worth as examples: `python -m bench.names [TASK …]`, without any those of `learners`.

Probes of the frozen encoder on labels drawn at random, with and without names; a few minutes on two cores.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import f1_score

from bench.tables import interval, table
from hybridal.core.outputs import Floats, Ints
from hybridal.measures.calibration import nll
from hybridal.models.names import spoken
from hybridal.models.probe import Prober
from hybridal.models.transformer import TransformerModel
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.study.presets import preset
from hybridal.tasks import Task, load_task

LABELS = (10, 50, 100, 200, 400)
DRAWS = 5
POOL, TESTED = 2000, 1000  # texts of a task at most


@dataclass(frozen=True)
class Read:
    """What the pretrained encoder says of some texts of a task, and of the names of its classes."""

    features: Floats
    labels: Ints
    tested: Floats
    truth: Ints
    names: Floats


def read(task: Task, model: TransformerModel) -> Read:
    """Of as many texts as are looked at, drawn at random."""
    rng = stream(0, "names")
    train, test = (
        split.take(rng.permutation(len(split))[:most]) for split, most in ((task.train, POOL), (task.test, TESTED))
    )
    names = model.embed(spoken(task.classes))
    return Read(model.embed(train.texts), train.labels, model.embed(test.texts), test.labels, names)


def scores(known: Read) -> Iterator[tuple[int, bool, float, float]]:
    """Labels, whether names are examples, macro-F1 and NLL, draw by draw."""
    classes = len(known.names)
    for draw in range(DRAWS):
        rows = stream(draw, "labels").permutation(len(known.labels))
        prober = Prober(draw)
        for labels in LABELS:
            some = rows[:labels]
            for named in (False, True):
                names = known.names if named else None
                probe = prober.best(known.features[some], known.labels[some], classes, names)
                logits = probe.logits(known.tested)
                right = f1_score(known.truth, logits.argmax(axis=1), average="macro", zero_division=0)
                yield labels, named, float(right), nll(logits, known.truth)


def row(name: str, known: Read) -> list[str]:
    """F1 without and with names, and the gain in points with its interval over draws."""
    found = list(scores(known))
    cells = []
    for labels in LABELS:
        f1 = [np.array([f1 for n, said, f1, _ in found if (n, said) == (labels, named)]) for named in (False, True)]
        gain, low, high = interval(100 * (f1[1] - f1[0]))
        cells.append(f"{f1[0].mean():.3f} → {f1[1].mean():.3f} ({gain:+.1f} [{low:+.1f}, {high:+.1f}])")
    losses = [np.mean([loss for n, said, _, loss in found if (n, said) == (100, named)]) for named in (False, True)]
    return [f"`{name}`", str(len(known.names)), *cells, f"{losses[0]:.2f} → {losses[1]:.2f}"]


def main(tasks: Sequence[str]) -> None:
    rows = []
    for name in tasks or map(str, preset("learners").tasks):
        task = load_task(name)
        if not spoken(task.classes):
            print(f"{name}: the names of its classes say nothing.")
            continue
        model = build_model(Settings(name, device="cpu"), task, ())
        rows.append(row(name, read(task, model)))
        print("|", " | ".join(rows[-1]), "|", flush=True)
    head = ["task", "classes", *(f"{labels} labels" for labels in LABELS), "NLL at 100"]
    print(f"\n{table(head, rows)}")


if __name__ == "__main__":
    main(sys.argv[1:])
