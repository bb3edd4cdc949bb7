"""Numbers and histories to try the statistics on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridal.core.facts import Cost, Round

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

# Scores as studies have them: a grid fine enough to be continuous and coarse enough to tie.
scores = st.integers(-1000, 1000).map(lambda n: n / 1000)
pairs: st.SearchStrategy[Pair] = st.lists(st.tuples(scores, scores), max_size=30).map(
    lambda rows: (np.array([a for a, _ in rows]), np.array([b for _, b in rows]))
)


def study(n: int = 90, shift: float = -0.002, noise: float = 0.01, seed: int = 3) -> Pair:
    """F1 of a schedule and of its reference in n cells."""
    rng = np.random.default_rng(seed)
    reference = rng.uniform(0.6, 0.9, n)
    return reference + rng.normal(shift, noise, n), reference


def run(changes: Sequence[float | None], signal: str = "accuracy") -> list[Round]:
    return run_of([{signal: change} for change in changes])


def run_of(
    changes: Sequence[dict[str, float | None]],
    acquired: Sequence[tuple[str, ...]] = (),
    scores: Sequence[tuple[float, ...]] = (),
) -> list[Round]:
    return [
        Round(
            t, "retrain", "R" * t, 0, Cost(), 1, None, None, None, change,
            acquired[t - 1] if acquired else (), scores[t - 1] if scores else (),
        )
        for t, change in enumerate(changes, start=1)
    ]  # fmt: skip
