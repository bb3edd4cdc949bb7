"""Use one BLAS thread for small matrices: more threads wait for each other, and change the last digits of sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit products and decompositions of NumPy and SciPy in the block to one thread.

    On a busy machine, threads wait for one that is not scheduled: with two threads on two cores, a fit of half a second
    took ten to a hundred times as long. Also, sums of two threads differ in the last digits from those of one, so
    that results would depend on the number of cores.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     print(np.ones((2, 2)) @ np.ones(2))
    [2. 2.]
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one CPU thread, because two threads sum in another order and change the last digits.

    The rounds of a cell must not depend on the number of cores; parallelism comes from computing several cells.
    """
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which can be limited once it is here
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    with threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


class _Limit:
    """The limit is global per library, so the first thread that enters sets it and the last one resets it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limiter.restore_original_limits()


_limit = _Limit()


@cache
def _controller() -> Any:
    """Find the libraries once, because it takes longer than a small fit."""
    import numpy as np  # noqa: F401 - loads its BLAS
    import scipy.linalg  # noqa: F401 - loads another BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
