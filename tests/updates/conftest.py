from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from hybridal.core.pool import Pool
from hybridal.core.rules import protocol
from hybridal.updates import Situation, Weights

Situate = Callable[..., Situation]

PRETRAINED = {"body": np.array([1.0, 2.0]), "head": np.array([[0.5]])}
LAST = {"body": np.array([3.0, -2.0]), "head": np.array([[1.5]])}
MOMENTS = {"step/body": np.array(7.0)}


@pytest.fixture
def situate() -> Situate:
    """A second round: rows 4 and 1 were learnt, then 0, 5 and 2 were labelled. A first one: all of them are new."""

    def situate(rules: str = "paper", first: bool = False, seed: int = 0, **overrides: object) -> Situation:
        learnt: Mapping[int, int] = {4: 0, 1: 1}
        pool = Pool.unlabelled(8).reveal(learnt)
        pool = (pool if first else pool.learnt()).reveal({0: 1, 5: 0, 2: 0})
        last = None if first else LAST
        moments = None if first else MOMENTS
        rng = np.random.default_rng(seed)

        def prepare(given: Weights | None) -> Weights:
            return PRETRAINED if given is None else given

        return Situation(
            lambda given: PRETRAINED if given is None else given, last, moments, pool, protocol(rules, overrides), rng
        )

    return situate
