"""Which texts are set aside for validation, and when one of them is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def reserve(new: int, settings: Mapping[str, Any], before: int = 0, held_out: int = 0) -> int:
    """How many of `new` texts are set aside.

    At first as many as are needed: the first labels and a share of the budget, but at most a fifth. Of texts that come
    later, the same share as of those `before`, so that what is labelled of the reserve is a random sample of them all.

    >>> plan = {"validation_first": 50, "validation_share": 0.1, "budget": 800}
    >>> reserve(10_000, plan), reserve(200, plan), reserve(5_000, plan, before=10_000, held_out=130)
    (130, 40, 65)
    """
    if before:
        return round(new * held_out / before)
    needed = settings["validation_first"] + round(settings["validation_share"] * settings["budget"])
    return int(min(needed, new // 5))


def due(n: int, validation: int, pool: int, first: int, share: float) -> list[str]:
    """The splits of the next n texts, given how many of each are labelled or in somebody's hands.

    The first ones alternate, so that the model has something to learn and something to be measured on early. Later
    a validation text comes after every so many others; by counting, not by chance, so that it is never late.

    >>> due(4, 0, 0, first=50, share=0.1)
    ['validation', 'pool', 'validation', 'pool']
    >>> due(11, 50, 50, first=50, share=0.1).index("validation")
    9
    """
    splits: list[str] = []
    for _ in range(n):
        # Whole numbers of a thousandth: float rounding must not make a text late.
        thousandths = round(share * 1000)
        later = (pool - first) * thousandths >= (validation - first + 1) * (1000 - thousandths)
        wanted = validation <= pool if validation < first else thousandths > 0 and later
        splits.append("validation" if wanted else "pool")
        validation, pool = validation + wanted, pool + (not wanted)
    return splits
