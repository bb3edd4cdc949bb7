from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from hybridal.system.threads import one_blas_thread


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones(2)  # it is here
    return {int(found["num_threads"]) for found in threadpool_info() if found["user_api"] == "blas"}


def test_one_thread_within_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}
