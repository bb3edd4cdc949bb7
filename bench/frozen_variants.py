"""Two encoders in one probe, and self-training, on frozen features: `python -m bench.frozen_variants --run`.

Probes with class names as examples on random labels of the nine tasks of `HYBRIDAL_DATA` with one label per text.
Without --run, prints the tables of results/frozen-variants.parquet.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

from bench.names import Read, read
from bench.tables import bounds, table
from hybridal.core.outputs import Floats, Ints
from hybridal.lab.study.study_presets import preset
from hybridal.measures.calibration import log_softmax, nll
from hybridal.measures.objective import SingleLabel
from hybridal.models.training.probe import LabelledFeatures, Probe, ProbeFitter, fit_probe
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.system.files import file_made_whole
from hybridal.tasks import load_task

FILE = Path(__file__).resolve().parent.parent / "results" / "frozen-variants.parquet"
ENCODERS = ("gte-small", "minilm")
LABELS = (45, 91, 183)  # learnt from, with 50, 101 and 203 labels in all
DRAWS = 4
UNLABELLED = 1000
# How much a text with a predicted class counts; with more, the wrong ones count too much.
PSEUDO_WEIGHT = 0.05
BASE = f"`{ENCODERS[0]}`"
BOTH, AVERAGE, SELF = "features of both", "average of both", f"{BASE}, self-training"


def scaled(known: Read) -> Read:
    """Centred features of unit variance, so that those of two encoders can stand side by side."""
    centre, spread = known.features.mean(axis=0), known.features.std()
    names = known.described[1]
    assert names is not None
    described = ((names[0] - centre) / spread, names[1])
    return Read(
        (known.features - centre) / spread, known.labels, (known.tested - centre) / spread, known.truth, [described]
    )


def side_by_side(known: Mapping[str, Read]) -> Read:
    """The features of all encoders as one vector per text."""
    parts = [scaled(known[encoder]) for encoder in ENCODERS]
    names = [part.described[0] for part in parts]
    described = np.hstack([each[0] for each in names if each is not None]), class_of_names(known[ENCODERS[0]])
    features, tested = (np.hstack([getattr(part, which) for part in parts]) for which in ("features", "tested"))
    return Read(features, parts[0].labels, tested, parts[0].truth, [None, described])


def class_of_names(known: Read) -> Ints:
    """The class of each name."""
    names = known.described[1]
    assert names is not None
    return names[1]


def self_trained(
    probe: Probe, known: LabelledFeatures, unlabelled: Floats, one: SingleLabel, names: LabelledFeatures
) -> Probe:
    """A probe of the labels and of the classes that `probe` predicts, weighted by its squared confidence."""
    features, labels = known
    chances = np.exp(log_softmax(probe.logits(unlabelled)))
    counts = np.concatenate([np.ones(len(labels)), PSEUDO_WEIGHT * chances.max(axis=1) ** 2])
    examples = np.vstack([features, unlabelled]), np.concatenate([labels, chances.argmax(axis=1)])
    return fit_probe(*examples, one, probe.penalty, names if probe.uses_descriptions else None, counts[:, None])


def logits(known: Mapping[str, Read], one: SingleLabel, draw: int, labels: int) -> dict[str, Floats]:
    """Logits of the test texts, by variant."""
    first = known[ENCODERS[0]]
    rows = stream(draw, "frozen variants").permutation(len(first.labels))
    some, rest = rows[:labels], rows[max(LABELS) :][:UNLABELLED]
    probes: dict[str, Probe] = {}
    for encoder, texts in {**known, BOTH: side_by_side(known)}.items():
        probes[encoder] = ProbeFitter(draw).best(texts.features[some], texts.labels[some], one, texts.described[1])
    found: dict[str, Floats] = {f"`{encoder}`": probes[encoder].logits(known[encoder].tested) for encoder in ENCODERS}
    found[BOTH] = probes[BOTH].logits(side_by_side(known).tested)
    found[AVERAGE] = np.mean([log_softmax(each) for each in list(found.values())[:2]], axis=0)
    names = first.described[1]
    assert names is not None
    learnt = first.features[some], first.labels[some]
    found[SELF] = self_trained(probes[ENCODERS[0]], learnt, first.features[rest], one, names).logits(first.tested)
    return found


def rows(name: str, backbones: Mapping[str, str]) -> Iterator[dict[str, object]]:
    task = load_task(name)
    one = SingleLabel(len(task.classes))
    known = {
        e: read(task, build_model(Settings(name, backbone=b, device="cpu"), task, ())) for e, b in backbones.items()
    }
    truth = known[ENCODERS[0]].truth
    for draw in range(DRAWS):
        for labels in LABELS:
            for variant, found in logits(known, one, draw, labels).items():
                right = f1_score(truth, found.argmax(axis=1), average="macro", zero_division=0)
                named = {"task": name, "draw": draw, "labels": labels, "variant": variant}
                yield {**named, "f1": float(right), "nll": nll(found, truth)}


def means(found: pd.DataFrame) -> str:
    """Macro-F1 and log loss, means over tasks, and the points gained over the first encoder with 90% bounds."""
    f1, loss = (found.pivot_table(index="task", columns=["variant", "labels"], values=name) for name in ("f1", "nll"))
    lines = []
    for variant in found["variant"].unique():
        cells = []
        for labels in LABELS:
            own, base = f1[variant, labels], f1[BASE, labels]
            gain, low, high = bounds(100 * (own - base))
            change = "" if variant == BASE else f" ({gain:+.1f}, {low:+.1f} to {high:+.1f})"
            cells.append(f"{own.mean():.3f}{change}, {loss[variant, labels].mean():.3f}")
        lines.append([str(variant), *cells])
    return table(["frozen probe", *(f"{labels} labels" for labels in LABELS)], lines)


def by_task(found: pd.DataFrame) -> str:
    """Points of macro-F1 that each variant gains over the first encoder, by task, mean over numbers of labels."""
    scores = found.groupby(["task", "variant"])["f1"].mean().unstack()
    variants = [str(name) for name in found["variant"].unique() if name != BASE]
    gains = 100 * scores[variants].sub(scores[BASE], axis=0)
    lines = [
        [f"`{task}`", *(f"{gain:+.1f}" for gain in row)]
        for task, row in zip(gains.index, gains.to_numpy(), strict=True)
    ]
    return table(["task", *variants], lines)


def tables() -> dict[str, str]:
    """All of them, by name."""
    found = pd.read_parquet(FILE)
    return {"frozen variants": means(found), "frozen variants by task": by_task(found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="compute them again, about ten minutes on two cores")
    parser.add_argument("--gte-small", default=ENCODERS[0], help="a folder, where no hub is in reach")
    asked = parser.parse_args()
    if asked.run:
        backbones = {ENCODERS[0]: asked.gte_small, ENCODERS[1]: ENCODERS[1]}
        found: list[dict[str, object]] = []
        for name in map(str, preset("learners").tasks):
            found += rows(name, backbones)
            print(name, flush=True)
        with file_made_whole(FILE) as file:
            pd.DataFrame(found).to_parquet(file, index=False)
    for text in tables().values():
        print(f"\n{text}")


if __name__ == "__main__":
    main()
