"""Rank the texts of a person's search (not the queue) by similarity or by the probability of a class.

Both come from the vectors that the trainer has stored.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hybridal.app.project import Project
from hybridal.app.vectors import StoredVectors, stamp_of
from hybridal.core.outputs import Floats

MAX_RANKED = 500  # texts
MAX_LISTED = 5000  # texts of a list by the probability of a class
ROWS_PER_CHUNK = 1024  # vectors converted to float32 at a time, so that they fit into the processor's cache
CACHE_SECONDS = 10.0  # how long a ranking is reused; while a model scores, it keeps changing


def nearest(project: Project, row: int, digest: str) -> dict[int, float] | None:
    """The rows of the most similar texts with the cosine similarity of their embeddings, the most similar first.

    None if the trainer has not computed the embedding of the text itself yet.
    """
    kept = project.embeddings.read()
    if kept is None or row >= len(kept.stamps) or kept.stamps[row] != stamp_of(digest):
        return None
    similarities = _cosines(kept, kept.values[row].astype(np.float32))
    similarities[row] = -np.inf
    return {int(one): float(similarities[one]) for one in _largest(similarities, MAX_RANKED)}


def nearest_among(project: Project, row: int, digest: str, rows: Sequence[int], n: int) -> dict[int, float] | None:
    """The n rows of these whose texts are most similar, as `nearest`; the text itself is left out.

    None if the trainer has not computed the embedding of the text itself yet.
    """
    kept = project.embeddings.read()
    if kept is None or row >= len(kept.stamps) or kept.stamps[row] != stamp_of(digest):
        return None
    there = np.array(
        [one for one in rows if one != row and one < len(kept.stamps) and kept.stamps[one]], dtype=np.int64
    )
    some = StoredVectors(kept.about, kept.stamps[there], kept.values[there])
    similarities = _cosines(some, kept.values[row].astype(np.float32))
    return {int(there[at]): float(similarities[at]) for at in _largest(similarities, n)}


def _cosines(kept: StoredVectors, vector: Floats) -> Floats:
    """The cosine similarity of each stored vector to this one; minus infinity for rows without a vector."""
    cosines = np.full(len(kept.stamps), -np.inf, dtype=np.float32)
    for start in range(0, len(cosines), ROWS_PER_CHUNK):
        chunk = kept.values[start : start + ROWS_PER_CHUNK].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", chunk, chunk)) * np.linalg.norm(vector)
        cosines[start : start + ROWS_PER_CHUNK] = chunk @ vector / np.maximum(lengths, 1e-12)
    cosines[kept.stamps == 0] = -np.inf
    return cosines


def likeliest(project: Project, class_number: int) -> Sequence[int]:
    """The rows of the texts most likely of a class, the likeliest first; empty if the model does not know the class."""
    return _likeliest(project, class_number, int(time.monotonic() / CACHE_SECONDS))


@lru_cache(maxsize=64)
def _likeliest(project: Project, class_number: int, _moment: int) -> Sequence[int]:
    kept = project.probabilities.read()
    if kept is None or class_number not in kept.about["classes"]:
        return ()
    probabilities = np.where(kept.stamps, kept.values[:, kept.about["classes"].index(class_number)], -np.inf)
    return tuple(_largest(probabilities, 2 * MAX_RANKED))


def of_class(project: Project, class_number: int, threshold: float, doubtful: bool = False) -> Sequence[int]:
    """The rows of the texts to which the model gives a class, the most probable first, where a text may have several.

    Args:
        project: The project.
        class_number: The class.
        threshold: The probability from which the class is given.
        doubtful: The rows of all texts instead, those first whose probability is closest to the threshold.

    Returns:
        At most `MAX_LISTED` rows; none if the model does not know the class.
    """
    kept = project.probabilities.read()
    if kept is None or class_number not in kept.about["classes"]:
        return ()
    probabilities = kept.values[:, kept.about["classes"].index(class_number)]
    if doubtful:
        return _largest(np.where(kept.stamps, closeness(probabilities, threshold), -np.inf), MAX_LISTED)
    return _largest(np.where((kept.stamps != 0) & (probabilities >= threshold), probabilities, -np.inf), MAX_LISTED)


def closeness(probabilities: Floats, thresholds: Floats | float) -> Floats:
    """How close probabilities are to the threshold of their class: 1 there, and 0 if they are 0 or 1.

    A share of the way, since a probability of 0.1 is far from a threshold of 0.5 and close to one of 0.12.

    >>> closeness(np.array([0.0, 0.1, 0.2, 0.6, 1.0]), 0.2).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return np.where(
        probabilities < thresholds,
        probabilities / np.maximum(thresholds, 1e-12),
        (1 - probabilities) / np.maximum(1 - np.asarray(thresholds), 1e-12),
    )


def probabilities_of(project: Project, rows: Sequence[int]) -> dict[int, dict[int, float]]:
    """The stored probabilities of texts that a model has scored, by their row and the number of the class."""
    kept = project.probabilities.read()
    if kept is None:
        return {}
    numbers = kept.about["classes"]
    scored = [row for row in rows if row < len(kept.stamps) and kept.stamps[row]]
    return {row: dict(zip(numbers, kept.values[row].tolist(), strict=True)) for row in scored}


def _largest(values: Floats, n: int) -> list[int]:
    """The indices of the n largest finite values, the largest first; of equal values, the first index first."""
    n = min(n, int(np.isfinite(values).sum()))
    top = np.sort(np.argpartition(-values, n - 1)[:n]) if 0 < n < len(values) else np.arange(len(values))
    ranked: list[int] = top[np.argsort(-values[top], kind="stable")][:n].tolist()
    return ranked
