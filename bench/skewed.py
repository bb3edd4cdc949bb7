"""Runs with a frozen encoder on skewed tasks, to back-test forecasts: `python -m bench.skewed --out FILE.parquet`.

HYBRIDAL_DATA names the folder of texts. Each run labels by margin, 32 at a time, and refits a logistic regression, as
the schedule `refit` does. The file keeps the answers on some texts of each class in every round, so that validation
sets of any size and skew can be drawn later (`bench.forecasts`). About five minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hybridal.acquisition.margin import margins
from hybridal.core.outputs import Floats, Ints
from hybridal.loop.first_draw import first_draw
from hybridal.measures.calibration import softmax
from hybridal.measures.objective import SingleLabel
from hybridal.models.training.class_descriptions import readable_names
from hybridal.models.training.probe import ProbeFitter
from hybridal.models.transformer import TransformerModel
from hybridal.randomness import stream
from hybridal.runs.assemble import build_model
from hybridal.runs.settings import Settings
from hybridal.tasks import Task

SEEDS = (1, 2, 3, 4)
ROUNDS, BATCH = 18, 32
POOL, CANDIDATES, PER_CLASS, MEASURED = 1500, 1000, 150, 900
MAX_LENGTH = 48


@dataclass(frozen=True)
class Skew:
    """A task of a folder of texts: some of its classes and the share of each; without shares, the natural ones."""

    folder: str
    classes: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()


def zipf(classes: int) -> tuple[float, ...]:
    """Shares that fall as 1, 1/2, 1/3 and so on.

    >>> [round(share, 2) for share in zipf(3)]
    [0.55, 0.27, 0.18]
    """
    weights = 1 / np.arange(1, classes + 1)
    return tuple((weights / weights.sum()).tolist())


# The constants of the forecast were chosen on the first tasks; the others confirm them.
CHOSEN_ON: Mapping[str, Skew] = {
    "jigsaw": Skew("jigsaw"),
    "sms_spam": Skew("sms_spam"),
    "trec": Skew("trec"),
    "ag_news, 80 to 2%": Skew("ag_news", ("World", "Sports", "Business", "Sci/Tech"), (0.80, 0.12, 0.06, 0.02)),
    "banking77, 8 classes": Skew("banking77", (), zipf(8)),
    "imdb, 92 to 8%": Skew("imdb", ("negative", "positive"), (0.92, 0.08)),
    "goemotions, one label": Skew("goemotions"),
}
CONFIRMED_ON: Mapping[str, Skew] = {
    "tweeteval, 66 to 6%": Skew("tweeteval", ("neutral", "positive", "negative"), (0.66, 0.28, 0.06)),
    "clinc150, 12 classes": Skew("clinc150", (), zipf(12)),
    "ag_news, 85 to 5%": Skew("ag_news", ("Sports", "Business", "World"), (0.85, 0.10, 0.05)),
    "sst2, 93 to 7%": Skew("sst2", ("positive", "negative"), (0.93, 0.07)),
    "reuters90, one label": Skew("reuters90"),
}
MOST_CLASSES = 12  # of the tasks as they come, the most frequent


@dataclass(frozen=True)
class Texts:
    """The pool to label from, and texts of each class to measure on with the share that each stands for."""

    classes: tuple[str, ...]
    pool: Sequence[str]
    labels: Ints
    measured: Sequence[str]
    truth: Ints
    shares: Sequence[float]


def read(name: str, skew: Skew, root: Path) -> Texts:
    """The texts of one skewed task, drawn at random but always the same."""
    folder = root / skew.folder
    parts = pd.concat([pd.read_parquet(folder / f"{split}.parquet") for split in ("train", "validation", "test")])
    if "labels" in parts:
        parts = parts[parts["labels"].map(len) == 1]
        parts = parts.assign(label=parts["labels"].map(lambda labels: labels[0]))
    else:
        names = json.loads((folder / "labels.json").read_text())["label_names"]
        parts = parts.assign(label=parts["label"].map(lambda number: names[number]))
    parts = parts.drop_duplicates("text")
    most = len(skew.shares) or MOST_CLASSES
    frequent = parts["label"].value_counts().index[:most] if not skew.shares else sorted(parts["label"].unique())
    rng = stream(0, f"skewed, {name}")
    classes = skew.classes or tuple(frequent if not skew.shares else rng.permutation(frequent)[:most].tolist())
    groups = [rng.permutation(parts.loc[parts["label"] == label, "text"].to_numpy()) for label in classes]
    sizes = np.array([len(group) for group in groups])
    shares = np.array(skew.shares or sizes / sizes.sum())
    held = np.minimum(min(PER_CLASS, MEASURED // len(classes)), sizes * 2 // 5)
    wanted = np.maximum(np.round(shares * min(POOL, ((sizes - held) / shares).min())), 1).astype(int)
    pool = [text for group, some, n in zip(groups, held, wanted, strict=True) for text in group[some : some + n]]
    measured = [text for group, some in zip(groups, held, strict=True) for text in group[:some]]
    numbers = np.arange(len(classes))
    order = rng.permutation(len(pool))
    return Texts(
        classes,
        [pool[i] for i in order],
        np.repeat(numbers, wanted)[order],
        measured,
        np.repeat(numbers, held),
        shares.tolist(),
    )


def run(
    texts: Texts, pool: Floats, measured: Floats, names: Floats | None, seed: int
) -> Iterator[tuple[int, float, Ints]]:
    """After each round: the labels, the share of unlabelled texts whose answer changed, and the answers."""
    rng, prober, classes = stream(seed, "skewed run"), ProbeFitter(seed), len(texts.classes)
    described = None if names is None else (names, np.arange(classes))
    chosen = first_draw(pool, BATCH, rng, names)
    sample, before = rng.permutation(len(pool))[:CANDIDATES], None
    for _ in range(ROUNDS):
        probe = prober.best(pool[chosen], texts.labels[chosen], SingleLabel(classes), described)
        logits = probe.logits(pool)
        now = logits.argmax(axis=1)
        left = np.setdiff1d(sample, chosen)
        yield (
            len(chosen),
            np.nan if before is None else float(np.mean(now[left] != before[left])),
            probe.logits(measured).argmax(axis=1),
        )
        before = now
        free = rng.permutation(np.setdiff1d(np.arange(len(pool)), chosen))[:CANDIDATES]
        if len(free) < BATCH:
            return
        chosen = np.concatenate([chosen, free[np.argsort(margins(softmax(logits[free])))[:BATCH]]])


def rows(name: str, skew: Skew, root: Path, seeds: Sequence[int]) -> pd.DataFrame:
    """All rounds of the runs on one task."""
    texts = read(name, skew, root)
    task = Task.from_texts(list(texts.pool[:8]), [texts.classes[i % len(texts.classes)] for i in range(8)])
    model: TransformerModel = build_model(
        Settings(task.name, backbone="minilm", device="cpu", overrides={"max_length": MAX_LENGTH}), task, ()
    )
    readable = readable_names(texts.classes)
    pool, measured = model.embed(texts.pool), model.embed(texts.measured)
    names = model.embed(readable) if readable else None
    found = [
        {
            "task": name,
            "seed": seed,
            "round": number,
            "labels": labels,
            "disagreement": moved,
            "answers": answers.astype(np.int8).tobytes(),
            "truth": texts.truth.astype(np.int8).tobytes(),
            "shares": np.asarray(texts.shares).tobytes(),
        }
        for seed in seeds
        for number, (labels, moved, answers) in enumerate(run(texts, pool, measured, names, seed), start=1)
    ]
    return pd.DataFrame(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="*", default=[*CHOSEN_ON, *CONFIRMED_ON])
    asked = parser.parse_args()
    root, every = Path(os.environ["HYBRIDAL_DATA"]), {**CHOSEN_ON, **CONFIRMED_ON}
    parts = []
    for name in asked.tasks:
        parts.append(rows(name, every[name], root, SEEDS))
        print(f"{name}: {len(parts[-1])} rounds", flush=True)
    pd.concat(parts, ignore_index=True).to_parquet(asked.out, compression="zstd")


if __name__ == "__main__":
    main()
