"""Texts ranked by the numbers that the trainer left of them: how alike they are, and how likely a class is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hybridal.app.project import Project
from hybridal.app.vectors import StoredVectors, stamp_of
from hybridal.core.outputs import Floats

MOST = 500  # texts: of more, nobody asks for the last
AT_ONCE = 1024  # vectors that are made larger numbers of at a time: they fit into a processor's cache
FRESH = 10.0  # seconds that a ranking is good for: while a model scores, it changes with each part


def nearest(project: Project, row: int, digest: str) -> dict[int, float] | None:
    """The rows of the texts that are most like this one, the most alike first, with the cosine of their embeddings.

    None while the text itself has not been read.
    """
    kept = project.embeddings.read()
    if kept is None or row >= len(kept.stamps) or kept.stamps[row] != stamp_of(digest):
        return None
    alike = _cosines(kept, kept.values[row].astype(np.float32))
    alike[row] = -np.inf
    return {int(one): float(alike[one]) for one in _largest(alike, MOST)}


def _cosines(kept: StoredVectors, to: Floats) -> Floats:
    """Of each vector that is there; minus infinity for the others."""
    found = np.full(len(kept.stamps), -np.inf, dtype=np.float32)
    for start in range(0, len(found), AT_ONCE):
        some = kept.values[start : start + AT_ONCE].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", some, some)) * np.linalg.norm(to)
        found[start : start + AT_ONCE] = some @ to / np.maximum(lengths, 1e-12)
    found[kept.stamps == 0] = -np.inf
    return found


def likeliest(project: Project, class_number: int) -> Sequence[int]:
    """The rows of the texts that are most likely of a class, the likeliest first; none while no model knows it."""
    return _likeliest(project, class_number, int(time.monotonic() / FRESH))


@lru_cache(maxsize=64)
def _likeliest(project: Project, class_number: int, _moment: int) -> Sequence[int]:
    kept = project.probabilities.read()
    if kept is None or class_number not in kept.about["classes"]:
        return ()
    shares = np.where(kept.stamps, kept.values[:, kept.about["classes"].index(class_number)], -np.inf)
    return tuple(_largest(shares, 2 * MOST))


def _largest(values: Floats, n: int) -> list[int]:
    """The places of the largest values, which are numbers, the largest first; of equals, the first."""
    n = min(n, int(np.isfinite(values).sum()))
    some = np.sort(np.argpartition(-values, n - 1)[:n]) if 0 < n < len(values) else np.arange(len(values))
    ranked: list[int] = some[np.argsort(-values[some], kind="stable")][:n].tolist()
    return ranked
