"""What an explanation costs, and whether its words matter: `OMP_NUM_THREADS=1 python -m bench.explain`.

Explains test texts of three lengths with `TextClassifier.explain`. Then the three words that speak most for the
predicted class are left out, and for comparison three words at random. HYBRIDAL_DATA names the folder of texts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from bench.tables import table
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.text_classifier import TextClassifier
from hybridal.measures.occlusion import Occlusion
from hybridal.tasks import load_task

LEFT_OUT = 3


def trained(name: str, labels: int) -> tuple[TextClassifier, list[str]]:
    """A model of a task with some labels, and the task's test texts."""
    task = load_task(name)
    learner = ActiveLearner(task, backbone="minilm", device="cpu", initial=labels)
    learner.teach(task.answers(learner.query().ids))
    return learner.model, [*task.test.texts]


def without(text: str, found: Occlusion, parts: Sequence[int]) -> str:
    """Leave some parts of a text out."""
    for start, end in sorted((found.spans[part] for part in parts), reverse=True):
        text = text[:start] + text[end:]
    return text


def measured(model: TextClassifier, texts: Sequence[str], rng: np.random.Generator) -> tuple[float, float, float]:
    """CPU seconds per explanation, and how often the prediction changes without the top words, and without others."""
    seconds, changed = [], []
    for text in texts:
        began = time.process_time()
        found = model.explain(text)
        seconds.append(time.process_time() - began)
        top = int(found.probabilities.argmax())
        order = found.weights[:, top].argsort()[::-1][:LEFT_OUT].tolist()
        some = rng.choice(len(found.spans), min(LEFT_OUT, len(found.spans)), replace=False).tolist()
        now = model.predict_proba([without(text, found, order), without(text, found, some)]).argmax(axis=1)
        changed.append(now != top)
    best, random = np.mean(changed, axis=0)
    return float(np.median(seconds)), float(best), float(random)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tasks", nargs="+", default=["trec", "imdb"])
    asked.add_argument("--labels", type=int, default=200)
    asked.add_argument("--texts", type=int, default=30)
    given = asked.parse_args()
    rng, rows = np.random.default_rng(0), []
    for name in given.tasks:
        model, texts = trained(name, given.labels)
        for low, high in ((5, 20), (40, 80), (150, 10_000)):
            some = [text for text in texts if low <= len(text.split()) < high][: given.texts]
            if some:
                seconds, best, random = measured(model, some, rng)
                words = f"{low} to {high}" if high < 10_000 else f"{low} and more"
                rows.append([name, words, len(some), f"{seconds:.2f}", f"{best:.0%}", f"{random:.0%}"])
    columns = ["task", "words", "texts", "CPU seconds", "changed without the top words", "without random words"]
    print(table(columns, rows))


if __name__ == "__main__":
    main()
