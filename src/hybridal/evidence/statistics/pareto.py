"""Which points does no other beat? The Pareto set of cost and NLL, both the lower the better."""

from __future__ import annotations

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import Numbers, number, numbers


def pareto(cost: Numbers, nll: Numbers, f1: Numbers | None = None, least_f1: float | None = None) -> tuple[int, ...]:
    """The positions of the points that no other dominates, cheapest first.

    A point dominates another when it is no worse in both and better in one; equal points stand or fall together. With
    `least_f1`, points below it neither enter nor dominate.

    >>> pareto([3, 1, 2, 2, 1], [1, 5, 2, 4, 5])
    (1, 4, 2, 0)
    >>> pareto([3, 1, 2], [1, 5, 2], f1=[0.8, 0.6, 0.8], least_f1=0.7)
    (2, 0)
    """
    costs, losses = numbers(cost, "cost"), numbers(nll, "NLL")
    if costs.size != losses.size:
        raise UserError(f"There are {costs.size} costs and {losses.size} NLLs; every point needs both.")
    allowed = np.ones(costs.size, dtype=bool)
    if least_f1 is not None:
        if f1 is None:
            raise UserError("A bound on F1 needs the F1 of every point.")
        quality = numbers(f1, "F1")
        if quality.size != costs.size:
            raise UserError(f"There are {costs.size} costs and {quality.size} F1s; every point needs both.")
        allowed = quality >= number(least_f1, "the least F1")
    front: list[int] = []
    for at in np.lexsort((losses, costs)).tolist():  # by cost, then NLL, then position
        if not allowed[at]:
            continue
        # Of all that come before, the last in the front has the lowest NLL, and none costs more than this one.
        equal = bool(front) and costs[front[-1]] == costs[at] and losses[front[-1]] == losses[at]
        if not front or equal or losses[at] < losses[front[-1]]:
            front.append(at)
    return tuple(front)
