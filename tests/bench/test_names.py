from __future__ import annotations

import numpy as np
import pytest

from bench.names import DESCRIPTIONS, LABELS, Read, row, scores
from hybridal.tasks import Split, Task, load_task, task_names
from hybridal.tasks.benchmarks import BENCHMARKS

CLASSES = 20


def test_class_descriptions_at_the_class_centres_raise_f1() -> None:
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(CLASSES, 16))
    labels, truth = rng.integers(CLASSES, size=500), rng.integers(CLASSES, size=300)
    features, tested = (centroids[of] + 0.5 * rng.normal(size=(len(of), 16)) for of in (labels, truth))
    names = centroids + 0.8 * rng.normal(size=centroids.shape)
    once, twice = np.arange(CLASSES), np.tile(np.arange(CLASSES), 2)
    known = Read(features, labels, tested, truth, [None, (names, once), (np.vstack([names, centroids]), twice)])
    found = list(scores(known, CLASSES))
    f1 = {level: np.mean([f1 for n, at, f1, _ in found if (n, at) == (10, level)]) for level in range(3)}
    assert f1[2] > f1[1] + 0.05 > f1[0] + 0.3
    task = Task("made up", tuple(map(str, range(CLASSES))), Split.empty(), Split.empty(), Split.empty())
    for level in (1, 2):
        name, count, *cells, loss = row(task, found, level)
        assert (name, count, len(cells)) == ("`made up`", "20", len(LABELS))
        before, after = map(float, loss.split(" → "))
        assert after < before
    assert row(task, found, 1)[2].split()[2] == row(task, found, 2)[2].split()[0]


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_class_has_a_description(name: str) -> None:
    if name not in task_names():
        pytest.skip("its texts are not here")
    classes = BENCHMARKS[name].classes if name in BENCHMARKS else load_task(name).classes
    assert {*DESCRIPTIONS[name]} == {*classes}
