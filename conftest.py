from __future__ import annotations

import gc
import io
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hybridal.system.cache import cache_dir
from hybridal.tasks.newsgroups import FILES

# A busy machine is not a failing test. What is landed is judged on the same examples each time; work at a desk is not.
# Half of the usual number of examples: tests whose faults are rare ask for more.
settings.register_profile("hybridal", deadline=None, derandomize="CI" in os.environ, max_examples=50)
settings.load_profile("hybridal")

# What is imported for a session stays: to look through all of it for garbage again and again takes a fifth of its time.
gc.disable()

# Temporary files in memory where there is room: what is written with fsync waits up to 5 ms for a disk, each time.
_MEMORY = Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# A shell starts background jobs with SIGINT ignored, and children inherit that. Tests that send a Ctrl-C need
# Python's own handler.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Read once, when the hub's client is imported: it must stand before any test module imports it.
os.environ["HF_HUB_OFFLINE"] = "1"

# Results must not depend on the processor that runs the tests: all compute in float32, unless a test asks for bfloat16.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE"

_SLOW_TO_START = {"chromium", "laboratory", "nodes"}

# Triton comes with torch's builds for CUDA; without it these cannot be imported for doctests.
_KERNELS = (
    "signals/_tridiagonal",
    *(f"models/gpu/{name}_kernels" for name in ("adamw", "attention", "layer", "matmul")),
    *(f"models/gpu/{name}" for name in ("distance_bias", "fused_encoder", "row_embeddings", "token_row")),
)
collect_ignore = [] if find_spec("triton") else [f"src/hybridal/{name}.py" for name in _KERNELS]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on-postgres", action="store_true", help="the browser tests use PostgreSQL instead of SQLite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares something that takes long to start comes first, so that one worker has it all.

    What is left to be shared out at the end, each worker can do as well.
    """
    items.sort(key=lambda item: _SLOW_TO_START.isdisjoint(getattr(item, "fixturenames", ())))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of this session's own (under xdist: of this worker's own), so that the user's is not touched.

    Only texts that were fetched before, for tests that skip without them, are linked from there.
    """
    cache = tmp_path_factory.mktemp("cache")
    texts = Path("texts") / FILES.requirement.replace("==", "-")
    if FILES.complete(cache_dir() / texts):
        (cache / "texts").mkdir()
        (cache / texts).symlink_to((cache_dir() / texts).resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYBRIDAL_CACHE", str(cache))
        # What is forked from a process that a test started would know nothing of what other tests change.
        patch.setattr("hybridal.lab.study.engines.processes.prepare", lambda: None)
        yield cache


@pytest.fixture(scope="module")
def parquet_here() -> Iterator[None]:
    """Parquet files are read in this process: a separate one takes 0.15 s of CPU time per file.

    That it is separate, and what it refuses, is tested in `test_parquet_files` and `test_reader_process`.
    """
    from hybridal.tasks import parquet_reader

    @contextmanager
    def sent(path: Path, **request: Any) -> Iterator[io.BytesIO]:
        out = io.BytesIO()
        parquet_reader.send(str(path), **request, out=out)
        out.seek(0)
        yield out

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybridal.tasks.parquet_files.sent", sent)
        yield


@pytest.fixture
def default_sigterm() -> Iterator[None]:
    """The system's own handler of SIGTERM; Ray leaves one of its own in the process."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the number of texts with each pass of a model."""
    from hybridal.models.training import forward_passes

    counted: list[int] = []
    real = forward_passes.predict

    def predict(classifier: Any, tokens: Any, rows: Any, *others: Any, **named: Any) -> Any:
        counted.append(len(rows))
        return real(classifier, tokens, rows, *others, **named)

    monkeypatch.setattr(forward_passes, "predict", predict)
    return counted
