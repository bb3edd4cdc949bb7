"""One thread for small matrices: more of them wait for each other, and each ends in digits of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Products and decompositions of NumPy within take one thread.

    Beside another busy process its threads wait for one that does not get its turn: with two on two cores a fit of half
    a second took ten to a hundred times as long. And sums added up by two threads end in other digits than by one, so
    that a run would tell how many cores its machine had.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     print(np.ones((2, 2)) @ np.ones(2))
    [2. 2.]
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """Looks for libraries once, which takes longer than a small fit."""
    import numpy as np  # noqa: F401 - brings its BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
