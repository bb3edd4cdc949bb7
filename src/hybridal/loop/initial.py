"""The initial pool: the texts that are labelled before there is a model to ask."""

from __future__ import annotations

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.first_draw import first_draw
from hybridal.models.model_protocol import Model
from hybridal.randomness import stream
from hybridal.tasks.task import Task

# Texts that the encoder looks at before the first label: some seconds on two cores. After the first of them, chance.
SAMPLE, MOST = 2000, 500


def spread(task: Task, model: Model, seed: int) -> Ints:
    """Rows of train in the order in which to label them first, so that few of them show what there is.

    It looks at no label, only at what the pretrained encoder makes of a random sample of the texts, and of the names of
    the classes.
    """
    rng = stream(seed, "initial")
    rows = np.sort(rng.choice(len(task.train), min(SAMPLE, len(task.train)), replace=False))
    order = first_draw(model.describe(rows), min(MOST, len(rows)), rng, model.describe_classes())
    rest = rng.permutation(np.setdiff1d(np.arange(len(task.train)), rows[order]))
    return np.concatenate([rows[order], rest])


def check_initial(task: Task, protocol: Rules, seed: int) -> None:
    """Refuses a task that the first draw cannot serve, before anything is computed."""
    if protocol.initial_draw == "spread" and not partly_labelled(task):
        check_pool_size(task, protocol)
    else:
        draw_initial(task, protocol, seed)


def draw_initial(task: Task, protocol: Rules, seed: int) -> Ints:
    """Rows of train to label first, as the paper draws them.

    With all labels known (a simulation) the draw is stratified by class, unless it is to be random. With some known,
    those are the start: a person gave them. With none known, the draw is random.
    """
    labels = task.train.labels
    known = np.flatnonzero(labels != UNKNOWN)
    if partly_labelled(task):
        return known
    check_pool_size(task, protocol)
    rng = stream(seed, "initial")
    if len(known) == 0 or protocol.initial_draw == "random":
        return rng.choice(len(labels), size=protocol.initial, replace=False)
    counts = _per_class(task, protocol)
    drawn = [rng.choice(np.flatnonzero(labels == c), size=n, replace=False) for c, n in enumerate(counts)]
    return rng.permutation(np.concatenate(drawn))


def partly_labelled(task: Task) -> bool:
    """Whether some texts have labels and some have none: then a person has begun, and it is no simulation."""
    return 0 < int((task.train.labels != UNKNOWN).sum()) < len(task.train)


def check_pool_size(task: Task, protocol: Rules) -> None:
    """Refuses a task that the initial pool would use up."""
    if len(task.train) <= protocol.initial:
        raise UserError(
            f"Task '{task.name}' has {len(task.train)} texts to choose from, too few for an initial pool of "
            f"{protocol.initial}; add texts or lower `initial`.",
            field="protocol.initial",
        )


def _per_class(task: Task, protocol: Rules) -> Ints:
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
                f"initial pool of {protocol.initial} takes of it; lower `initial`, draw it with "
                "`initial_draw=proportional`, or leave the class out of `classes`.",
                field="protocol.initial",
            )
    return counts
