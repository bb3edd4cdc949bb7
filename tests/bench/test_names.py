from __future__ import annotations

import numpy as np

from bench.names import LABELS, Read, row, scores


def test_names_help_where_they_lie_in_the_middle_of_their_classes() -> None:
    rng, classes = np.random.default_rng(0), 20
    middles = rng.normal(size=(classes, 16))
    labels, truth = rng.integers(classes, size=500), rng.integers(classes, size=300)
    features, tested = (middles[of] + 0.5 * rng.normal(size=(len(of), 16)) for of in (labels, truth))
    known = Read(features, labels, tested, truth, names=middles)
    found = {(n, named): f1 for n, named, f1, _ in scores(known)}
    assert found[10, True] > found[10, False] + 0.3
    name, count, *cells, loss = row("made up", known)
    assert (name, count, len(cells)) == ("`made up`", "20", len(LABELS))
    before, after = map(float, loss.split(" → "))
    assert after < before
