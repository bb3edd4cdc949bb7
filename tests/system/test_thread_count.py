from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import scipy.linalg  # noqa: F401 - its BLAS is there before a limit is set
from threadpoolctl import threadpool_info, threadpool_limits

from hybridal.system.thread_count import one_blas_thread


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones(2)  # it is here
    return {int(found["num_threads"]) for found in threadpool_info() if found["user_api"] == "blas"}


def test_one_thread_within_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_last_block_restores_the_thread_count() -> None:
    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_scipys_blas_is_limited_before_it_is_loaded() -> None:
    code = """
from threadpoolctl import threadpool_info
from hybridal.system.thread_count import one_blas_thread
with one_blas_thread():
    import scipy.linalg
    print({found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"})
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "{1}"
