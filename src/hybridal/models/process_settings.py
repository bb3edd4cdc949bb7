"""Settings of the whole process that the library changes. There are no others.

| setting | where | changed | why | undone |
|---|---|---|---|---|
| `GOMP_SPINCOUNT`, unless set | `system/openmp.py` | when hybridal is imported before torch | waiting threads let other programs work | no: torch reads it once |
| malloc's thresholds (glibc) | `models/process_settings.py` | when a classifier packs texts on a processor | a batch's memory is reused for the next one | no: glibc cannot; not touched if the environment sets one |
| torch's deterministic mode, `CUBLAS_WORKSPACE_CONFIG`, cuDNN attention off | `models/process_settings.py` | when a CUDA device is chosen | the same run gives the same bits | no: other threads may compute or record under it |
| `fill_uninitialized_memory` off | `models/process_settings.py` | with the deterministic mode, which turns it on | filling takes a fifth of a step | no |
| `csv.field_size_limit` | `tasks/file_formats.py` | when it is imported | texts are longer than 131,072 characters | no: undoing it would race with another thread's reader |
| variables of MLflow and Ray, unless set | `trackers/mlflow.py`, `system/ray_cluster.py` | when a tracker or a private cluster is started | quiet, without usage reports | no |
| log level of alembic | `app/db/migrations/__init__.py` | when the app's database is opened | each start would log migrations | no |
| verbosity and progress bars of transformers | `models/process_settings.py` | while it loads or saves a model | warnings about a missing head are expected here | yes, on leaving |
| log level of torch.onnx, warnings | `models/export/onnx_export.py` | while a model is exported | the exporter warns about optional packages | yes, on leaving |
| torch's global random generators | `models/torch_generators.py`, `backbones/tiny.py` | while dropout or initial weights are drawn | torch cannot draw them from any other | yes, on leaving |
| number of threads of torch and BLAS | `system/thread_count.py` | while a probe is fitted, and while a cell of a study runs on a processor | sums of several threads differ in the last digits | yes, on leaving |
| matplotlib's parameters | `reports/figure_style.py` | while a figure is drawn or saved | figures do not depend on the user's style | yes, on leaving |

Programs of ours set more in their own processes: the command line handles SIGINT and SIGTERM (`system/exit.py`,
`system/background_imports.py`); workers of a study set `TOKENIZERS_PARALLELISM` and ignore SIGINT, and their driver
configures the fork server (`lab/study/engines/processes.py`, `lab/study/engines/ray_worker.py`); the app's server sets
the interval in which threads switch and hides its database from projects (`app/serve.py`); the trainer lowers its
priority and uses all cores but one (`app/trainer/__main__.py`); the readers of uploaded files limit their own memory
and time (`tasks/limited.py`).
"""  # noqa: E501

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import torch

# Numbers of malloc's options, and their values: more than a batch needs, and the most that malloc accepts.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES, LARGEST_KEPT = 2**29, 2**25
# If one of these is set, its owner has a reason.
MALLOC_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")

_DETERMINISTIC = Lock()


def keep_freed_memory() -> None:
    """Let malloc keep what a batch frees for the next one; else it returns it, and gets it back page by page."""
    if (malloc := _malloc()) and not any(name in os.environ for name in MALLOC_VARIABLES):
        malloc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        malloc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)


def return_freed_memory() -> None:
    """Return free memory to the system: batches of ever different sizes leave holes that no other batch fits in."""
    if malloc := _malloc():
        malloc.malloc_trim(0)


@cache
def _malloc() -> Any:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


def make_deterministic(strictly: bool = False) -> None:
    """Let the same run give the same bits: kernels that sum in random order are not used.

    Settings are only ever tightened, since another thread may compute or record under them.

    Args:
        strictly: Refuse operations without a deterministic kernel; else torch only warns. A recorded graph would keep
            such a kernel for good.
    """
    with _DETERMINISTIC:
        enabled = torch.are_deterministic_algorithms_enabled()
        if enabled and not (strictly and torch.is_deterministic_algorithms_warn_only_enabled()):
            return
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cuda.enable_cudnn_sdp(False)
        # Not `use_deterministic_algorithms`, which does the same but first imports torch's compiler, for seconds.
        torch.set_deterministic_debug_mode("error" if strictly else "warn")
        torch.utils.deterministic.fill_uninitialized_memory = False


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' log and progress bars inside."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    verbosity, bars, hub_bars = (
        logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
        not are_progress_bars_disabled(),
    )
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if not hub_bars:
            disable_progress_bars()
