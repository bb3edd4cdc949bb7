"""The initial pool: the labels that a run starts from."""

from __future__ import annotations

import numpy as np

from hybridal.errors import UserError
from hybridal.outputs import Ints
from hybridal.protocol import Protocol
from hybridal.randomness import stream
from hybridal.task.task import UNKNOWN, Task


def draw_initial(task: Task, protocol: Protocol, seed: int) -> Ints:
    """Rows of train to label first.

    With all labels known (a simulation) the draw is stratified by class. With some known, those are the start: a
    person gave them. With none known, the draw is random.
    """
    labels = task.train.labels
    known = np.flatnonzero(labels != UNKNOWN)
    if 0 < len(known) < len(labels):
        return known
    if len(labels) <= protocol.initial:
        raise UserError(
            f"Task '{task.name}' has {len(labels)} texts to choose from, too few for an initial pool of "
            f"{protocol.initial}; add texts or lower `initial`."
        )
    rng = stream(seed, "initial")
    if len(known) == 0:
        return rng.choice(len(labels), size=protocol.initial, replace=False)
    counts = _per_class(task, protocol)
    drawn = [rng.choice(np.flatnonzero(labels == c), size=n, replace=False) for c, n in enumerate(counts)]
    return rng.permutation(np.concatenate(drawn))


def _per_class(task: Task, protocol: Protocol) -> Ints:
    """How many of each class; remainders go to the first classes (equal) or the largest fractions (proportional)."""
    available = np.bincount(task.train.labels, minlength=len(task.classes))
    share = np.ones_like(available) if protocol.initial_draw == "equal" else available
    # Whole numbers throughout: float rounding would decide ties.
    counts, rest = np.divmod(protocol.initial * share, share.sum())
    by_fraction = np.argsort(-rest, kind="stable")
    counts[by_fraction[: protocol.initial - counts.sum()]] += 1
    for name, wanted, there in zip(task.classes, counts, available, strict=True):
        if wanted > there:
            raise UserError(
                f"Class '{name}' of task '{task.name}' has {there} labelled texts, too few for the {wanted} that the "
                f"initial pool of {protocol.initial} takes of it; lower `initial`, draw it by --set "
                "initial_draw=proportional, or leave the class out by --classes."
            )
    return counts
