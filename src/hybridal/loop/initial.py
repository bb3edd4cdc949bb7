"""The initial pool: the texts that are labelled before there is a model."""

from __future__ import annotations

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.core.provenance import BROUGHT, CHOSEN, RANDOM
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.first_draw import first_draw
from hybridal.models.model_protocol import Model
from hybridal.randomness import stream
from hybridal.tasks.task import Task

# The spread draw embeds a sample of the texts, which takes seconds on two cores, and orders this many of them; the
# rest follow in random order.
SAMPLE_SIZE, MAX_SPREAD = 2000, 500


def spread(task: Task, model: Model, seed: int) -> Ints:
    """Return all training rows in an order in which the first few represent all texts.

    It uses no label, only the pretrained encoder's embeddings of a random sample of the texts and of the class names.
    """
    rng = stream(seed, "initial")
    rows = np.sort(rng.choice(len(task.train), min(SAMPLE_SIZE, len(task.train)), replace=False))
    order = first_draw(model.pretrained_features(rows), min(MAX_SPREAD, len(rows)), rng, model.class_features())
    rest = rng.permutation(np.setdiff1d(np.arange(len(task.train)), rows[order]))
    return np.concatenate([rows[order], rest])


def check_initial(task: Task, protocol: Rules, seed: int) -> None:
    """Raise UserError if the initial pool cannot be drawn from a task, before anything is computed."""
    if protocol.initial_draw == "spread" and not partly_labelled(task):
        check_pool_size(task, protocol)
    else:
        draw_initial(task, protocol, seed)


def draw_initial(task: Task, protocol: Rules, seed: int) -> Ints:
    """Draw the training rows of the initial pool, as in the paper.

    If all labels are known (a simulation), the draw is stratified by class, unless the protocol asks for a random one
    or a text may have several classes.
    If some are known, a person gave them, and they are the initial pool. If none is known, the draw is random.
    """
    labels = task.train.labels
    known = np.flatnonzero(labels != UNKNOWN)
    if partly_labelled(task):
        return known
    check_pool_size(task, protocol)
    rng = stream(seed, "initial")
    if initial_origin(task, protocol) == RANDOM:
        return rng.choice(len(labels), size=protocol.initial, replace=False)
    counts = _per_class(task, protocol)
    drawn = [rng.choice(np.flatnonzero(labels == c), size=n, replace=False) for c, n in enumerate(counts)]
    return rng.permutation(np.concatenate(drawn))


def initial_origin(task: Task, protocol: Rules) -> int:
    """Return how `draw_initial` draws: `BROUGHT`, `RANDOM`, or `CHOSEN` if it needs the labels of a simulation."""
    if partly_labelled(task):
        return BROUGHT
    unknown = not (task.train.labels != UNKNOWN).any()
    # With several labels per text a stratum is a rare combination of classes: no draw has a share of each.
    return RANDOM if unknown or task.multi_label or protocol.initial_draw == "random" else CHOSEN


def partly_labelled(task: Task) -> bool:
    """Whether only some texts have labels; a person gave them, so this is not a simulation."""
    return 0 < int((task.train.labels != UNKNOWN).sum()) < len(task.train)


def check_pool_size(task: Task, protocol: Rules) -> None:
    """Raise UserError if no text would be left after the initial pool."""
    if len(task.train) <= protocol.initial:
        raise UserError(
            f"Task '{task.name}' has {len(task.train)} texts to choose from, too few for an initial pool of "
            f"{protocol.initial}; add texts or lower `initial`.",
            field="protocol.initial",
        )


def _per_class(task: Task, protocol: Rules) -> Ints:
    """The size of each class in the draw; remainders go to the first classes (equal) or largest fractions."""
    available = np.bincount(task.train.labels, minlength=len(task.classes))
    share = np.ones_like(available) if protocol.initial_draw == "equal" else available
    # Integers throughout: with floats, rounding would decide ties.
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
