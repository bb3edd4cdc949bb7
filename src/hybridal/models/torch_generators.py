"""Torch's global random generators, lent to one user at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch

# Held by the thread that uses the global generators, or that records a CUDA graph: recording exchanges the generator.
GENERATOR_LOCK = RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators inside, and restore them afterwards: dropout cannot draw from any other."""
    gpus = torch.cuda.device_count()
    with GENERATOR_LOCK, torch.random.fork_rng(devices=range(gpus)), _restored_mps():
        # Not `torch.manual_seed`: it also notes a stack trace for each kind of device that is absent.
        torch.default_generator.manual_seed(seed)
        if torch.backends.mps.is_available():
            torch.mps.manual_seed(seed)
        if gpus:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def _restored_mps() -> Iterator[None]:
    if not torch.backends.mps.is_available():
        yield
        return
    state = torch.mps.get_rng_state()
    try:
        yield
    finally:
        torch.mps.set_rng_state(state)
