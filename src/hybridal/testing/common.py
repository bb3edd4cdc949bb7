"""The checks for components of all roles."""

from __future__ import annotations

import pickle
import random
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def ensure(condition: bool, message: str) -> None:
    """Like `assert`, but also under `python -O`."""
    if not condition:
        raise AssertionError(message)


def check_configuration(make: Callable[[], Any], *methods: str) -> Any:
    """Check that a component has a name and these methods, compares by its configuration, and can be pickled.

    Args:
        make: The component's class, or a function that creates the component.
        methods: The methods that its role requires.

    Returns:
        A component.

    Raises:
        AssertionError: A check failed.
    """
    ensure(callable(make), f"{make!r:.60} cannot be called; give the class, or a function that makes a component")
    component = make()
    name = getattr(type(component), "name", None)
    ensure(isinstance(name, str) and bool(name) and name == name.lower(), "its class needs a lower-case `name`")
    for method in methods:
        ensure(callable(getattr(component, method, None)), f"{name}: needs a method `{method}`")
    ensure(component == make(), f"{name}: two with the same configuration must be equal; make it a frozen dataclass")
    ensure(pickle.loads(pickle.dumps(component)) == component, f"{name}: must survive pickling unchanged")
    return component


@contextmanager
def globals_untouched(name: str) -> Iterator[None]:
    """Fail if the block draws from (or seeds) a global random generator."""
    import torch

    def states() -> tuple[Any, bytes, bytes]:
        legacy: Any = np.random.get_state(legacy=False)  # noqa: NPY002
        return random.getstate(), pickle.dumps(legacy), torch.random.get_rng_state().numpy().tobytes()

    before = states()
    yield
    for kind, was, now in zip(("random", "numpy.random", "torch"), before, states(), strict=True):
        ensure(was == now, f"{name}: must not draw from the global generator of {kind}")


def peak_bytes(action: Callable[[], object]) -> int:
    """The peak memory of Python and numpy during the action, minus the memory before it.

    >>> peak_bytes(lambda: np.zeros(10**6)) // 10**6
    8
    """
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
