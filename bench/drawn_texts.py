"""A random part of the labelled texts of a task, for benchmarks that simulate projects on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Ints
from hybridal.measures.objective import MultiLabel, Objective, SingleLabel

MAX_CLASSES = 10  # of a task with several labels per text: the most frequent


def drawn_texts(
    name: str, root: Path, rng: np.random.Generator, n: int
) -> tuple[list[str], tuple[str, ...], Ints, Objective]:
    """Draw n texts of a task without repetitions, with its classes, their labels and the objective."""
    parts = pd.concat([pd.read_parquet(root / name / f"{split}.parquet") for split in ("train", "test")])
    parts = parts.drop_duplicates("text")
    rows = parts.iloc[rng.permutation(len(parts))[:n]]
    texts = rows["text"].tolist()
    if "labels" not in rows:
        classes = tuple(json.loads((root / name / "labels.json").read_text())["label_names"])
        return texts, classes, rows["label"].to_numpy(dtype=np.int64), SingleLabel(len(classes))
    given = [[str(label) for label in labels] for labels in rows["labels"]]
    classes = tuple(pd.Series([label for labels in given for label in labels]).value_counts().index[:MAX_CLASSES])
    sets = LabelSets(len(classes))
    labels = np.array([sets.number(classes.index(one) for one in some if one in classes) for some in given])
    return texts, classes, labels, MultiLabel(sets)
