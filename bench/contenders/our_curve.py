"""`auto` as a library user runs it: labels for 50 texts at a time, then a model; those for validation are counted."""

from __future__ import annotations

import numpy as np

from bench.contenders.curves import Curve, Question, play
from hybridal import ActiveLearner
from hybridal.core.outputs import UNKNOWN
from hybridal.tasks import Split, Task

BATCH = 51


def auto(asked: Question) -> Curve:
    pool = Split([str(row) for row in range(len(asked.pool))], asked.pool, np.full(len(asked.pool), UNKNOWN))
    task = Task("texts", tuple(asked.classes), pool, Split.empty(), Split.empty())
    learner = ActiveLearner(task, asked.backbone, seed=asked.seed, device=asked.device, max_length=asked.length)
    taught = 0
    for count in asked.counts:
        while taught < count:
            batch = learner.query(min(BATCH, count - taught))
            learner.teach({id: asked.classes[asked.labels[int(id)]] for id in batch.ids})
            taught += len(batch)
        yield learner.predict_proba(asked.test)


if __name__ == "__main__":
    play({"auto": auto})
