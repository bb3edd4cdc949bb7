"""Every registered component, ours or another package's, goes through the same checks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hybridal.acquisition import ACQUISITIONS, names_for
from hybridal.schedules import make_schedule
from hybridal.signals import SIGNALS
from hybridal.testing import FakeCandidates, check_acquisition, check_schedule, check_signal


@pytest.mark.parametrize("spec", SIGNALS.names())
def test_signal(spec: str) -> None:
    check_signal(lambda: SIGNALS.make(spec))


@pytest.mark.parametrize("spec", [*ACQUISITIONS.names(), "bald:3", "cal:1", "typiclust:5:2"])
def test_acquisition(spec: str) -> None:
    check_acquisition(lambda: ACQUISITIONS.make(spec))


@pytest.mark.parametrize("spec", ["retrain", "finetune", "fixed:4", *(f"hybrid:{name}" for name in SIGNALS.names())])
def test_schedule(spec: str) -> None:
    check_schedule(lambda: make_schedule(spec))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ACQUISITIONS.names())
def test_our_own_do_not_depend_on_the_order_of_candidates_even_where_they_draw(name: str, ties: bool) -> None:
    acquisition = ACQUISITIONS.make(name)
    for multi_label in (kind for kind in (False, True) if name in names_for(kind)):
        candidates = FakeCandidates.random(5, ties=ties, multi_label=multi_label)
        shuffled = candidates.permuted(np.random.default_rng(1).permutation(len(candidates.ids)))
        one, two = (acquisition.select(c, 20, np.random.default_rng(2)) for c in (candidates, shuffled))
        assert one == two


def test_components_load_no_heavy_library() -> None:
    code = """
import sys
from hybridal.acquisition import ACQUISITIONS
from hybridal.signals import SIGNALS
import hybridal.testing, hybridal.measures.metrics
for registry in (ACQUISITIONS, SIGNALS):
    for name in registry.names():
        registry.make(name)
heavy = {"torch", "transformers", "sklearn", "pandas", "scipy"} & sys.modules.keys()
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
