"""Numbers to try the statistics on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

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
