"""small-text's transformer classifier on texts with several labels, run in a separate environment.

It chooses by its only strategy for several labels; `curve` is the F1 on test texts after each number of labels.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score
from small_text import (
    CategoryVectorInconsistencyAndRanking,
    PoolBasedActiveLearner,
    SubsamplingQueryStrategy,
    TransformerBasedClassificationFactory,
    TransformerModelArguments,
    TransformersDataset,
)
from transformers import AutoTokenizer


def curve(asked: dict[str, Any]) -> list[dict[str, float]]:
    """Macro- and micro-F1 on test after each number of labels."""
    classes = asked["classes"]
    tokenizer = AutoTokenizer.from_pretrained(asked["backbone"])
    targets = {part: csr_matrix(np.array(asked[part]["targets"], dtype=np.int64)) for part in ("train", "test")}
    pool, test = (
        TransformersDataset.from_arrays(
            asked[part]["texts"], targets[part], tokenizer, np.arange(classes), max_length=asked["length"]
        )
        for part in ("train", "test")
    )
    factory = TransformerBasedClassificationFactory(
        TransformerModelArguments(asked["backbone"]),
        classes,
        kwargs={"multi_label": True, "device": "cpu", "mini_batch_size": 16},
    )
    strategy = SubsamplingQueryStrategy(CategoryVectorInconsistencyAndRanking(pbar=None), asked["candidates"])
    learner = PoolBasedActiveLearner(factory, strategy, pool)
    rng = np.random.default_rng(asked["seed"])
    first, *counts = asked["labels"]
    start = rng.choice(len(pool), first, replace=False)
    learner.initialize_data(start, targets["train"][start])
    found = [_scores(learner, test, targets["test"], first)]
    for total in counts:
        chosen = learner.query(num_samples=total - int(found[-1]["labels"]))
        learner.update(targets["train"][chosen])
        found.append(_scores(learner, test, targets["test"], total))
    return found


def _scores(
    learner: PoolBasedActiveLearner, test: TransformersDataset, targets: csr_matrix, labels: int
) -> dict[str, float]:
    predicted, truth = learner.classifier.predict(test).toarray(), targets.toarray()
    present = truth.any(axis=0)
    macro = f1_score(truth[:, present], predicted[:, present], average="macro", zero_division=0)
    return {"labels": labels, "f1": float(macro), "micro_f1": float(f1_score(truth, predicted, average="micro"))}


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - small-text draws from the global generator
    answer = curve(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    Path(sys.argv[2]).write_text(json.dumps({"curve": answer}), encoding="utf-8")
